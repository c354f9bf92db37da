"""Maps several times as large as trained on, in episodes as long as trained on and longer ones."""

from __future__ import annotations

import dataclasses

from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, Rows
from rapidtask.experiments.street_lines import SHARE, draw_lines
from rapidtask.experiments.street_scores import count_iterations, fits, score_row, thinking
from rapidtask.experiments.style import new_figure

NAME = "larger_maps"
TITLE = "Beyond the paper: maps of 12, 16 and 24 intersections"
CAPTION = (
    "Agents trained on 5 intersections and 200 steps, in larger neighbourhoods of the held-out city. Left: "
    "200 steps, too few to see the largest maps. Right: 40 steps for each intersection. The EPN is shown "
    "with the planner iterations it was trained with, and with twice as many. Beyond 9 intersections there "
    "are more symbols than in training, which only agents with fixed symbols can tell apart. Whiskers: "
    "standard errors over episodes."
)
INTERSECTIONS = (5, 7, 9, 12, 16, 24)
STEPS_PER_INTERSECTION = 40
REFERENCES = ("within-task", "edges-inverse")
EPISODES = 200


def table(material: Material) -> Rows:
    """Scores per number of intersections and length of episodes."""
    epn = material.epn()
    rivals = [label for label in material.main_contenders if material.contenders[label].kind != "epn"]
    rivals = [label for label in rivals if material.contenders[label].observations == "symbols"]
    rows: Rows = []
    for intersections in INTERSECTIONS:
        lengths = (material.world.episode_steps, STEPS_PER_INTERSECTION * intersections)
        for time, length in zip(("fixed", "per intersection"), lengths, strict=True):
            world = dataclasses.replace(material.world, num_intersections=intersections, episode_steps=length)
            for factor in (1, 2):
                iterations = factor * thinking(epn)
                row = score_row(material, epn.label, world, EPISODES, iterations=iterations)
                rows.append({"line": count_iterations(iterations), "time": time, **row})
            others = [label for label in rivals if fits(material, label, world)]
            for name in (*others, *REFERENCES):
                rows.append({"line": name, "time": time, **score_row(material, name, world, EPISODES)})
    return rows


def plot(rows: Rows) -> Figure:
    """Share of the oracle against the number of intersections, a panel per length of episodes."""
    figure = new_figure(8.8, 3.8)
    panels = figure.subplots(1, 2, sharey=True)
    fixed = min(row["episode_steps"] for row in rows)
    titles = (f"{fixed} steps", f"{STEPS_PER_INTERSECTION} steps per intersection")
    for axes, time, title in zip(panels, ("fixed", "per intersection"), titles, strict=True):
        ours = [row for row in rows if row["time"] == time]
        draw_lines(axes, ours, "intersections", SHARE, line="line")
        axes.set(xlabel="intersections")
        axes.set_title(title)
        axes.set_xticks(sorted({row["intersections"] for row in rows}))
    panels[1].set_ylabel("")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
