"""`rapidtask evaluate`: score policies on worlds never seen."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from rapidtask.agents.agent import Agent
from rapidtask.agents.warm_start import WarmStart
from rapidtask.envs.environment import Environment
from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.envs.registry import MemoryPlanning, WorldOptions, domain_name
from rapidtask.errors import InputError
from rapidtask.evaluation import Scorer, Scores
from rapidtask.evaluation.lives import LivesScorer
from rapidtask.evaluation.report import print_table, scores_table
from rapidtask.options import Count, Seed, check_options
from rapidtask.policies import POLICIES, Policy, PolicyName, make_policy
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained.cards import pretrained_names
from rapidtask.pretrained.load import fit_agent, load_pretrained, parse_option
from rapidtask.runs.agent_files import AGENT_FILE, load_agent
from rapidtask.runs.config import RunConfig, agent_name

PLOTS = (".png", ".svg", ".pdf")


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """What commands that let trained agents act have in common: which agents, and where."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    pretrained: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """An agent that comes with the package (`rapidtask agents` lists them), or "all"; may be repeated. The
    first one's world is the default."""
    checkpoint: Path | None = None
    """A trained agent: its file, a checkpoint, or the folder of its run, whose world is then the default."""
    greedy: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Let the agent of --checkpoint take its likeliest action instead of drawing one; --pretrained agents
    then act both ways."""
    options: tuple[str, ...] = ()
    """Options of the trained agents to change, as NAME=VALUE: memory=all, iterations=6."""
    new_symbols: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow a world with more symbols than the agent was trained with; only fixed symbols can grow."""
    seed: Seed = 0
    """Seed of the worlds; every policy meets the same ones."""

    def __post_init__(self) -> None:
        check_options(self)

    def trained(
        self,
        environment: Environment,
        pretrained: Sequence[str],
        checkpoint: Path | None = None,
        *,
        warm_start: bool = False,
    ) -> dict[str, Policy]:
        """Trained agents as policies, their options changed, by the name to report."""
        changes = "".join(f", {text}" for text in self.options) + (", warm start" if warm_start else "")
        policies: dict[str, Policy] = {}

        def add(agent: Agent, config: RunConfig, name: str, *, greedy: bool) -> None:
            changed = dict(parse_option(config.agent, text) for text in self.options)
            agent, _ = fit_agent(agent, config, environment, new_symbols=self.new_symbols, **changed)
            agent = WarmStart(agent) if warm_start else agent
            policies[name] = make_learned_policy(agent, environment, greedy=greedy)

        if (path := checkpoint) is not None:
            agent, config = load_agent(path)
            # The folder of a run names it better than the file in it, which is called the same in all.
            label = path.resolve().parent.name if path.name == AGENT_FILE else path.resolve().stem
            name = f"{agent_name(config.agent)} ({label}{changes}{', greedy' if self.greedy else ''})"
            add(agent, config, name, greedy=self.greedy)
        for name in chosen_pretrained(pretrained):
            agent, config = load_pretrained(name)
            # Of all, those that were trained in such a world and see the same kind of things.
            alike = (
                type(config.world) is type(self.world) and config.world.spec.pixels == self.world.spec.pixels
            )
            if "all" in pretrained and not alike:
                continue
            add(agent, config, f"{name}{changes}", greedy=False)
            if self.greedy:
                add(agent, config, f"{name}{changes}, greedy", greedy=True)
        return policies


@dataclass(frozen=True, kw_only=True)
class Evaluate(AgentOptions):
    """Score a policy: goals per episode, share of the oracle in the last third, steps to the n-th goal."""

    policy: PolicyName | Literal["all"] | None = None
    """A reference policy, or all of them; by default all, or none beside a trained agent."""
    episodes: Count = 500
    """Episodes to run per policy."""
    warm_start: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Let trained EPNs think while walking: plans of unchanged memories and goals are kept, values go on."""
    json_output: Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff] = False
    """Print exactly one JSON object instead of a table."""
    plot: Path | None = None
    """Also draw steps to the n-th goal into this file (PNG, SVG or PDF)."""

    def run(self) -> None:
        if self.plot is not None and self.plot.suffix not in PLOTS:
            raise InputError(f"--plot {self.plot}: expected a name that ends in {', '.join(PLOTS)}")
        if isinstance(self.world, GymnasiumWorlds):
            self.show(list(self.score_lives(self.world)), domain_name(self.world))
            return
        environment, name = self.world.make(), domain_name(self.world)
        policies = self.policies(environment)
        if self.plot is not None:  # a place that it cannot be written to is refused before anything is played
            self.plot.parent.mkdir(parents=True, exist_ok=True)
        world = {"name": name, **asdict(self.world)}  # pyright: ignore[reportArgumentType]
        scorer = Scorer(environment, self.episodes, self.seed, world, self.world.sources())
        all_scores: list[Scores] = []
        with Console(stderr=True).status("") as status:
            for position, (policy, acts) in enumerate(policies.items(), start=1):
                status.update(f"{policy}: {self.episodes} episodes ({position} of {len(policies)})")
                all_scores.append(scorer(policy, acts))
        sys.stderr.flush()
        self.show(all_scores, name)

    def show(self, all_scores: list[Scores], name: str) -> None:
        """Write the plot, if there is to be one, and print the scores."""
        if self.plot is not None:
            # Here, because figures are slow to import and seldom asked for.
            from rapidtask.experiments.comparison import StepsToGoal, steps_rows

            drawing = StepsToGoal().plot([row for scores in all_scores for row in steps_rows(scores)])
            drawing.savefig(self.plot, dpi=150)
        if self.json_output:
            results = [scores.to_json() for scores in all_scores]
            print(json.dumps(results[0] if len(results) == 1 else {"policies": results}))
            return
        print_table(scores_table(all_scores, f"{name}, {self.episodes} episodes, seed {self.seed}"))

    def score_lives(self, world: GymnasiumWorlds) -> Iterator[Scores]:
        """Scores in an environment of Gymnasium: of the trained agent, and of policies that can act there."""
        about = {"name": domain_name(world), **asdict(world)}
        scorer = LivesScorer(
            world, self.episodes, self.seed, about={"world": about, "sources": world.sources()}
        )
        if self.pretrained or self.warm_start:
            raise InputError("--world gymnasium: agents of --checkpoint act there, without --warm-start")
        if self.checkpoint is not None:
            agent, config = load_agent(self.checkpoint)
            changed = dict(parse_option(config.agent, text) for text in self.options)
            agent, _ = fit_agent(agent, config, world, new_symbols=self.new_symbols, **changed)
            changes = "".join(f", {text}" for text in self.options)
            name = f"{agent_name(config.agent)}{changes}{' (greedy)' if self.greedy else ''}"
            yield scorer.score_agent(name, agent, greedy=self.greedy)
        chosen = (
            ("random", "oracle") if self.policy == "all" else () if self.policy is None else (self.policy,)
        )
        for policy in chosen or (() if self.checkpoint else ("random", "oracle")):
            yield scorer.score_policy(policy)

    def policies(self, environment: Environment) -> dict[str, Policy]:
        """The policies to evaluate, by the name to report: trained agents first."""
        learned = self.trained(environment, self.pretrained, self.checkpoint, warm_start=self.warm_start)
        names = ("greedy", "options", "new_symbols", "warm_start")
        flags = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        for flag, given in flags.items():
            if given and not learned:
                raise InputError(f"{flag} is about a trained agent; it needs a --checkpoint or --pretrained")
        names = (self.policy,) if self.policy else ()
        if self.policy == "all" or (not learned and not names):
            names = POLICIES
        return {**learned, **{name: make_policy(name, environment) for name in names}}


def chosen_pretrained(names: Sequence[str]) -> list[str]:
    """The names given, "all" standing for every shipped agent."""
    chosen: list[str] = []
    for name in names:
        chosen += pretrained_names() if name == "all" else [name]
    return list(dict.fromkeys(chosen))
