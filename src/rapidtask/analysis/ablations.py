"""Ablations: EPNs trained with one option changed, on the same budget, in one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from rapidtask.agents.epn import EPNConfig
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.subjects import DOMAIN_TITLES
from rapidtask.envs.registry import DOMAINS, domain_name
from rapidtask.errors import InputError
from rapidtask.evaluation import evaluate
from rapidtask.experiments.material import NotAvailable, Rows
from rapidtask.experiments.runs import LoggedRun
from rapidtask.experiments.style import FAINT, INK, new_figure, quiet
from rapidtask.learning.agent_files import load_agent
from rapidtask.learning.config import RECIPES, epn_for
from rapidtask.learning.run_config import RunConfig
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained.ship import agent_file
from rapidtask.provenance import training_command

NAME = "ablations"
TITLE = "What each part is worth: ablations"
CAPTION = (
    "EPNs trained with the same options but for what each line names, equally long within a "
    "group; share of the oracle in the last third of the episode, and goals per episode, from a fresh "
    "evaluation with sampled actions in held-out worlds. Whiskers are standard errors: over runs where there "
    "are several seeds, else over episodes. The table holds every row's command."
)
EPISODES = 500
IRRELEVANT = {"cpu_devices", "cities", "pool_size", "seed", "city"}
"""Options that say how or where a run was computed, not what was learned."""
NAMES: dict[tuple[str, Any], str] = {
    ("block", "paper"): "paper block",
    ("block", "residual"): "residual block",
    ("optimiser", "rmsprop"): "RMSprop",
    ("optimiser", "adam"): "Adam",
    ("memory", "all"): "memory of all steps",
    ("goal_in_rows", False): "goal not in rows",
    ("locate", False): "no locate",
    ("match", False): "no match",
    ("write", "after"): "written after planning",
    ("symbols", "learned"): "learned symbols",
}
"""What tables call an option that differs from the base; others are named `option=value`."""


def base_of(configs: Sequence[RunConfig]) -> RunConfig:
    """What the rows of a domain are compared with.

    The options of recipe `fast`, but for those that most runs of the recipe have otherwise: runs that each
    change one option share the rest.
    """
    fast = [config for config in configs if config.recipe == "fast"] or list(configs)
    domain = domain_name(configs[0].world)
    default = RunConfig(world=DOMAINS[domain](), agent=epn_for("fast", domain), learning=RECIPES["fast"])
    return dataclasses.replace(
        default,
        world=_usual([config.world for config in fast], default.world),
        agent=_usual([config.agent for config in fast], default.agent),
        learning=_usual([config.learning for config in fast], default.learning),
    )


def _usual(choices: Sequence[Any], default: Any) -> Any:
    """The default, with every option that has another value in more than half of the choices."""
    changed: dict[str, Any] = {}
    for option in dataclasses.fields(default):
        values = [getattr(choice, option.name) for choice in choices]
        for value in values:
            if 2 * values.count(value) > len(values):
                changed[option.name] = value
    return dataclasses.replace(default, **changed)


def differences(config: RunConfig, base: RunConfig) -> dict[str, Any]:
    """Options of world, agent and learning that differ from the base, by name."""
    found: dict[str, Any] = {}
    pairs: list[tuple[Any, Any]] = [(config.agent, base.agent), (config.learning, base.learning)]
    for ours, theirs in [*pairs, (config.world, base.world)]:
        for option in dataclasses.fields(ours):
            value = getattr(ours, option.name)
            if option.name not in IRRELEVANT and value != getattr(theirs, option.name):
                found[option.name] = value
    if config.curriculum != base.curriculum:
        found["curriculum"] = config.curriculum
    return found


def row_name(config: RunConfig, base: RunConfig) -> str:
    """A row's name: what differs from the base."""
    changed = differences(config, base)
    if config.recipe == "paper" and base.recipe != "paper":
        paper = differences(
            dataclasses.replace(config, agent=epn_for("paper"), learning=RECIPES["paper"]), base
        )
        others = {name: value for name, value in changed.items() if paper.get(name, _NOTHING) != value}
        return ", ".join(["recipe paper", *(option_name(*item) for item in others.items())])
    if changed.get("match") is False:
        changed.pop("locate", None)  # there is no locate without match
    return ", ".join(option_name(*item) for item in changed.items()) or "base"


_NOTHING = object()


def option_name(name: str, value: Any) -> str:
    """One changed option in words."""
    if name == "iterations":
        plural = "" if value == 1 else "s"
        return f"{value} iteration{plural}" if value else "no planner (memory read only)"
    return NAMES.get((name, value), f"{name}={value}") if _hashable(value) else f"{name}={value}"


def table(material: AnalysisMaterial) -> Rows:
    """One row per choice of options and number of steps; runs that differ only in their seed together."""
    by_domain: dict[str, list[LoggedRun]] = {}
    for run in material.runs:
        if isinstance(run.config.agent, EPNConfig) and _has_agent(run):
            by_domain.setdefault(domain_name(run.config.world), []).append(run)
    if not by_domain:
        raise NotAvailable("no runs of EPNs; name some with --runs")
    groups: dict[tuple[str, int, str], list[LoggedRun]] = {}
    for domain, runs in by_domain.items():
        base = base_of([run.config for run in runs])
        for run in runs:
            groups.setdefault((domain, run.config.steps, row_name(run.config, base)), []).append(run)
    rows: Rows = []
    for (domain, _, name), runs in sorted(groups.items(), key=lambda item: _order(*item[0])):
        scores = [_score(run, material) for run in runs]
        rows.append(
            {
                "domain": domain,
                "changed": name,
                "steps": int(np.mean([run.steps for run in runs])),
                "minutes": float(np.mean([run.minutes for run in runs])),
                "seeds": " ".join(str(run.config.seed) for run in runs),
                **_summary(scores, "goals_per_episode"),
                **_summary(scores, "oracle_share_last_third"),
                "episodes": scores[0].episodes,
                "command": training_command(runs[0].config),
            }
        )
    return rows


def plot(rows: Rows) -> Figure:
    """Horizontal bars, best first below the base, one group per domain and budget."""
    groups: dict[tuple[str, int], Rows] = {}
    for row in rows:
        # Runs end with a whole iteration: equal budgets differ by a little.
        groups.setdefault((row["domain"], round(row["steps"], -4)), []).append(row)
    sizes = [len(group) for group in groups.values()]
    figure = new_figure(7.4, 0.26 * sum(sizes) + 0.75 * len(sizes) + 0.3)
    all_axes = figure.subplots(len(groups), 1, squeeze=False, height_ratios=[n + 1 for n in sizes])[:, 0]
    for axes, ((domain, steps), group) in zip(all_axes, groups.items(), strict=True):
        quiet(axes, grid="x")
        places = np.arange(len(group))[::-1]
        share = [100 * row["oracle_share_last_third"] for row in group]
        error = [100 * row["oracle_share_last_third_stderr"] for row in group]
        colours = ["#2563eb" if row["changed"] == "base" else "#93b4f5" for row in group]
        axes.barh(places, share, xerr=error, height=0.7, color=colours, error_kw={"elinewidth": 0.9})
        for place, row in zip(places, group, strict=True):
            seeds = len(row["seeds"].split())
            text = f"{row['goals_per_episode']:.1f} goals" + (f", {seeds} seeds" if seeds > 1 else "")
            axes.text(103, place, text, va="center", fontsize=7.5, color=FAINT)
        axes.set_yticks(places, [row["changed"] for row in group], color=INK)
        axes.set(xlim=(0, 101), title=f"{DOMAIN_TITLES[domain]}, {steps / 1e6:.2g}M steps")
    all_axes[-1].set_xlabel("share of the oracle, last third (%)")
    return figure


def markdown(rows: Sequence[dict[str, str]]) -> str:
    """The table as a page of its own, from the columns of the CSV."""
    lines = ["# Ablations", "", CAPTION, ""]
    lines += [
        "| changed | domain | steps | minutes | seeds | goals per episode | of the oracle, last third |"
    ]
    lines += ["|---|---|---|---|---|---|---|"]
    for row in rows:
        goals, share = ("goals_per_episode", "oracle_share_last_third")
        lines.append(
            f"| {row['changed']} | {row['domain']} | {int(row['steps']):,} | {float(row['minutes']):.1f} "
            f"| {row['seeds']} | {float(row[goals]):.2f} ± {float(row[f'{goals}_stderr']):.2f} "
            f"| {float(row[share]):.1%} ± {float(row[f'{share}_stderr']):.1%} |"
        )
    lines += ["", "Commands, in the order of the table:", "", "```"]
    lines += [row["command"] for row in rows]
    return "\n".join([*lines, "```", ""])


def _score(run: LoggedRun, material: AnalysisMaterial):
    episodes = min(EPISODES, material.episodes)
    material.say(f"{run.folder.name}: {episodes} episodes")
    agent, config = load_agent(agent_file(run.folder))
    environment = config.world.held_out().make()
    policies = {run.folder.name: make_learned_policy(agent, environment)}
    return next(iter(evaluate(environment, policies, episodes=episodes, seed=material.seed)))


def _summary(scores: Sequence[Any], name: str) -> dict[str, float]:
    values = [getattr(score, name) for score in scores]
    error = getattr(scores[0], f"{name}_stderr")
    if len(values) > 1:
        error = np.std(values, ddof=1) / np.sqrt(len(values))
    return {name: float(np.mean(values)), f"{name}_stderr": float(error)}


def _has_agent(run: LoggedRun) -> bool:
    try:
        load_agent(agent_file(run.folder))
    except InputError:
        return False
    return True


def _order(domain: str, steps: int, name: str) -> tuple:
    """Domain, budget, the base first, then planner iterations, then the rest by name."""
    kind = 0 if name == "base" else 1 if name.startswith("no planner") else 2 if "iteration" in name else 3
    return (domain, -steps, kind, name)


def _hashable(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | tuple | None)
