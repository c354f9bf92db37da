"""The One-Shot StreetLearn experiment: its figures in order, written to one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rapidtask.envs.street_options import StreetLearn
from rapidtask.experiments import (
    intermediate_nodes,
    larger_maps,
    longer_lives,
    more_intersections,
    more_iterations,
    neighbourhoods,
    oracle_share,
    other_cities,
    steps_to_goal,
    thinking_time,
    training_curves,
)
from rapidtask.experiments.material import Material
from rapidtask.experiments.results import Result, Retitled, make_results

TITLE = "Results: One-Shot StreetLearn"
WORLD = StreetLearn().held_out()
"""Where agents are compared: paris_se if its file is at hand, else the generated city that is held out."""

FIGURES: tuple[Any, ...] = (
    neighbourhoods,
    Retitled(
        training_curves.NAME,
        "Learning One-Shot StreetLearn (paper, Figure 3c)",
        "Goals per episode in neighbourhoods of the held-out city while training, recipe `fast`, sampled "
        "actions: thin lines are seeds, thick lines their mean, a dot the end of the longest run. Left "
        "against environment steps, right against minutes on this machine, compilation left out. Dashed: "
        "reference policies.",
        training_curves.main_table,
        training_curves.plot,
    ),
    Retitled(
        oracle_share.NAME,
        "Goals per episode, and share of the oracle in the last third (paper, Figure 3d)",
        "Trained agents and reference policies in neighbourhoods of the held-out city, 5 intersections, 200 "
        "steps; bars are means, whiskers standard errors. Trained agents draw their actions; a dot marks the "
        "same agent with greedy actions. The paper's EPN (pixels, the real Paris SE) reached 28.7 goals and "
        "88% of the oracle; compare shares, not goals (results/streets).",
        oracle_share.main_table,
        oracle_share.plot,
    ),
    Retitled(
        steps_to_goal.NAME,
        "Steps to the n-th goal (paper, Figure 3e)",
        steps_to_goal.CAPTION,
        steps_to_goal.table,
        steps_to_goal.plot,
    ),
    thinking_time,
    more_intersections,
    more_iterations,
    larger_maps,
    intermediate_nodes,
    other_cities,
    Retitled(
        longer_lives.NAME,
        longer_lives.TITLE,
        "The EPN, trained in episodes of 200 steps, in episodes of 1,000 and 5,000. Left: goals in each 100 "
        "steps of the longest episodes, and the oracle's in the same worlds. Right: processor milliseconds "
        "per step and environment over whole episodes, batch of 16, with one row per different transition "
        "(unique) and with one row per step (all).",
        longer_lives.street_table,
        longer_lives.plot,
    ),
)
"""Modules of the kind `results.FigureModule`, in the order of the README."""


def run_figures(material: Material, only: Sequence[str], out: Path, command: str) -> Iterator[Result]:
    """Make the figures, all or those named, and write each as soon as it is done."""
    return make_results(TITLE, FIGURES, material, only, out, command)
