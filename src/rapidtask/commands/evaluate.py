"""`rapidtask evaluate`: score policies on worlds never seen."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from rapidtask.envs.registry import MemoryPlanning, WorldOptions, domain_name
from rapidtask.evaluation import Scores, evaluate
from rapidtask.evaluation.report import plot_steps_to_nth_goal, scores_table
from rapidtask.policies import POLICIES

PolicyName = Literal["random", "random-walk", "within-task", "edges", "edges-inverse", "hand-coded", "oracle"]


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Score a policy: goals per episode, share of the oracle in the last third, steps to the n-th goal."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    policy: PolicyName | Literal["all"] = "all"
    """A reference policy, or all of them."""
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
            print(json.dumps(results[0] if self.policy != "all" else {"policies": results}))
            return
        title = f"{domain_name(self.world)}, {self.episodes} episodes, seed {self.seed}"
        Console().print(scores_table(all_scores, title))


def evaluate_with_progress(options: Evaluate) -> list[Scores]:
    """Evaluate the chosen policies, with a line on standard error for the one under way."""
    names = POLICIES if options.policy == "all" else (options.policy,)
    world = {"name": domain_name(options.world), **asdict(options.world)}  # pyright: ignore[reportArgumentType]
    console = Console(stderr=True)
    all_scores: list[Scores] = []
    with console.status("") as status:
        results = evaluate(
            options.world.make(), names, episodes=options.episodes, seed=options.seed, world=world
        )
        for position, name in enumerate(names, start=1):
            status.update(f"{name}: {options.episodes} episodes ({position} of {len(names)})")
            all_scores.append(next(results))
    sys.stderr.flush()
    return all_scores
