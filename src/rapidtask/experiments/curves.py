"""Figures of training curves: agents while they learn, recipes, thinking time (paper, Figures 2b, 3c, 4a)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import MAIN_LABELS, Evaluations, in_order, is_main, is_plain_epn
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Row, Table
from rapidtask.experiments.tables import array, group_by, where

CURVE_POINTS = 200
"""Places at which the mean of seeds is taken."""
WHILE_TRAINING = (
    "while training, recipe `fast`, sampled actions: thin lines are seeds, thick lines their mean, a dot the "
    "end of the longest run. Left against environment steps, right against minutes on this machine, "
    "compilation left out. Dashed: reference policies."
)
"""What both experiments show of training."""
BELIEVED_STEPS = 1e9
"""Order of magnitude of the paper's training; believed, not measured."""


class TrainingCurves(Figure[Evaluations]):
    """Goals on held-out worlds while training, against steps and against minutes."""

    title: str = "Learning the Memory&Planning Game (paper, Figure 2b)"
    caption: str = (
        f"Goals per episode on held-out worlds {WHILE_TRAINING} The paper's agents trained for a number of "
        "steps believed to be of order 10⁹."
    )
    references: tuple[str, ...] = ("within-task", "edges", "edges-inverse", "hand-coded", "oracle")
    variants: bool = True
    """Whether variants of the agents are shown too."""

    def table(self, source: Evaluations) -> Table:
        rows = [row for row in curve_rows(source, ("fast",)) if self.variants or is_main(row["agent"])]
        if not rows:
            kinds = "" if self.variants else f" of {', '.join(MAIN_LABELS)}"
            raise NotAvailable(f"no run{kinds} with evaluations in its log; name some with --runs")
        return rows + reference_rows(source, self.references)

    def plot(self, rows: Table) -> Drawing:
        groups = sorted({row["observations"] for row in rows if "observations" in row}, reverse=True)
        size, options = (8.6, 0.5 + 3.2 * len(groups)), {"sharey": True, "width_ratios": (1.15, 1)}
        drawing, panels = style.subplots(*size, len(groups), 2, squeeze=False, **options)
        for (by_steps, by_minutes), group in zip(panels, groups, strict=True):
            ours = [row for row in rows if row.get("observations", group) == group]
            draw_curves(by_steps, ours, "steps", named=False)
            draw_curves(by_minutes, ours, "minutes")
            longest = max(row.get("steps", 0) for row in ours)
            by_steps.set(xlim=(0, 1.02 * longest), ylabel="goals per episode")
            by_minutes.set(xlim=(0, None), xlabel="minutes of training")
            if len(groups) > 1:
                by_steps.set_title(group)
        style.shared_legend(drawing, ncols=5)
        return drawing


class Recipes(Figure[Evaluations]):
    """Training curves of the EPN with the paper's recipe and the fast one."""

    title: str = "EPN: recipe `paper` beside recipe `fast`"
    caption: str = (
        "The same agent's goals per episode on held-out worlds against environment steps (logarithmic). "
        "`paper`: V-trace and RMSprop, the paper's block; it was run for as long as the curve goes, which is "
        "far shorter than the paper's training is believed to have been (order 10⁹ steps, shaded; an "
        "estimate, the paper gives no number that we know of); beside it the same with Muon in place of "
        "RMSprop. `fast`: places compared, another block, and Muon."
    )
    references: tuple[str, ...] = ("within-task", "hand-coded", "oracle")

    def table(self, source: Evaluations) -> Table:
        labels = ("EPN", "EPN, recipe paper", "EPN, recipe paper, Muon")
        rows = [row for row in curve_rows(source, ("fast", "paper")) if row["agent"] in labels]
        if not where(rows, recipe="paper"):
            raise NotAvailable("no run of the EPN with recipe paper among --runs")
        return rows + reference_rows(source, self.references)

    def plot(self, rows: Table) -> Drawing:
        drawing, axes = style.subplots(6.8, 3.6)
        draw_curves(axes, rows, "steps")
        least = min(row["steps"] for row in rows if "steps" in row)
        axes.set(xscale="log", xlim=(0.8 * least, 3 * BELIEVED_STEPS), xlabel="environment steps")
        shade = {"color": style.COLOURS["EPN, recipe paper"], "alpha": 0.18, "lw": 0}
        axes.axvspan(BELIEVED_STEPS / 3, 3 * BELIEVED_STEPS, **shade)
        words = {"ha": "center", "va": "bottom", "fontsize": 7.5, "color": style.FAINT}
        axes.annotate("the paper's\ntraining\n(believed)", (BELIEVED_STEPS, 1.0), **words)
        for line in axes.get_lines():
            line.set_label(re.sub("^EPN(?!, recipe)", "EPN, recipe fast", str(line.get_label())))
        axes.set_ylabel("goals per episode")
        style.shared_legend(drawing, ncols=2)
        return drawing


class ThinkingTime(Figure[Evaluations]):
    """Training curves of planners with more and fewer iterations, and what they end at."""

    title: str = "Planners trained with 1, 2 and 4 iterations (paper, Figure 4a)"
    caption: str = (
        "The EPN, symbols, recipe `fast`, trained on 5 intersections with as many planner iterations as its "
        "name says. Left: goals per episode in the held-out city while training; thin lines are seeds, thick "
        "lines their mean. Right: at the last number of steps that some run of each kind reached, so that "
        "none has trained longer; bars are means over seeds, whiskers their standard deviation."
    )
    iterations: tuple[int, ...] = (1, 2, 4)
    references: tuple[str, ...] = ("within-task", "edges", "edges-inverse", "oracle")

    def table(self, source: Evaluations) -> Iterator[Row]:
        runs = [run for run in source.runs if run.evaluations and is_plain_epn(run, "symbols")]
        iterations = {run.folder.name: run.config.agent.iterations for run in runs}
        iterations = {run: number for run, number in iterations.items() if number in self.iterations}
        if not iterations:
            raise NotAvailable("no run of an EPN on streets with symbols among --runs")
        curves = group_by(curve_rows(source, ("fast",)), "run")
        longest = dict.fromkeys(iterations.values(), 0)
        for run, number in iterations.items():
            about = {"kind": "curve", "iterations": number}
            curves[run] = [{**about, **row, "agent": f"EPN, {style.plural(number)}"} for row in curves[run]]
            longest[number] = max(longest[number], curves[run][-1]["steps"])
            yield from curves[run]
        end = min(longest.values())
        for rows in (curves[run] for run in iterations):
            before = [row for row in rows if row["steps"] <= end]
            # A run that was stopped earlier, or was first looked at later, has nothing to compare.
            if before and rows[-1]["steps"] >= end:
                yield {**before[-1], "kind": "end"}
        for row in reference_rows(source, self.references):
            yield {"kind": "reference", **row}

    def plot(self, rows: Table) -> Drawing:
        drawing, (left, right) = style.subplots(8.6, 3.6, 1, 2, width_ratios=(1.7, 1))
        draw_curves(left, [row for row in rows if row["kind"] != "end"], "steps", named=False)
        left.set(xlim=(0, None), ylabel="goals per episode")
        ends = dict(sorted(group_by(where(rows, kind="end"), "iterations").items()))
        style.bars(
            right,
            [f"{number} ({style.plural(len(end), 'seed')})" for number, end in ends.items()],
            [array(end, GOALS).mean() for end in ends.values()],
            [spread(end) for end in ends.values()],
            colours=[style.colour_of(end[0]["agent"]) for end in ends.values()],
        )
        references = where(rows, kind="reference")
        style.reference_lines(right, references)
        for axes in (left, right):
            axes.set_ylim(0, 1.08 * max(array(references, GOALS), default=1.0))
        right.set(xlabel="iterations")
        style.shared_legend(drawing, ncols=3)
        return drawing


def spread(rows: Table) -> float:
    """Standard deviation over seeds; none of a single one."""
    return float(array(rows, GOALS).std(ddof=1)) if len(rows) > 1 else 0.0


def curve_rows(source: Evaluations, recipes: Sequence[str]) -> Table:
    """Every evaluation that the runs logged in worlds of the size that agents are compared in."""
    side = getattr(source.world, "size", None)
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
        # Goals on grids of different sizes do not belong on one axis.
        if run.config.recipe in recipes and getattr(run.config.world, "size", None) == side
        for record in run.evaluations
    ]


def reference_rows(source: Evaluations, names: Sequence[str]) -> Table:
    """Goals per episode of reference policies."""
    about = {"recipe": "reference"}
    return [{"agent": name, **about, GOALS: source.scores(name).goals_per_episode} for name in names]


def draw_curves(axes: Axes, rows: Table, x: str, *, named: bool = True) -> None:
    """Thin lines for seeds, a thick one for the mean of each agent, and the reference lines."""
    references = where(rows, recipe="reference")
    curves = group_by([row for row in rows if row["recipe"] != "reference"], "agent")
    for label in sorted(curves, key=in_order):
        runs, colour = group_by(curves[label], "run").values(), style.colour_of(label)
        seeds = [np.asarray(sorted((row[x], row[GOALS]) for row in run)).T for run in runs]
        for places, goals in seeds:
            axes.plot(places, goals, color=colour, linewidth=0.8, alpha=0.4)
        places, mean = mean_curve(seeds)
        shown = f"{label} ({len(seeds)} seeds)" if len(seeds) > 1 else label
        axes.plot(places, mean, color=colour, linewidth=2.0, label=shown)
        axes.plot(places[-1], mean[-1], "o", markersize=4, color=colour)
    axes.set_ylim(0, max(1.06 * max(array(references, GOALS), default=0.0), 1))
    if x == "steps":
        axes.set_xlabel("environment steps (millions)")
        axes.xaxis.set_major_formatter(lambda value, place: f"{value / 1e6:g}")
    style.reference_lines(axes, references, named=named)


def mean_curve(curves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean of curves `[2, n]` at common places, as far as all of them go."""
    first, last = max(curve[0, 0] for curve in curves), min(curve[0, -1] for curve in curves)
    if len(curves) == 1 or last <= first:  # they do not overlap: the longest stands for all
        places, mean = max(curves, key=lambda curve: curve[0, -1])
        return places, mean
    places = np.linspace(first, last, CURVE_POINTS)
    return places, np.mean([np.interp(places, *curve) for curve in curves], axis=0)
