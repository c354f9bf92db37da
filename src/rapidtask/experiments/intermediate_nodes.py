"""Streets walked node by node instead of from crossing to crossing: the paper's test of jumpy planning."""

from __future__ import annotations

import dataclasses

import numpy as np
from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, Rows
from rapidtask.experiments.street_lines import SHARE, draw_lines
from rapidtask.experiments.street_scores import score_row, thinking
from rapidtask.experiments.style import colour_of, name_of, new_figure, reference_lines

NAME = "intermediate_nodes"
TITLE = "Beyond the paper: intermediate nodes kept"
CAPTION = (
    "The EPN was trained in worlds where moving forward leads to the next crossing. Here every node on the "
    "way is a state of its own (the paper's proposal to test jumpy planning): 5 intersections then have "
    "about 65 states instead of 24, up to 320, and goals are further apart than any in training. Share of "
    "the oracle in the last third against planner iterations at evaluation, in episodes of 200 and of 1,000 "
    "steps. Dashed: reference policies with the nodes kept. Whiskers: standard errors over episodes."
)
ITERATIONS = (1, 2, 4, 8)
LENGTHS = (200, 1000)
REFERENCES = ("within-task", "edges-inverse")
EPISODES = 100


def table(material: Material) -> Rows:
    """Scores with and without intermediate nodes."""
    epn = material.epn()
    rows: Rows = []
    for length in LENGTHS:
        for kept in (False, True):
            world = dataclasses.replace(material.world, episode_steps=length, keep_intermediate=kept)
            notes = {"intermediate_nodes": "kept" if kept else "left out", "trained_with": thinking(epn)}
            for iterations in ITERATIONS:
                row = score_row(material, epn.label, world, EPISODES, iterations=iterations)
                rows.append({**notes, "iterations": iterations, **row})
            for name in (*REFERENCES, "oracle"):
                rows.append({**notes, "iterations": None, **score_row(material, name, world, EPISODES)})
    return rows


def plot(rows: Rows) -> Figure:
    """A panel per length of episodes."""
    lengths = sorted({row["episode_steps"] for row in rows})
    figure = new_figure(4.4 * len(lengths), 3.6)
    panels = np.atleast_1d(figure.subplots(1, len(lengths), sharey=True))
    colours = {"left out": colour_of("EPN"), "kept": "#be185d"}
    for axes, length in zip(panels, lengths, strict=True):
        ours = [row for row in rows if row["episode_steps"] == length and row["iterations"] is not None]
        draw_lines(axes, ours, "iterations", SHARE, line="intermediate_nodes", colours=colours)
        references = [
            (row["agent"], 100 * row[SHARE])
            for row in rows
            if row["agent"] in REFERENCES
            and row["episode_steps"] == length
            and row["intermediate_nodes"] == "kept"
        ]
        reference_lines(axes, references, least_gap=5.0)
        axes.set(xlabel="planner iterations at evaluation", xscale="log")
        axes.set_xticks(list(places := sorted({row["iterations"] for row in ours})), [str(p) for p in places])
        axes.minorticks_off()
        axes.set_title(f"{length:,} steps")
    for axes in panels[1:]:
        axes.set_ylabel("")
    handles, labels = panels[0].get_legend_handles_labels()
    shown = [f"{name_of('EPN')}, intermediate nodes {label}" for label in labels]
    figure.legend(handles, shown, loc="outside upper center", ncols=2)
    return figure
