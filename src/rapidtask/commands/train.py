"""`rapidtask train`: train an agent, with checkpoints, logs and evaluations; stop and resume at any time."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live

from rapidtask.agents.epn import EPNConfig
from rapidtask.envs.registry import MemoryPlanning, WorldOptions
from rapidtask.learning.config import LearningConfig, Recipe
from rapidtask.runs.config import RunConfig
from rapidtask.runs.display import RunDisplay
from rapidtask.runs.distributed import connect, split_cpu
from rapidtask.runs.run import RunOptions, run


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an agent from scratch, or go on with a run that was stopped."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    agent: Any = field(default_factory=EPNConfig)
    """Options of the agent."""
    learning: LearningConfig = field(default_factory=LearningConfig)
    """Options of learning."""
    run_options: RunOptions = field(default_factory=RunOptions)
    """Checkpoints and evaluations."""
    recipe: Recipe = "fast"
    """What the options of agent and learning start from."""
    out: Path
    """Folder of the run: its configuration, log, checkpoints and trained agent."""
    steps: int = 1_000_000
    """Environment steps of the whole run."""
    seed: int = 0
    """Seed of weights, worlds and actions."""
    resume: bool = False
    """Go on from the newest checkpoint in --out."""
    distributed: str | None = None
    """Join other processes: coordinator:port,process_id,num_processes, or "auto" (cluster's variables)."""

    def run(self) -> None:
        """Train until done or stopped."""
        if self.distributed is None:
            split_cpu(self.learning.cpu_devices)
        else:
            connect(self.distributed)
        config = RunConfig(self.world, self.agent, self.learning, self.recipe, self.seed, self.steps)
        console = Console(stderr=True)
        display = RunDisplay(config)
        with Live(console=console, refresh_per_second=4, transient=True) as live:
            result = run(
                config,
                self.out,
                self.run_options,
                resume=self.resume,
                show=lambda progress: display.show(progress, live),
            )
        if result.stopped_by is not None:
            console.print(f"Stopped. Checkpoint: {result.checkpoint}", soft_wrap=True)
            console.print(f"Go on with: {resume_command(sys.argv)}", soft_wrap=True)
            sys.exit(128 + result.stopped_by)
        print(f"Trained agent: {self.out / 'agent.safetensors'}")


def resume_command(arguments: list[str]) -> str:
    """The command that goes on with the run that this one started."""
    rest = [argument for argument in arguments[1:] if argument != "--resume"]
    return shlex.join(["rapidtask", *rest, "--resume"])
