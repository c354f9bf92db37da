"""The table of a sweep: one line per finished trial, appended; what is written once stays."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from rapidtask.errors import InputError
from rapidtask.learning.checkpoint import write_atomically
from rapidtask.sweeps.space import Options

NUM_ROWS_SHOWN = 20


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    trial: int
    """Its number."""
    options: Options
    """The point that it tried."""
    score: float | None
    """Goals per episode on held-out worlds at its end; None if it failed."""
    oracle_share_last_third: float | None
    """Goals in the last third of the episodes over the oracle's."""
    steps: int
    seconds: float
    """Of training, compilation left out."""
    error: str | None = None
    """Why it failed, if it did."""


class SweepTable:
    """Finished trials of a sweep, in `trials.jsonl` and, best first, in `sweep.csv`."""

    def __init__(self, folder: Path, description: dict) -> None:
        """Open the table of a new sweep, or of one that was stopped.

        Args:
            folder: the sweep's folder.
            description: all that its results depend on, by name; going on with another is refused.
        """
        self.folder = folder
        self._path = folder / "trials.jsonl"
        described = folder / "sweep.json"
        if described.exists():
            before = json.loads(described.read_text(encoding="utf-8"))
            for name in description:
                if before.get(name) != description[name]:
                    raise InputError(
                        f"{folder} holds a sweep with another {name}: {before.get(name)}, "
                        f"not {description[name]}; choose another --out"
                    )
        write_atomically(described, (json.dumps(description, indent=2) + "\n").encode())
        self.trials = self._read()
        # A line cut short by a crash goes, so that the next one starts on its own line.
        self._rewrite()

    def append(self, trial: Trial) -> None:
        """Add a finished trial; it is on disk when this returns."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(trial)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.trials.append(trial)
        self._write_csv()

    @property
    def ranked(self) -> list[Trial]:
        """Trials, best first; failed ones last."""
        failed = float("inf")
        return sorted(self.trials, key=lambda t: (failed if t.score is None else -t.score, t.trial))

    @property
    def best(self) -> Trial | None:
        """The trial with the highest score."""
        scored = [trial for trial in self.ranked if trial.score is not None]
        return scored[0] if scored else None

    def for_people(self) -> Table:
        """The best trials as a table for the terminal."""
        names = list(self.trials[0].options) if self.trials else []
        table = Table(title=f"{self.folder}: {len(self.trials)} trials", title_justify="left")
        for heading in ("trial", "goals / episode", "share of oracle", *names):
            table.add_column(heading.rpartition(".")[2], justify="right")
        for trial in self.ranked[:NUM_ROWS_SHOWN]:
            score = "failed" if trial.score is None else f"{trial.score:.2f}"
            share = trial.oracle_share_last_third
            cells = (f"{trial.options[name]:.3g}" for name in names)
            table.add_row(str(trial.trial), score, "–" if share is None else f"{share:.1%}", *cells)
        return table

    def _read(self) -> list[Trial]:
        if not self._path.exists():
            return []
        trials = []
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                trials.append(Trial(**json.loads(line)))
            except json.JSONDecodeError:
                break
        return trials

    def _rewrite(self) -> None:
        lines = "".join(json.dumps(asdict(trial)) + "\n" for trial in self.trials)
        write_atomically(self._path, lines.encode())
        self._write_csv()

    def _write_csv(self) -> None:
        text = io.StringIO()
        names = list(self.trials[0].options) if self.trials else []
        fields = ["trial", "score", "oracle_share_last_third", "steps", "seconds", *names, "error"]
        writer = csv.DictWriter(text, fields, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for trial in self.ranked:
            writer.writerow(asdict(trial) | trial.options)
        write_atomically(self.folder / "sweep.csv", text.getvalue().encode())
