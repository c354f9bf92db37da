"""`rapidtask evaluate`: score policies on worlds never seen."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from rapidtask.envs.environment import Environment
from rapidtask.envs.registry import MemoryPlanning, WorldOptions, domain_name
from rapidtask.errors import InputError
from rapidtask.evaluation import Scores, evaluate
from rapidtask.evaluation.report import plot_steps_to_nth_goal, scores_table
from rapidtask.learning.agent_files import AGENT_FILE, load_agent, read_run_config
from rapidtask.learning.run_config import agent_name
from rapidtask.policies import POLICIES, Policy, make_policy
from rapidtask.policies.learned import make_learned_policy

PolicyName = Literal["random", "random-walk", "within-task", "edges", "edges-inverse", "hand-coded", "oracle"]


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Score a policy: goals per episode, share of the oracle in the last third, steps to the n-th goal."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    policy: PolicyName | Literal["all"] | None = None
    """A reference policy, or all of them; by default all, or none beside a --checkpoint."""
    checkpoint: Path | None = None
    """A trained agent: its file, a checkpoint, or the folder of its run, whose world is then the default."""
    greedy: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Let the trained agent take its likeliest action instead of drawing one."""
    episodes: int = 500
    """Episodes to run per policy."""
    seed: int = 0
    """Seed of the worlds; every policy meets the same ones."""
    json_output: Annotated[bool, tyro.conf.arg(name="json"), tyro.conf.FlagCreatePairsOff] = False
    """Print exactly one JSON object instead of a table."""
    plot: Path | None = None
    """Also draw steps to the n-th goal into this file (PNG, SVG or PDF)."""

    def run(self) -> None:
        """Evaluate and print."""
        all_scores = evaluate_with_progress(self)
        if self.plot is not None:
            plot_steps_to_nth_goal(all_scores, self.plot, title=f"{domain_name(self.world)}: steps per goal")
        if self.json_output:
            results = [scores.to_json() for scores in all_scores]
            print(json.dumps(results[0] if len(results) == 1 else {"policies": results}))
            return
        title = f"{domain_name(self.world)}, {self.episodes} episodes, seed {self.seed}"
        Console().print(scores_table(all_scores, title))


def evaluate_with_progress(options: Evaluate) -> list[Scores]:
    """Evaluate the chosen policies, with a line on standard error for the one under way."""
    environment = options.world.make()
    policies = make_policies(options, environment)
    world = {"name": domain_name(options.world), **asdict(options.world)}  # pyright: ignore[reportArgumentType]
    console = Console(stderr=True)
    all_scores: list[Scores] = []
    with console.status("") as status:
        results = evaluate(environment, policies, episodes=options.episodes, seed=options.seed, world=world)
        for position, name in enumerate(policies, start=1):
            status.update(f"{name}: {options.episodes} episodes ({position} of {len(policies)})")
            all_scores.append(next(results))
    sys.stderr.flush()
    return all_scores


def make_policies(options: Evaluate, environment: Environment) -> dict[str, Policy]:
    """The policies to evaluate, by the name to report."""
    path, names = options.checkpoint, (options.policy,) if options.policy else ()
    if options.policy == "all" or (path is None and not names):
        names = POLICIES
    policies: dict[str, Policy] = {name: make_policy(name, environment) for name in names}
    if path is None:
        if options.greedy:
            raise InputError("--greedy is about a trained agent; it needs a --checkpoint")
        return policies
    agent, config = load_agent(path, episode_steps=environment.options.episode_steps)
    trained = config.world.held_out().make()
    ours = (environment.num_actions, environment.num_observations)
    theirs = (trained.num_actions, trained.num_observations)
    if ours[0] != theirs[0] or ours[1] > theirs[1]:
        raise InputError(
            f"{path}: the agent was made for {theirs[0]} actions and {theirs[1]} observations; "
            f"this world has {ours[0]} and {ours[1]}"
        )
    # The folder of a run names it better than the file in it, which is called the same in all.
    label = path.resolve().parent.name if path.name == AGENT_FILE else path.resolve().stem
    name = f"{agent_name(config.agent)} ({label}{', greedy' if options.greedy else ''})"
    return {name: make_learned_policy(agent, environment, greedy=options.greedy), **policies}


def world_of_checkpoint(arguments: Sequence[str]) -> WorldOptions | None:
    """The world that the agent of a `--checkpoint` among the arguments was trained in."""
    for position, argument in enumerate(arguments):
        flag, equals, path = argument.partition("=")
        if flag == "--checkpoint" and (equals or position + 1 < len(arguments)):
            return read_run_config(Path(path if equals else arguments[position + 1])).world
    return None
