"""What agents explore: how soon they have seen all cells, against the best possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Figure, NotAvailable, Table

SHOWN_STEPS = 60


@dataclass(frozen=True, kw_only=True)
class Exploration(Figure[Evaluations]):
    """Cells seen against steps."""

    name: str = "exploration"
    title: str = "Beyond the paper: what agents explore"
    caption: str = (
        "Mean number of different cells seen by each step of an episode. Best possible is one new cell per "
        "move: all 16 after 15 moves, if nothing were collected on the way. Reaching goals that are already "
        "known delays exploring, and is right to."
    )
    references: tuple[str, ...] = ("random-walk", "edges-inverse", "hand-coded", "oracle")
    episodes: int = 500

    def table(self, source: Evaluations) -> Table:
        """Cells seen by each step, and steps to see all of them."""
        if not source.agents:
            raise NotAvailable("no trained agent: none is shipped, and no run has one")
        cells = source.world.size**2
        rows: Table = []
        for label in (*source.main_agents, *self.references):
            trace = source.trace(label, min(self.episodes, source.episodes))
            seen = cells_seen(np.asarray(trace.state), cells)
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

    def plot(self, rows: Table) -> Drawing:
        """One line per agent."""
        drawing = style.new_figure(6.4, 3.5)
        axes = drawing.subplots()
        style.quiet(axes)
        cells = max(16, round(max(row["cells_seen"] for row in rows)))
        best = [0, cells - 1, SHOWN_STEPS], [1, cells, cells]
        axes.plot(*best, color=style.FAINT, lw=1, ls=":", label="best possible")
        for label in dict.fromkeys(row["agent"] for row in rows):
            points = [row for row in rows if row["agent"] == label and row["step"] <= SHOWN_STEPS]
            median = points[-1]["median_steps_to_see_all"]
            shown = style.name_of(label) + (f" (all by step {median:.0f})" if median is not None else "")
            steps, seen = ([row[name] for row in points] for name in ("step", "cells_seen"))
            axes.plot(steps, seen, **style.line_style(label), label=shown)
        axes.set(xlabel="step of the episode", ylabel="different cells seen")
        axes.set(xlim=(0, SHOWN_STEPS), ylim=(0, cells + 0.6))
        axes.legend(loc="lower right", title="median", title_fontsize=8)
        return drawing


def cells_seen(places: Int[np.ndarray, "T+1 E"], cells: int) -> Int[np.ndarray, "T1 E"]:
    """Number of different cells seen after 0, 1, … T steps."""
    visits: Bool[np.ndarray, "T1 E C"] = places[..., None] == np.arange(cells)
    return np.logical_or.accumulate(visits, axis=0).sum(axis=-1)
