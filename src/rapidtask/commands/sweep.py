"""`rapidtask sweep`: search hyper-parameters with many runs, in one process or many."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.table import Table

from rapidtask.commands.train import TrainingOptions
from rapidtask.errors import InputError
from rapidtask.evaluation.report import print_table
from rapidtask.options import Count
from rapidtask.runs.provenance import training_command
from rapidtask.runs.run import RunOptions

NUM_ROWS_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Sweep(TrainingOptions):
    """Search hyper-parameters; the same command again goes on with a sweep that was stopped or killed."""

    out: Path
    """Folder of the sweep: its study, its table and a run per trial."""
    space: tuple[str, ...] = ()
    """What to search: OPTION=A,B,C or OPTION=LOW:HIGH (uniform in the logarithm), files of these, or the name
    of a recipe for its space; by default that of --recipe."""
    trials: Count = 20
    """Points to try; a larger number later adds to the table."""
    search: Literal["random", "bayes"] = "random"
    """At random, or Bayesian."""
    prune: bool = False
    """End trials early that do worse than the median of earlier trials did after as many steps."""
    workers: Count = 1
    """Trials side by side, each in a process of its own."""
    storage: str | None = None
    """URL of a database, for several machines with the same --out; by default a file there."""
    init_from: tyro.conf.Suppress[None] = None  # a space may hold options of the agent
    new_symbols: tyro.conf.Suppress[bool] = False
    steps: Count = 300_000
    """Environment steps of each trial."""
    evaluation_episodes: Count = 500
    """Episodes on held-out worlds that a trial is scored with."""
    checkpoint_every: Count = 10
    """Iterations between a trial's checkpoints."""

    def run(self) -> None:
        try:
            from rapidtask.sweeps import study
            from rapidtask.sweeps.space import read_space, with_point
        except ModuleNotFoundError as error:
            if error.name != "optuna":
                raise
            raise InputError("sweeps need Optuna: pip install 'rapidtask[sweep]'") from None
        config = self.config()
        sweep = study.Sweep(
            config,
            read_space(self.space, config),
            self.out,
            self.trials,
            RunOptions(self.checkpoint_every, 1, 0, self.evaluation_episodes),
            self.search,
            self.prune,
            self.storage,
        )
        opened = study.open_study(sweep)  # What is wrong is said once, before there are other processes.
        spawn, num_others = get_context("spawn"), min(self.workers, self.trials) - 1
        others = [spawn.Process(target=study.work, args=(sweep,), daemon=True) for _ in range(num_others)]
        for process in others:
            process.start()
        stopped_by = study.work(sweep)
        for process in others:
            if stopped_by is not None:
                process.terminate()
            process.join()
        if stopped_by is not None:
            print(f"Stopped. Go on with: {shlex.join(['rapidtask', *sys.argv[1:]])}", file=sys.stderr)
            sys.exit(128 + stopped_by)
        trials = study.write_table(opened, self.out)
        print_table(table_for_people(f"{self.out}: {len(trials)} trials", trials))
        print(f"All trials: {self.out / study.TABLE_FILE}")
        if (best := trials[0]).state.name == "COMPLETE":
            print(f"The best run: {study.trial_folder(self.out, best.user_attrs[study.RUN])}")
            again = training_command(with_point(config, best.params))
            print(f"The same again: {again} --out {shlex.quote(str(self.out / 'best'))}")


def table_for_people(title: str, trials: list[Any]) -> Table:
    """The best of the trials, which come best first, as a table for the terminal."""
    names = list(trials[0].params)
    table = Table(title=title, title_justify="left")
    for heading in ("trial", "goals / episode", "share of oracle", *names):
        table.add_column(heading.rpartition(".")[2], justify="right")
    for trial in trials[:NUM_ROWS_SHOWN]:
        state, share = trial.state.name.lower(), trial.user_attrs.get("oracle_share_last_third")
        score = f"{trial.value:.2f}" if state == "complete" else state
        cells = (str(trial.params.get(name, "–"))[:8] for name in names)
        share = f"{share:.1%}" if isinstance(share, float) else "–"
        table.add_row(str(trial.user_attrs["run"]), score, share, *cells)
    return table
