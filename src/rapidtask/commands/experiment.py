"""`rapidtask experiment`: tables and figures from logged runs and fresh evaluations."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from rapidtask.commands.ladder import Ladder
from rapidtask.errors import InputError
from rapidtask.experiments import grid, planner, streets
from rapidtask.experiments.logged_runs import read_runs
from rapidtask.experiments.results import keep_sweeps, make_results

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
    sweeps: tuple[Path, ...] = ()
    """Folders of sweeps whose tables of tried settings to keep with the results."""
    out: Path | None = None
    """Folder of the results; by default results/NAME."""
    only: tuple[str, ...] = ()
    """Names of the figures to make; by default all."""
    episodes: int = 2000
    """Episodes per evaluation."""
    seed: int = 7
    """Seed of the evaluations' worlds."""
    frames: str | None = None
    """Directory of frame stores (`rapidtask cities render`), for street agents that see pixels."""
    shipped: bool = True
    """Evaluate the shipped agent of each kind; else, and where there is none, that of the best run."""

    def run(self) -> None:
        """Make the figures one after another."""
        if self.episodes < 1:
            raise InputError(f"--episodes is {self.episodes}, expected at least 1")
        out = self.out or Path("results") / self.name
        console = Console(stderr=True)
        experiment = EXPERIMENTS[self.name]
        runs = read_runs(self.runs, experiment.domain)
        with console.status("reading agents") as status:
            evaluations = experiment.gather(
                runs,
                shipped=self.shipped,
                episodes=self.episodes,
                seed=self.seed,
                frames=self.frames,
                say=status.update,
            )
            for table in keep_sweeps(self.sweeps, out):
                console.print(f"{table}: tried settings", highlight=False)
            command = shlex.join(["rapidtask", *sys.argv[1:]])
            for result in make_results(experiment, evaluations, out, command, self.only):
                entry = result.entry
                done = f"not drawn: {entry.missing}" if entry.missing else f"{entry.seconds:.0f} s"
                console.print(f"{entry.name}: {done}", highlight=False, soft_wrap=True)
        print(f"Results: {out / 'README.md'}")


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
        """Run the experiment."""
        self.command.run()
