"""Ships a run's agent with the package: `python tools/ship_agent.py RUN NAME`.

Copies the weights into the package and writes the card beside them from the run's configuration, its log and
a fresh evaluation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import equinox as eqx
import jax
import tyro

from rapidtask.agents.agent import Agent
from rapidtask.envs.registry import domain_name
from rapidtask.errors import InputError
from rapidtask.evaluation import Scorer
from rapidtask.files import write_atomically
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained.cards import Card, card_path, weights_path
from rapidtask.pretrained.load import load_pretrained
from rapidtask.runs.agent_files import agent_file, load_agent
from rapidtask.runs.checkpoint import save_checkpoint
from rapidtask.runs.config import RunConfig, agent_name
from rapidtask.runs.logs import read_log
from rapidtask.runs.provenance import describe_commit, describe_machine, today, training_command

LARGE = 1_000_000
"""Bytes above which a shipped file is remarked on."""


@dataclass(frozen=True)
class Ship:
    """Copy a run's agent into the package, with a card of how it was trained and what it scores."""

    run_folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of the run, or its agent file, or one of its checkpoints."""
    name: Annotated[str, tyro.conf.Positional]
    """Name to load it by, such as epn-memory-planning."""
    seed_runs: tuple[Path, ...] = ()
    """Folders of runs with the same options and other seeds, whose scores the card reports too."""
    earlier_phases: tuple[Path, ...] = ()
    """Folders of runs that this one was started from: their steps and minutes count."""
    command: str | None = None
    """The training command, if other than the run's configuration tells."""
    commit: str | None = None
    """Commit of the code that trained it; by default the present one."""
    machine: str | None = None
    """Machine that trained it; by default this one."""
    notes: str = ""
    """What else the card should say."""
    precision: Literal["float32", "float16"] = "float32"
    """Type to store the weights in; scores are those of the stored weights."""
    episodes: int = 2000
    """Episodes of the evaluation."""
    evaluation_seed: int = 7
    """Seed of the evaluation's worlds."""
    folder: Path | None = None
    """Where shipped agents are kept; by default in the package."""


def ship(options: Ship) -> Card:
    """Write weights and card; the card is returned."""
    agent, config = load_agent(agent_file(options.run_folder))
    store = lambda leaf: leaf.astype(options.precision) if eqx.is_inexact_array(leaf) else leaf  # noqa: E731
    path = weights_path(options.name, options.folder)
    save_checkpoint(path, jax.tree.map(store, agent), config.to_json())
    agent, _ = load_pretrained(options.name, folder=options.folder)  # what users will get
    phases = [history(folder) for folder in (*options.earlier_phases, options.run_folder)]
    ours = {"seed": config.seed, **_summary(phases)}
    others = [
        {"seed": load_agent(agent_file(f))[1].seed, **_summary([history(f)])} for f in options.seed_runs
    ]
    card = Card(
        name=options.name,
        agent=agent_name(config.agent),
        world=domain_name(config.world),
        recipe=config.recipe,
        command=options.command or training_command(config),
        steps=ours["steps"],
        minutes=ours["minutes"],
        seed=config.seed,
        seeds=sorted([ours, *others], key=lambda run: run["seed"]),
        machine=options.machine or describe_machine(),
        commit=options.commit or describe_commit(),
        date=today(),
        parameters=sum(x.size for x in jax.tree.leaves(eqx.filter(agent, eqx.is_inexact_array))),
        precision=options.precision,
        scores=score_both(agent, config, options.episodes, options.evaluation_seed),
        notes=options.notes,
    )
    write_card(card, options.folder)
    return card


def write_card(card: Card, folder: Path | None = None) -> None:
    """Write a card beside the weights."""
    write_atomically(card_path(card.name, folder), (json.dumps(asdict(card), indent=2) + "\n").encode())


def score_both(agent: Agent, config: RunConfig, episodes: int, seed: int) -> dict[str, dict[str, Any]]:
    """Scores in held-out worlds with sampled and with greedy actions."""
    scorer = Scorer(config.world.held_out().make(), episodes, seed)
    kept = ("goals_per_episode", "goals_last_third", "oracle_share_last_third")

    def score(name: str) -> dict[str, Any]:
        policy = make_learned_policy(agent, scorer.environment, greedy=name == "greedy")
        data = scorer(name, policy).to_json()
        rounded = {key: round(data[key], 4) for mean in kept for key in (mean, f"{mean}_stderr")}
        return {**rounded, "episodes": episodes, "seed": seed}

    return {name: score(name) for name in ("sampled", "greedy")}


def history(path: Path) -> dict[str, Any]:
    """Steps, minutes and last evaluation that a run's log tells."""
    records = next(filter(None, (read_log(f / "log.jsonl") for f in (path, *path.parents[:2]))), None)
    if not records:
        raise InputError(f"{path}: has no log.jsonl to tell how long it was trained")
    evaluated = [r for r in records if "evaluation_goals_per_episode" in r] or [{}]
    return {
        "steps": records[-1]["steps"],
        "minutes": records[-1]["seconds"] / 60,
        "goals_per_episode": evaluated[-1].get("evaluation_goals_per_episode"),
        "oracle_share_last_third": evaluated[-1].get("evaluation_oracle_share_last_third"),
    }


def _summary(phases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    steps, minutes = (sum(phase[name] for phase in phases) for name in ("steps", "minutes"))
    return {**phases[-1], "steps": steps, "minutes": round(minutes, 2)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Ship an agent from the command line."""
    options = tyro.cli(Ship, args=arguments, prog="python tools/ship_agent.py")
    try:
        card = ship(options)
    except InputError as error:
        print(f"ship: error: {error}", file=sys.stderr)
        sys.exit(2)
    size = weights_path(card.name, options.folder).stat().st_size
    sampled = card.scores["sampled"]
    print(
        f"{card.name}: {card.steps:,} steps, {card.minutes:.0f} min; "
        f"{sampled['goals_per_episode']:.2f} goals, "
        f"{sampled['oracle_share_last_third']:.1%} of the oracle in the last third"
    )
    if size > LARGE:
        print(f"ship: the weights take {size / 1e6:.1f} MB; --precision float16 halves them", file=sys.stderr)


if __name__ == "__main__":
    main()
