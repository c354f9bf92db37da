"""Training curves of runs with the reference policies (paper, Figures 2b and 3c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import MAIN_LABELS, Evaluations, in_order, is_main
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Table

CURVE_POINTS = 200
"""Places at which the mean of seeds is taken."""


@dataclass(frozen=True, kw_only=True)
class TrainingCurves(Figure[Evaluations]):
    """Goals on held-out worlds while training, against steps and against minutes."""

    name: str = "training_curves"
    title: str = "Learning the Memory&Planning Game (paper, Figure 2b)"
    caption: str = (
        "Goals per episode on held-out worlds while training, recipe `fast`, sampled actions: thin lines are "
        "seeds, thick lines their mean, a dot the end of the longest run. Left against environment steps, "
        "right against minutes on this machine, compilation left out. Dashed: reference policies. The "
        "paper's agents trained for a number of steps believed to be of order 10⁹."
    )
    references: tuple[str, ...] = ("within-task", "edges", "edges-inverse", "hand-coded", "oracle")
    variants: bool = True
    """Whether variants of the agents are shown too."""

    def table(self, source: Evaluations) -> Table:
        """Evaluations of the runs with recipe `fast`, and reference policies."""
        rows = curve_rows(source, ("fast",))
        if not rows:
            raise NotAvailable("no run with evaluations in its log; name some with --runs")
        rows = [row for row in rows if self.variants or is_main(row["agent"])]
        if not rows:
            raise NotAvailable(f"no run of {', '.join(MAIN_LABELS)} with evaluations in its log")
        return rows + reference_rows(source, self.references)

    def plot(self, rows: Table) -> Drawing:
        """Curves against steps and against minutes; agents that see pixels below those that see symbols."""
        groups = sorted({row["observations"] for row in rows if "observations" in row}, reverse=True)
        drawing = style.new_figure(8.6, 0.5 + 3.2 * len(groups))
        panels = drawing.subplots(len(groups), 2, sharey=True, width_ratios=(1.15, 1), squeeze=False)
        for (by_steps, by_minutes), group in zip(panels, groups, strict=True):
            ours = [row for row in rows if row.get("observations", group) == group]
            draw_curves(by_steps, ours, "steps")
            draw_curves(by_minutes, ours, "minutes")
            by_steps.set_xlim(0, max(row["steps"] for row in ours if "steps" in row) * 1.02)
            by_steps.set_ylabel("goals per episode")
            by_minutes.set(xlabel="minutes of training")
            by_minutes.set_xlim(left=0)
            if len(groups) > 1:
                by_steps.set_title(group)
        style.shared_legend(drawing, ncols=5)
        return drawing


def curve_rows(source: Evaluations, recipes: Sequence[str]) -> Table:
    """Every evaluation that the runs logged in worlds of the size that agents are compared in."""
    # Side of a grid: goals on grids of different sizes do not belong on one axis.
    size = lambda world: getattr(world, "size", None)  # noqa: E731
    return [
        {
            "agent": run.label,
            "observations": run.observations,
            "recipe": run.config.recipe,
            "run": run.folder.name,
            "seed": run.config.seed,
            "steps": record["steps"],
            "minutes": record["seconds"] / 60,
            GOALS: record[f"evaluation_{GOALS}"],
            SHARE: record[f"evaluation_{SHARE}"],
        }
        for run in source.runs
        if run.config.recipe in recipes and size(run.config.world) == size(source.world)
        for record in run.evaluations
    ]


def reference_rows(source: Evaluations, names: Sequence[str]) -> Table:
    """Goals per episode of reference policies."""
    return [
        {"agent": name, "recipe": "reference", GOALS: source.scores(name).goals_per_episode} for name in names
    ]


def draw_curves(axes: Axes, rows: Table, x: str) -> None:
    """Thin lines for seeds, a thick one for the mean of each agent, and the reference lines."""
    curves = [row for row in rows if row["recipe"] != "reference"]
    references = [(row["agent"], row[GOALS]) for row in rows if row["recipe"] == "reference"]
    style.quiet(axes)
    for label in sorted({row["agent"] for row in curves}, key=in_order):
        seeds = []
        for run in dict.fromkeys(row["run"] for row in curves if row["agent"] == label):
            ours = [row for row in curves if (row["agent"], row["run"]) == (label, run)]
            seeds.append(np.asarray(sorted((row[x], row[GOALS]) for row in ours)).T)
        for places, goals in seeds:
            axes.plot(places, goals, color=style.colour_of(label), linewidth=0.8, alpha=0.4)
        places, mean = mean_curve(seeds)
        shown = f"{label} ({len(seeds)} seeds)" if len(seeds) > 1 else label
        axes.plot(places, mean, color=style.colour_of(label), linewidth=2.0, label=shown)
        axes.plot(places[-1], mean[-1], "o", markersize=4, color=style.colour_of(label))
    top = max([value for _, value in references], default=0.0)
    axes.set_ylim(0, max(top * 1.06, 1))
    if x == "steps":
        axes.set_xlabel("environment steps (millions)")
        axes.xaxis.set_major_formatter(lambda value, place: f"{value / 1e6:g}")
    place: Any = axes.get_subplotspec()
    style.reference_lines(axes, references, least_gap=0.045 * top, named=place is None or place.is_last_col())


def mean_curve(curves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean of curves `[2, n]` at common places, as far as all of them go."""
    if len(curves) == 1:
        return curves[0][0], curves[0][1]
    first = max(curve[0, 0] for curve in curves)
    last = min(curve[0, -1] for curve in curves)
    if last <= first:  # they do not overlap: the longest stands for all
        longest = max(curves, key=lambda curve: curve[0, -1])
        return longest[0], longest[1]
    places = np.linspace(first, last, CURVE_POINTS)
    return places, np.mean([np.interp(places, *curve) for curve in curves], axis=0)
