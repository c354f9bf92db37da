"""The Memory&Planning experiment: its figures in order, written to one folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rapidtask.errors import InputError
from rapidtask.experiments import (
    exploration,
    larger_grids,
    longer_lives,
    oracle_share,
    recipes,
    scalability,
    steps_to_goal,
    training_curves,
    trajectory,
)
from rapidtask.experiments.material import Material
from rapidtask.experiments.results import Result, make_result, write_readme, write_result

TITLE = "Results: the Memory&Planning Game"
FIGURES: tuple[Any, ...] = (
    training_curves,
    oracle_share,
    trajectory,
    steps_to_goal,
    scalability,
    recipes,
    longer_lives,
    larger_grids,
    exploration,
)
"""Modules of the kind `results.FigureModule`, in the order of the README."""


def run_figures(material: Material, only: Sequence[str], out: Path, command: str) -> Iterator[Result]:
    """Make the figures, all or those named, and write each as soon as it is done."""
    names = [figure.NAME for figure in FIGURES]
    for name in only:
        if name not in names:
            raise InputError(f"--only: unknown figure {name!r}; known: {', '.join(names)}")
    for figure in FIGURES:
        if not only or figure.NAME in only:
            result = make_result(figure, material, command)
            write_result(result, out)
            write_readme(TITLE, names, material.runs, out)
            yield result


def keep_sweeps(folders: Sequence[Path], out: Path) -> list[Path]:
    """Copy the tables of tried settings of sweeps into the results."""
    kept: list[Path] = []
    for folder in folders:
        table = folder / "sweep.csv"
        if not table.is_file():
            raise InputError(f"--sweeps: {folder} holds no sweep.csv")
        target = out / "sweeps" / f"{folder.name}.csv"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(table, target)
        kept.append(target)
    return kept
