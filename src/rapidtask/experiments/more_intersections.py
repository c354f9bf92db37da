"""Trained on 5 intersections, evaluated on 5, 7 and 9, with 1, 2 and 4 iterations (paper, Figure 4b)."""

from __future__ import annotations

import dataclasses

from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, NotAvailable, Rows
from rapidtask.experiments.street_lines import GOALS, SHARE, draw_lines
from rapidtask.experiments.street_scores import epns, score_row, seed_rows
from rapidtask.experiments.style import new_figure

NAME = "more_intersections"
TITLE = "Trained on 5 intersections, evaluated on 5, 7 and 9 (paper, Figure 4b)"
CAPTION = (
    "EPNs trained and evaluated with the same number of planner iterations, in neighbourhoods of the "
    "held-out city as large as trained on and larger, 200 steps. Whiskers: standard errors over seeds, or "
    "over episodes where there is one seed."
)
INTERSECTIONS = (5, 7, 9)
REFERENCES = ("within-task", "edges-inverse", "oracle")


def table(material: Material) -> Rows:
    """Scores of every seed per number of intersections: EPNs that see symbols, those that see pixels."""
    labels = [contender.label for contender in epns(material)]
    try:
        labels += [contender.label for contender in epns(material, "pixels")]
    except NotAvailable:
        material.say("no EPN that sees pixels, or no frames for it")
    rows: Rows = []
    for intersections in INTERSECTIONS:
        world = dataclasses.replace(material.world, num_intersections=intersections)
        for label in labels:
            rows += seed_rows(material, label, world)
        rows += [{"line": name, **score_row(material, name, world)} for name in REFERENCES]
    return rows


def plot(rows: Rows) -> Figure:
    """Goals on the left, share of the oracle on the right."""
    figure = new_figure(8.4, 3.7)
    left, right = figure.subplots(1, 2)
    draw_lines(left, rows, "intersections", GOALS, line="line")
    draw_lines(right, [row for row in rows if row["agent"] != "oracle"], "intersections", SHARE, line="line")
    for axes in (left, right):
        axes.set_xlabel("intersections")
        axes.set_xticks(sorted({row["intersections"] for row in rows}))
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
