"""Makes and writes results: each a table (CSV) and a figure (PNG, SVG), and a README of how they came."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import matplotlib

from rapidtask.errors import InputError
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Experiment, Figure, NotAvailable, Row, Table
from rapidtask.experiments.logged_runs import LoggedRun
from rapidtask.runs.checkpoint import write_atomically
from rapidtask.runs.programs import forget_programs
from rapidtask.runs.provenance import describe_commit, describe_machine, today, training_command

INDEX = "index.json"
"""What is known of each figure of a results folder, kept so that figures can be made one by one."""


@dataclass(frozen=True)
class Entry:
    """A figure in a results folder."""

    name: str
    title: str
    caption: str
    missing: str
    """Why it was not drawn, or nothing."""
    command: str
    episodes: int
    seed: int
    seconds: float
    agents: dict[str, str]
    """Where each trained agent comes from, by its label."""
    machine: str
    commit: str
    date: str
    how: str = ""
    """How it was measured; results before 2026-11-17 leave it out if in episodes."""
    sources: dict[str, str] = field(default_factory=dict)
    """Checksums of what the worlds are made from, by name; earlier results leave them out."""


@dataclass(frozen=True)
class Result:
    """A figure that was made."""

    entry: Entry
    rows: Table
    drawing: Drawing | None


def make_result(figure: Figure[Any], evaluations: Evaluations, command: str) -> Result:
    """Measure and draw one figure."""
    began = time.perf_counter()
    rows, drawing, missing = [], None, ""
    try:
        found = figure.table(evaluations)
        rows = found if isinstance(found, list) else list(found)
        drawing = draw(figure, rows)
    except NotAvailable as reason:
        missing = str(reason)
    entry = Entry(
        figure.name,
        figure.title,
        figure.caption,
        missing,
        command,
        evaluations.episodes,
        evaluations.seed,
        round(time.perf_counter() - began, 1),
        {label: trained.source for label, trained in evaluations.agents.items()},
        describe_machine(),
        describe_commit(),
        today(),
        evaluations.how,
        evaluations.world.sources(),
    )
    return Result(entry, rows, drawing)


def make_results(
    experiment: Experiment, evaluations: Evaluations, out: Path, command: str, only: Sequence[str] = ()
) -> Iterator[Result]:
    """Make the figures of an experiment, all or those named, and write each as soon as it is done."""
    names = [figure.name for figure in experiment.figures]
    for name in only:
        if name not in names:
            raise InputError(f"--only: unknown figure {name!r}; known: {', '.join(names)}")
    for figure in experiment.figures:
        if not only or figure.name in only:
            result = make_result(figure, evaluations, command)
            write_result(result, out)
            forget_programs()
            write_readme(experiment.title, names, evaluations.runs, out)
            yield result


def draw(figure: Figure[Any], rows: Table) -> Drawing:
    """Draw a figure in the common style."""
    with matplotlib.rc_context(style.SETTINGS):  # pyright: ignore[reportArgumentType]
        drawing = figure.plot(rows)
        drawing.canvas.draw()  # what is laid out under the style keeps it
        return drawing


def drawing_bytes(drawing: Drawing, kind: str, dpi: int = 200) -> bytes:
    """A drawing as a file's content: png or svg; equal drawings give equal bytes."""
    buffer = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context(style.SETTINGS):  # pyright: ignore[reportArgumentType]
        drawing.savefig(buffer, format=kind, dpi=dpi, metadata=metadata, facecolor="white")
    return buffer.getvalue()


def write_result(result: Result, out: Path) -> None:
    """Write a result's table and figure, and note it in the folder's index."""
    name = result.entry.name
    if result.drawing is not None:
        write_atomically(out / f"{name}.csv", csv_text(result.rows).encode())
        for kind in ("png", "svg"):
            write_atomically(out / f"{name}.{kind}", drawing_bytes(result.drawing, kind))
    index = read_index(out) | {name: asdict(result.entry)}
    write_atomically(out / INDEX, (json.dumps(index, indent=2, ensure_ascii=False) + "\n").encode())


def read_index(out: Path) -> dict[str, dict]:
    """Entries of a results folder by name; empty for a new one."""
    path = out / INDEX
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def csv_text(rows: Table) -> str:
    """A table as CSV: columns in order of first appearance, numbers with 6 digits."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    return buffer.getvalue()


def write_readme(title: str, order: Sequence[str], runs: Sequence[LoggedRun], out: Path) -> None:
    """Write the folder's README from its index: figures, captions, commands, runs."""
    index = read_index(out)
    lines = [f"# {title}", ""]
    for name in sorted(index, key=lambda name: order.index(name) if name in order else len(order)):
        entry = Entry(**index[name])
        lines += [f"## {entry.title}", ""]
        if entry.missing:
            lines += [f"Not drawn: {entry.missing}.", ""]
            continue
        how = entry.how or f"{entry.episodes} episodes per evaluation"
        lines += [f"![{entry.title}]({name}.png)", ""]
        lines += [f"{entry.caption} [Table]({name}.csv), [SVG]({name}.svg).", ""]
        made_of = "".join(f", {name} ({checksum})" for name, checksum in entry.sources.items())
        lines += [
            f"`{entry.command}`: {how}, worlds of seed {entry.seed}{made_of}, {entry.seconds:.0f} s, "
            f"{entry.date}, commit {entry.commit}, {entry.machine}.",
            "",
        ]
    agents = {label: source for entry in index.values() for label, source in entry["agents"].items()}
    if agents:
        lines += ["## Agents that were evaluated", "", "| agent | shipped agent or run |", "|---|---|"]
        lines += [f"| {label} | {source} |" for label, source in agents.items()] + [""]
    path = out / "runs.csv"
    if runs:
        write_atomically(path, csv_text([run_row(run) for run in runs]).encode())
    if path.is_file():
        lines += ["## Runs", "", "Every logged run, with its command: [runs.csv](runs.csv).", ""]
        header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        lines += [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
        lines += [f"| {' | '.join(cells)} | `{command}` |" for *cells, command in rows] + [""]
    write_atomically(out / "README.md", "\n".join(lines).encode())


def run_row(run: LoggedRun) -> Row:
    """A run in the table of all runs."""
    return {
        "run": run.folder.name,
        "agent": run.label,
        "recipe": run.config.recipe,
        "seed": run.config.seed,
        "steps": run.steps,
        "minutes": round(run.minutes, 1),
        "goals at the end": round(run.final_goals, 2),
        "command": training_command(run.config),
    }
