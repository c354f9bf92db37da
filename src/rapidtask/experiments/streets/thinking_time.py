"""Planners trained with more and fewer iterations: what thinking time buys (paper, Figure 4a)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rapidtask.experiments import style
from rapidtask.experiments.curves import curve_rows, draw_curves, reference_rows
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import GOALS, Drawing, Figure, NotAvailable, Table
from rapidtask.experiments.logged_runs import LoggedRun
from rapidtask.runs.config import agent_name


@dataclass(frozen=True, kw_only=True)
class ThinkingTime(Figure[Evaluations]):
    """Training curves of planners, and what they end at."""

    name: str = "thinking_time"
    title: str = "Planners trained with 1, 2 and 4 iterations (paper, Figure 4a)"
    caption: str = (
        "The EPN, symbols, recipe `fast`, trained on 5 intersections with as many planner iterations as its "
        "name says. Left: goals per episode in the held-out city while training; thin lines are seeds, thick "
        "lines their mean. Right: at the last number of steps that some run of each kind reached, so that "
        "none has trained longer; bars are means over seeds, whiskers their standard deviation."
    )
    iterations: tuple[int, ...] = (1, 2, 4)
    references: tuple[str, ...] = ("within-task", "edges", "edges-inverse", "oracle")

    def table(self, source: Evaluations) -> Table:
        """Evaluations that the runs logged, with the end of each; and reference policies."""
        runs = [run for run in source.runs if self._counts(run)]
        if not runs:
            raise NotAvailable("no run of an EPN on streets with symbols among --runs")
        iterations = {run.folder.name: run.config.agent.iterations for run in runs}
        end = last_common_steps(runs)
        rows: Table = []
        for row in curve_rows(source, ("fast",)):
            if row["run"] in iterations:
                number = iterations[row["run"]]
                rows.append(
                    {"kind": "curve", "iterations": number, **row, "agent": f"EPN, {style.plural(number)}"}
                )
        for name in iterations:
            ours = [row for row in rows if row["kind"] == "curve" and row["run"] == name]
            before = [row for row in ours if row["steps"] <= end]
            # A run that was stopped earlier, or was first looked at later, has nothing to compare.
            if before and ours[-1]["steps"] >= end:
                rows.append({**before[-1], "kind": "end"})
        return rows + [{"kind": "reference", **row} for row in reference_rows(source, self.references)]

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
        """Curves, and what they end at."""
        drawing = style.new_figure(8.6, 3.6)
        left, right = drawing.subplots(1, 2, width_ratios=(1.7, 1))
        draw_curves(left, [row for row in rows if row["kind"] == "curve"], "steps")
        left.set_ylabel("goals per episode")
        left.set_xlim(left=0)
        ends = [row for row in rows if row["kind"] == "end"]
        numbers = sorted({row["iterations"] for row in ends})
        groups = [[row for row in ends if row["iterations"] == number] for number in numbers]
        style.bars(
            right,
            [f"{n} ({len(g)} seed{'s' if len(g) > 1 else ''})" for n, g in zip(numbers, groups, strict=True)],
            [float(np.mean([row[GOALS] for row in group])) for group in groups],
            [spread(group) for group in groups],
            colours=[style.colour_of(group[0]["agent"]) for group in groups],
        )
        references = [(row["agent"], row[GOALS]) for row in rows if row["kind"] == "reference"]
        top = max((value for _, value in references), default=1.0)
        style.reference_lines(left, references, named=False)
        style.reference_lines(right, references, least_gap=0.05 * top)
        for axes in (left, right):
            axes.set_ylim(0, 1.08 * top)
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
    return float(np.std([row[GOALS] for row in rows], ddof=1)) if len(rows) > 1 else 0.0
