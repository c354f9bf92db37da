"""`rapidtask train`: train an agent, with checkpoints, logs and evaluations; stop and resume at any time."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.live import Live

from rapidtask.runs.agent_files import AGENT_FILE
from rapidtask.runs.config import RunConfig
from rapidtask.runs.display import RunDisplay
from rapidtask.runs.distributed import connect, split_cpu
from rapidtask.runs.run import RunOptions, RunResult, run


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(RunConfig):
    """What commands that train have in common: the configuration of a run."""

    def config(self) -> RunConfig:
        """The configuration without a command's own options."""
        return RunConfig(**{option.name: getattr(self, option.name) for option in fields(RunConfig)})


@dataclass(frozen=True, kw_only=True)
class Train(TrainingOptions):
    """Train an agent from scratch, or go on with a run that was stopped."""

    run_options: RunOptions = field(default_factory=RunOptions)
    """Checkpoints and evaluations."""
    out: Path
    """Folder of the run: its configuration, log, checkpoints and trained agent."""
    resume: bool = False
    """Go on from the newest checkpoint in --out, with the options found there; --steps may be more."""
    distributed: str | None = None
    """Join other processes: coordinator:port,process_id,num_processes, or "auto" (cluster's variables)."""

    def run(self) -> None:
        if self.distributed is None:
            split_cpu(self.learning.cpu_devices)
        else:
            connect(self.distributed)
        console = Console(stderr=True)
        try:
            result = run_shown(self.config(), self.out, self.run_options, self.resume, console)
        except (ValueError, RuntimeError) as error:
            if "Gloo" not in str(error):
                raise
            # To leave as usual would be to wait for the other process, and then to abort.
            lost = "lost another process of the run; go on from the newest checkpoint with --resume"
            print(f"rapidtask: error: --distributed: {lost}", file=sys.stderr, flush=True)
            os._exit(1)
        if result.stopped_by is not None:
            console.print(f"Stopped. Checkpoint: {result.checkpoint}", soft_wrap=True)
            again = shlex.join(["rapidtask", "train", "--resume", "--out", str(self.out)])
            console.print(f"Go on with: {again}", soft_wrap=True)
            sys.exit(128 + result.stopped_by)
        print(f"Trained agent: {self.out / AGENT_FILE}")


def run_shown(config: RunConfig, out: Path, options: RunOptions, resume: bool, console: Console) -> RunResult:
    """Run a training and show how far it is."""
    display = RunDisplay(config)
    # The last of what it shows stays.
    with Live(console=console, refresh_per_second=4) as live:
        begin, show = partial(display.begin, live), partial(display.show, live=live)
        return run(config, out, options, resume=resume, begin=begin, show=show)
