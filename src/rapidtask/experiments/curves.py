"""Figures of training curves: agents while they learn, recipes, thinking time (paper, Figures 2b, 3c, 4a)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import MAIN_LABELS, Evaluations, in_order, is_main
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Row, Table
from rapidtask.experiments.logged_runs import LoggedRun
from rapidtask.experiments.tables import array, group_by, where
from rapidtask.runs.config import agent_name

CURVE_POINTS = 200
"""Places at which the mean of seeds is taken."""
BELIEVED_STEPS = 1e9
"""Order of magnitude of the paper's training; believed, not measured."""


@dataclass(frozen=True, kw_only=True)
class TrainingCurves(Figure[Evaluations]):
    """Goals on held-out worlds while training, against steps and against minutes."""

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
        rows = curve_rows(source, ("fast",))
        if not rows:
            raise NotAvailable("no run with evaluations in its log; name some with --runs")
        rows = [row for row in rows if self.variants or is_main(row["agent"])]
        if not rows:
            raise NotAvailable(f"no run of {', '.join(MAIN_LABELS)} with evaluations in its log")
        return rows + reference_rows(source, self.references)

    def plot(self, rows: Table) -> Drawing:
        groups = sorted({row["observations"] for row in rows if "observations" in row}, reverse=True)
        height = 0.5 + 3.2 * len(groups)
        options = {"sharey": True, "width_ratios": (1.15, 1), "squeeze": False}
        drawing, panels = style.subplots(8.6, height, len(groups), 2, **options)
        for (by_steps, by_minutes), group in zip(panels, groups, strict=True):
            ours = [row for row in rows if row.get("observations", group) == group]
            draw_curves(by_steps, ours, "steps", named=False)
            draw_curves(by_minutes, ours, "minutes")
            longest = max(row["steps"] for row in ours if "steps" in row)
            by_steps.set(xlim=(0, 1.02 * longest), ylabel="goals per episode")
            by_minutes.set(xlim=(0, None), xlabel="minutes of training")
            if len(groups) > 1:
                by_steps.set_title(group)
        style.shared_legend(drawing, ncols=5)
        return drawing


@dataclass(frozen=True, kw_only=True)
class Recipes(Figure[Evaluations]):
    """Training curves of the EPN with the paper's recipe and the fast one."""

    title: str = "EPN: recipe `paper` beside recipe `fast`"
    caption: str = (
        "The same agent's goals per episode on held-out worlds against environment steps (logarithmic). "
        "`paper`: V-trace and RMSprop, the paper's block; it was run for as long as the curve goes, which is "
        "far shorter than the paper's training is believed to have been (order 10⁹ steps, shaded; an "
        "estimate, the paper gives no number that we know of). `fast`: residual block, comparisons given, "
        "and Muon."
    )
    references: tuple[str, ...] = ("within-task", "hand-coded", "oracle")

    def table(self, source: Evaluations) -> Table:
        labels = ("EPN", "EPN, recipe paper")
        rows = [row for row in curve_rows(source, ("fast", "paper")) if row["agent"] in labels]
        if not where(rows, recipe="paper"):
            raise NotAvailable("no run of the EPN with recipe paper among --runs")
        return rows + reference_rows(source, self.references)

    def plot(self, rows: Table) -> Drawing:
        drawing, axes = style.subplots(6.8, 3.6)
        draw_curves(axes, rows, "steps")
        least = min(row["steps"] for row in rows if "steps" in row)
        axes.set(xscale="log", xlim=(0.8 * least, 3 * BELIEVED_STEPS))
        shade = {"color": style.COLOURS["EPN, recipe paper"], "alpha": 0.18, "lw": 0}
        axes.axvspan(BELIEVED_STEPS / 3, 3 * BELIEVED_STEPS, **shade)
        words = {"ha": "center", "va": "bottom", "fontsize": 7.5, "color": style.FAINT}
        axes.annotate("the paper's\ntraining\n(believed)", (BELIEVED_STEPS, 1.0), **words)
        for line in axes.get_lines():
            label = str(line.get_label())
            if label.startswith("EPN") and "recipe" not in label:
                line.set_label(label.replace("EPN", "EPN, recipe fast"))
        axes.set(xlabel="environment steps", ylabel="goals per episode")
        style.shared_legend(drawing, ncols=2)
        return drawing


@dataclass(frozen=True, kw_only=True)
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
        runs = [run for run in source.runs if self._counts(run)]
        if not runs:
            raise NotAvailable("no run of an EPN on streets with symbols among --runs")
        iterations = {run.folder.name: run.config.agent.iterations for run in runs}
        curves = group_by(curve_rows(source, ("fast",)), "run")
        curves = {
            run: [
                {"kind": "curve", "iterations": number, **row, "agent": f"EPN, {style.plural(number)}"}
                for row in curves[run]
            ]
            for run, number in iterations.items()
        }
        for rows in curves.values():
            yield from rows
        end = last_common_steps(runs)
        for rows in curves.values():
            before = [row for row in rows if row["steps"] <= end]
            # A run that was stopped earlier, or was first looked at later, has nothing to compare.
            if before and rows[-1]["steps"] >= end:
                yield {**before[-1], "kind": "end"}
        for row in reference_rows(source, self.references):
            yield {"kind": "reference", **row}

    def _counts(self, run: LoggedRun) -> bool:
        """Whether a run is one of the figure: only its thinking time tells it apart."""
        return (
            agent_name(run.config.agent) == "epn"
            and run.config.recipe == "fast"
            and run.observations == "symbols"
            and run.config.agent.recent_rows is None
            and run.config.agent.iterations in self.iterations
            and " intersections" not in run.label
            and bool(run.evaluations)
        )

    def plot(self, rows: Table) -> Drawing:
        drawing, (left, right) = style.subplots(8.6, 3.6, 1, 2, width_ratios=(1.7, 1))
        draw_curves(left, [row for row in rows if row["kind"] != "end"], "steps", named=False)
        left.set(xlim=(0, None), ylabel="goals per episode")
        ends = dict(sorted(group_by(where(rows, kind="end"), "iterations").items()))
        style.bars(
            right,
            [f"{number} ({style.plural(len(group), 'seed')})" for number, group in ends.items()],
            [array(group, GOALS).mean() for group in ends.values()],
            [spread(group) for group in ends.values()],
            colours=[style.colour_of(group[0]["agent"]) for group in ends.values()],
        )
        references = where(rows, kind="reference")
        style.reference_lines(right, references)
        for axes in (left, right):
            axes.set_ylim(0, 1.08 * max(array(references, GOALS), default=1.0))
        right.set(xlabel="iterations")
        style.shared_legend(drawing, ncols=3)
        return drawing


def last_common_steps(runs: list[LoggedRun]) -> int:
    """The most steps that some run of each number of iterations was evaluated at."""
    ends: dict[int, int] = {}
    for run in runs:
        iterations, steps = run.config.agent.iterations, run.evaluations[-1]["steps"]
        ends[iterations] = max(steps, ends.get(iterations, 0))
    return min(ends.values())


def spread(rows: Table) -> float:
    """Standard deviation over seeds; none of a single one."""
    return float(array(rows, GOALS).std(ddof=1)) if len(rows) > 1 else 0.0


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


def draw_curves(axes: Axes, rows: Table, x: str, *, named: bool = True) -> None:
    """Thin lines for seeds, a thick one for the mean of each agent, and the reference lines."""
    references = where(rows, recipe="reference")
    curves = group_by([row for row in rows if row["recipe"] != "reference"], "agent")
    for label in sorted(curves, key=in_order):
        runs = group_by(curves[label], "run").values()
        seeds = [np.asarray(sorted((row[x], row[GOALS]) for row in run)).T for run in runs]
        for places, goals in seeds:
            axes.plot(places, goals, color=style.colour_of(label), linewidth=0.8, alpha=0.4)
        places, mean = mean_curve(seeds)
        shown = f"{label} ({len(seeds)} seeds)" if len(seeds) > 1 else label
        axes.plot(places, mean, color=style.colour_of(label), linewidth=2.0, label=shown)
        axes.plot(places[-1], mean[-1], "o", markersize=4, color=style.colour_of(label))
    axes.set_ylim(0, max(1.06 * max(array(references, GOALS), default=0.0), 1))
    if x == "steps":
        axes.set_xlabel("environment steps (millions)")
        axes.xaxis.set_major_formatter(lambda value, place: f"{value / 1e6:g}")
    style.reference_lines(axes, references, named=named)


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
