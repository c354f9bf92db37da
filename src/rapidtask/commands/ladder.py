"""`rapidtask experiment ladder`: train what is missing, or draw what is there."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.live import Live

from rapidtask.errors import InputError
from rapidtask.experiments.logged_runs import LoggedRun, read_runs
from rapidtask.experiments.planner.ladder import EXPERIMENT, Job, LadderRuns, list_jobs
from rapidtask.experiments.results import make_results
from rapidtask.runs.display import RunDisplay
from rapidtask.runs.distributed import split_cpu
from rapidtask.runs.run import RunOptions, run


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Compare EPNs from the paper's to ours, one change at a time: the figure of the runs in a folder."""

    runs: Path = Path("runs/ladder")
    """Folder of the runs; each is known by its options, whatever its own folder is called."""
    steps: int = 250_000
    """Environment steps of every run."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the runs."""
    train: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """First train the runs that the folder lacks, one after another; if stopped, the same command goes on."""
    print_commands: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Only print the commands that train them, one a line, to be run side by side."""
    out: Path = Path("results/ladder")
    """Folder of the results."""
    episodes: int = 2000
    """Episodes per evaluation."""
    seed: int = 7
    """Seed of the evaluations' worlds."""

    def run(self) -> None:
        """Print, or train and draw."""
        for name in ("steps", "episodes"):
            if (value := getattr(self, name)) < 1:
                raise InputError(f"--{name} is {value}, expected at least 1")
        if self.print_commands:
            for job in self.jobs():
                print(job.command)
            return
        console = Console(stderr=True)
        if self.train:
            split_cpu(1)
            for job in self.jobs():
                train(job, console)
        runs = read_runs([self.runs], "memory-planning")
        with console.status("reading agents") as status:
            command = shlex.join(["rapidtask", *sys.argv[1:]])
            for result in make_results(EXPERIMENT, self.gather(runs, status.update), self.out, command):
                entry = result.entry
                done = f"not drawn: {entry.missing}" if entry.missing else entry.how
                console.print(f"{entry.name}: {done}", highlight=False, soft_wrap=True)
        print(f"Results: {self.out / 'README.md'}")

    def jobs(self) -> list[Job]:
        """The runs that are still to be trained."""
        holds_any = any(self.runs.glob("*/config.json"))
        runs = read_runs([self.runs], "memory-planning") if holds_any else []
        return list_jobs(self.gather(runs), self.runs)

    def gather(self, runs: list[LoggedRun], say: Callable[[str], None] = lambda text: None) -> LadderRuns:
        """What the figure is made from."""
        return LadderRuns(
            runs, episodes=self.episodes, seed=self.seed, say=say, steps=self.steps, seeds=self.seeds
        )


def train(job: Job, console: Console) -> None:
    """Train one run to its end; a signal ends it with a checkpoint, and this process with it."""
    console.print(job.command, highlight=False, soft_wrap=True)
    display = RunDisplay(job.config)
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        show = lambda progress: display.show(progress, live)  # noqa: E731
        result = run(job.config, job.folder, RunOptions(), resume=job.resume, show=show)
    if result.stopped_by is not None:
        console.print("Stopped; the same command goes on.")
        sys.exit(128 + result.stopped_by)
