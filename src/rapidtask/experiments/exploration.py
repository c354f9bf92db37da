"""What agents explore: how soon they have seen all cells, against the best possible."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int
from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, NotAvailable, Rows
from rapidtask.experiments.style import FAINT, colour_of, name_of, new_figure, quiet

NAME = "exploration"
TITLE = "Beyond the paper: what agents explore"
CAPTION = (
    "Mean number of different cells seen by each step of an episode. Best possible is one new cell per "
    "move: all 16 after 15 moves, if nothing were collected on the way. Reaching goals that are already "
    "known delays exploring, and is right to."
)
REFERENCES = ("random-walk", "edges-inverse", "hand-coded", "oracle")
EPISODES = 500


def table(material: Material) -> Rows:
    """Cells seen by each step, and steps to see all of them."""
    if not material.contenders:
        raise NotAvailable("no trained agent: none is shipped, and no run has one")
    cells = material.world.size**2
    rows: Rows = []
    for label in (*material.main_contenders, *REFERENCES):
        trace = material.trace(label, min(EPISODES, material.episodes))
        seen = cells_seen(np.asarray(trace.state[:-1]), np.asarray(trace.state[1:]), cells)
        # Infinite where an episode ended before.
        steps = np.where(seen[-1] == cells, np.argmax(seen == cells, axis=0), np.inf)
        median = float(np.median(steps))
        rows += [
            {
                "agent": label,
                "step": step,
                "cells_seen": float(mean),
                "share_that_saw_all": float((seen[step] == cells).mean()),
                "median_steps_to_see_all": median if np.isfinite(median) else None,
            }
            for step, mean in enumerate(seen.mean(axis=1))
        ]
    return rows


def cells_seen(
    state: Int[np.ndarray, "T E"], reached: Int[np.ndarray, "T E"], cells: int
) -> Int[np.ndarray, "T1 E"]:
    """Number of different cells seen after 0, 1, … T steps."""
    places = np.concatenate([state[:1], reached])
    visits: Bool[np.ndarray, "T1 E C"] = places[..., None] == np.arange(cells)
    return np.logical_or.accumulate(visits, axis=0).sum(axis=-1)


def plot(rows: Rows) -> Figure:
    """Cells seen against steps."""
    figure = new_figure(6.4, 3.5)
    axes = figure.subplots()
    quiet(axes)
    most = max(row["cells_seen"] for row in rows)
    cells = max(16, round(most))
    axes.plot([0, cells - 1, 60], [1, cells, cells], color=FAINT, lw=1, ls=":", label="best possible")
    for label in dict.fromkeys(row["agent"] for row in rows):
        points = [row for row in rows if row["agent"] == label and row["step"] <= 60]
        reference = label in REFERENCES
        median = points[-1]["median_steps_to_see_all"]
        axes.plot(
            [row["step"] for row in points],
            [row["cells_seen"] for row in points],
            color=colour_of(label),
            lw=1.2 if reference else 2.0,
            ls=(0, (4, 2)) if reference else "-",
            label=name_of(label) + (f" (all by step {median:.0f})" if median is not None else ""),
        )
    axes.set(xlabel="step of the episode", ylabel="different cells seen", xlim=(0, 60), ylim=(0, cells + 0.6))
    axes.legend(loc="lower right", title="median", title_fontsize=8)
    return figure
