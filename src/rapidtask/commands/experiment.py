"""`rapidtask experiment`: tables and figures from logged runs and fresh evaluations."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from rapidtask.commands.train import run_shown
from rapidtask.experiments import figure, grid, planner, streets
from rapidtask.experiments.logged_runs import LoggedRun, read_runs
from rapidtask.experiments.planner import ladder
from rapidtask.experiments.results import make_results
from rapidtask.options import Count, Seed, check_options
from rapidtask.runs.agent_files import CONFIG_FILE
from rapidtask.runs.distributed import split_cpu
from rapidtask.runs.run import RunOptions

EXPERIMENTS = {
    "memory-planning": grid.EXPERIMENT,
    "streetlearn": streets.EXPERIMENT,
    "analysis": planner.EXPERIMENT,
}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Write an experiment's tables (CSV) and figures (PNG, SVG), with a README of how they came to be."""

    name: tyro.conf.Suppress[str]
    """The experiment."""
    runs: tuple[Path, ...] = ()
    """Folders of logged runs, or folders of such folders."""
    out: Path | None = None
    """Folder of the results; by default results/NAME."""
    only: tuple[str, ...] = ()
    """Names of the figures to make; by default all."""
    episodes: Count = 2000
    """Episodes per evaluation."""
    seed: Seed = 7
    """Seed of the evaluations' worlds."""
    frames: str | None = None
    """Directory of frame stores (`rapidtask cities render`), for street agents that see pixels."""
    shipped: bool = True
    """Evaluate the shipped agent of each kind; else, and where there is none, that of the best run."""

    def run(self) -> None:
        check_options(self, "--")
        out, experiment = self.out or Path("results") / self.name, EXPERIMENTS[self.name]
        runs = read_runs(self.runs, experiment.domain)

        def gather(say: Callable[[str], None]) -> Any:
            settings = {"episodes": self.episodes, "seed": self.seed, "frames": self.frames, "say": say}
            return experiment.gather(runs, shipped=self.shipped, **settings)

        write_results(experiment, gather, out, self.only)


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """Compare EPNs from the paper's to ours, one change at a time: the figure of the runs in a folder."""

    runs: Path = Path("runs/ladder")
    """Folder of the runs; each is known by its options, whatever its own folder is called."""
    steps: Count = 80_000
    """Environment steps of every run."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the runs."""
    train: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """First train the runs that the folder lacks, one after another; if stopped, the same command goes on."""
    print_commands: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Only print the commands that train them, one a line, to be run side by side."""
    out: Path = Path("results/ladder")
    """Folder of the results."""
    episodes: Count = 2000
    """Episodes per evaluation."""
    seed: Seed = 7
    """Seed of the evaluations' worlds."""

    def run(self) -> None:
        check_options(self, "--")
        if self.print_commands:
            for job in self.jobs():
                print(job.command)
            return
        if self.train:
            split_cpu(1)
            for job in self.jobs():
                train(job, Console(stderr=True))
        runs = read_runs([self.runs], "memory-planning")
        write_results(ladder.EXPERIMENT, lambda say: self.gather(runs, say=say), self.out)

    def jobs(self) -> list[ladder.Job]:
        """The runs that are still to be trained."""
        holds_any = any(self.runs.glob(f"*/{CONFIG_FILE}"))
        runs = read_runs([self.runs], "memory-planning") if holds_any else []
        return ladder.list_jobs(self.gather(runs), self.runs)

    def gather(self, runs: list[LoggedRun], **settings: Any) -> ladder.LadderRuns:
        """What the figure is made from."""
        settings |= {"episodes": self.episodes, "seed": self.seed, "steps": self.steps, "seeds": self.seeds}
        return ladder.LadderRuns(runs, **settings)


@dataclass(frozen=True)
class Experiment:
    """Write an experiment's tables (CSV) and figures (PNG, SVG), with a README of how they came to be."""

    command: Annotated[
        Annotated[Figures, tyro.conf.subcommand("memory-planning", default=Figures(name="memory-planning"))]
        | Annotated[Figures, tyro.conf.subcommand("streetlearn", default=Figures(name="streetlearn"))]
        | Annotated[Figures, tyro.conf.subcommand("analysis", default=Figures(name="analysis"))]
        | Annotated[Ladder, tyro.conf.subcommand("ladder")],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> None:
        self.command.run()


def write_results(
    experiment: figure.Experiment,
    gather: Callable[[Callable[[str], None]], Any],
    out: Path,
    only: Sequence[str] = (),
) -> None:
    """Make figures from what `gather` finds, which is given a function to say what is under way."""
    console = Console(stderr=True)
    with console.status("reading agents") as status:
        command = shlex.join(["rapidtask", *sys.argv[1:]])
        for result in make_results(experiment, gather(status.update), out, command, only):
            entry = result.entry
            done = f"not drawn: {entry.missing}" if entry.missing else f"{entry.seconds:.0f} s"
            console.print(f"{entry.name}: {done}", highlight=False, soft_wrap=True)
    print(f"Results: {out / 'README.md'}")


def train(job: ladder.Job, console: Console) -> None:
    """Train one run to its end; a signal ends it with a checkpoint, and this process with it."""
    console.print(job.command, highlight=False, soft_wrap=True)
    # Agents are evaluated anew for the figure.
    options = RunOptions(evaluate_every=0)
    result = run_shown(job.config, job.folder, options, job.resume, console)
    if result.stopped_by is not None:
        console.print("Stopped; the same command goes on.")
        sys.exit(128 + result.stopped_by)
