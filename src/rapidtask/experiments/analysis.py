"""The analysis of what planners compute: its figures in order, written to one folder."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rapidtask.analysis import (
    ablations,
    attention_kinds,
    attention_maps,
    decoding_accuracy,
    decoding_loss,
    decoding_reach,
    emergence,
    grid_maps,
    street_maps,
    value_iteration,
)
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.errors import InputError
from rapidtask.experiments.results import Result, make_result, read_index, write_readme, write_result
from rapidtask.learning.checkpoint import write_atomically

TITLE = "Results: what the planner computes"
FIGURES: tuple[Any, ...] = (
    decoding_loss,
    decoding_accuracy,
    decoding_reach,
    street_maps.LIKELIHOOD_MAP,
    street_maps.DISTANCE_MAP,
    grid_maps,
    value_iteration,
    attention_kinds,
    attention_maps.GRID,
    attention_maps.STREET,
    emergence,
    ablations,
)
"""Modules of the kind `results.FigureModule`, in the order of the README."""


def run_figures(material: AnalysisMaterial, only: Sequence[str], out: Path, command: str) -> Iterator[Result]:
    """Make the figures, all or those named, and write each as soon as it is done.

    A figure that the material has nothing for (such as the ablations without their runs) stays as it was, if
    the folder has it.
    """
    names = [figure.NAME for figure in FIGURES]
    for name in only:
        if name not in names:
            raise InputError(f"--only: unknown figure {name!r}; known: {', '.join(names)}")
    for figure in FIGURES:
        if not only or figure.NAME in only:
            material.say(figure.TITLE)
            result = make_result(figure, material, command)
            if not (result.entry.missing and was_drawn(figure.NAME, out)):
                write_result(result, out)
            write_readme(TITLE, names, material.runs, out)
            write_ablations_page(out)
            yield result


def was_drawn(name: str, out: Path) -> bool:
    """Whether a results folder has a figure from an earlier time."""
    entry = read_index(out).get(name)
    return entry is not None and not entry["missing"]


def write_ablations_page(out: Path) -> None:
    """Write the ablations as Markdown beside their CSV, if there are any."""
    path = out / f"{ablations.NAME}.csv"
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            page = ablations.markdown(list(csv.DictReader(file)))
        write_atomically(path.with_suffix(".md"), page.encode())
