"""The analysis of what planners compute: its figures in order, written to one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rapidtask.analysis import (
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
from rapidtask.experiments.results import Result, make_results

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
)
"""Modules of the kind `results.FigureModule`, in the order of the README."""


def run_figures(material: AnalysisMaterial, only: Sequence[str], out: Path, command: str) -> Iterator[Result]:
    """Make the figures, all or those named, and write each as soon as it is done."""
    return make_results(TITLE, FIGURES, material, only, out, command)
