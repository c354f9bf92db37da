"""The Memory&Planning experiment: its figures in order, written to one folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rapidtask.envs.registry import MemoryPlanning
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
from rapidtask.experiments.results import Result, make_results

TITLE = "Results: the Memory&Planning Game"
WORLD = MemoryPlanning()
"""Where agents are compared."""
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
    return make_results(TITLE, FIGURES, material, only, out, command)


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
