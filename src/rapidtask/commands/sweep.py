"""`rapidtask sweep`: search hyper-parameters with many runs, here or on a Ray cluster."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from rapidtask.agents.epn import EPNConfig
from rapidtask.envs.registry import MemoryPlanning, WorldOptions
from rapidtask.errors import InputError
from rapidtask.learning.config import LearningConfig, Recipe
from rapidtask.learning.run import RunOptions
from rapidtask.learning.run_config import RunConfig
from rapidtask.sweeps.search import SearchName
from rapidtask.sweeps.sweep import SweepOptions, run_sweep, trial_folder
from rapidtask.sweeps.table import SweepTable, Trial
from rapidtask.sweeps.workers import LocalWorkers, RayWorkers


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Search hyper-parameters; the same command again goes on with a sweep that was stopped or killed."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    agent: Any = field(default_factory=EPNConfig)
    """Options of the agent that are not searched."""
    learning: LearningConfig = field(default_factory=LearningConfig)
    """Options of learning that are not searched."""
    recipe: Recipe = "fast"
    """What the options of agent and learning start from."""
    out: Path
    """Folder of the sweep: its table and a run per trial."""
    trials: int = 20
    """Points to try; a larger number later adds to the table."""
    search: SearchName = "random"
    """At random, or Bayesian (needs rapidtask[sweep])."""
    workers: int = 1
    """Trials side by side."""
    steps: int = 300_000
    """Environment steps of each trial."""
    seed: int = 0
    """Seed of the search, and of every trial."""
    evaluation_episodes: int = 500
    """Episodes on held-out worlds that a trial is scored with at its end."""
    checkpoint_every: int = 10
    """Iterations between a trial's checkpoints."""
    ray: str | None = None
    """Run trials as Ray tasks: address of a cluster, "auto", or "local" (needs rapidtask[cluster])."""
    cpus_per_trial: float = 1.0
    """Processors that a Ray task takes."""
    gpus_per_trial: float = 0.0
    """Accelerators that a Ray task takes."""

    def run(self) -> None:
        """Search until done or stopped."""
        for name in ("trials", "workers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}, expected at least 1")
        config = RunConfig(self.world, self.agent, self.learning, self.recipe, self.seed, self.steps)
        run_options = RunOptions(self.checkpoint_every, 1, 0, self.evaluation_episodes)
        console = Console(stderr=True)
        workers = LocalWorkers()
        if self.ray is not None:
            workers = RayWorkers(self.ray, self.cpus_per_trial, self.gpus_per_trial)

        def show(table: SweepTable, trial: Trial) -> None:
            how = f"failed: {trial.error}" if trial.score is None else f"{trial.score:.2f} goals per episode"
            console.print(
                f"trial {trial.trial} ({len(table.trials)} of {self.trials}): {how}", soft_wrap=True
            )

        result = run_sweep(
            config,
            self.out,
            SweepOptions(self.search, self.seed),
            run_options,
            workers,
            num_trials=self.trials,
            side_by_side=self.workers,
            show=show,
        )
        if result.stopped_by is not None:
            console.print(f"Stopped. Go on with: {shlex.join(['rapidtask', *sys.argv[1:]])}", soft_wrap=True)
            sys.exit(128 + result.stopped_by)
        output = Console()
        output.print(result.table.for_people())
        if (best := result.table.best) is not None:
            output.print(f"Best: {json.dumps(best.options)}", soft_wrap=True, highlight=False)
            output.print(f"Its run: {trial_folder(self.out, best.trial)}", soft_wrap=True)
        output.print(f"All trials: {self.out / 'sweep.csv'}", soft_wrap=True)
