"""More thinking than trained for: planner iterations changed at evaluation."""

from __future__ import annotations

import dataclasses

import numpy as np
from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, Rows
from rapidtask.experiments.street_lines import SHARE, draw_lines
from rapidtask.experiments.street_scores import epns, planner_name, score_row
from rapidtask.experiments.style import colour_of, new_figure

NAME = "more_iterations"
TITLE = "Beyond the paper: more planner iterations than trained with"
CAPTION = (
    "The same weights evaluated with 1 to 8 planner iterations; a ring marks the number trained with. Left: "
    "neighbourhoods as large as trained on; right: larger ones, where paths are longer than any trained on. "
    "Whiskers: standard errors over episodes. Agents trained with a random number of iterations have no ring."
)
ITERATIONS = (1, 2, 4, 6, 8)
INTERSECTIONS = (5, 9)
EPISODES = 300


def table(material: Material) -> Rows:
    """Scores of each EPN per number of iterations and of intersections."""
    rows: Rows = []
    for intersections in INTERSECTIONS:
        world = dataclasses.replace(material.world, num_intersections=intersections)
        for contender in epns(material):
            trained = contender.config.agent.iterations if "random" not in contender.label else None
            for iterations in ITERATIONS:
                row = score_row(material, contender.label, world, EPISODES, iterations=iterations)
                notes = {"line": planner_name(contender), "iterations": iterations, "trained_with": trained}
                rows.append({**notes, **row})
    return rows


def plot(rows: Rows) -> Figure:
    """Share of the oracle against iterations, a panel per size."""
    sizes = sorted({row["intersections"] for row in rows})
    figure = new_figure(4.2 * len(sizes), 3.7)
    panels = np.atleast_1d(figure.subplots(1, len(sizes), sharey=True))
    for axes, size in zip(panels, sizes, strict=True):
        ours = [row for row in rows if row["intersections"] == size]
        draw_lines(axes, ours, "iterations", SHARE, line="line")
        for row in ours:
            if row["iterations"] == row["trained_with"]:
                place = (row["iterations"], 100 * row[SHARE])
                axes.plot(*place, "o", ms=11, mfc="none", mec=colour_of(row["line"]), mew=1.5)
        axes.set(xlabel="planner iterations at evaluation")
        axes.set_title(f"{size} intersections")
        axes.set_xticks(sorted({row["iterations"] for row in rows}))
    for axes in panels[1:]:
        axes.set_ylabel("")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
