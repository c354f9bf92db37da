"""Planners trained with more and fewer iterations: what thinking time buys (paper, Figure 4a)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, NotAvailable, Rows
from rapidtask.experiments.runs import LoggedRun, thinks_at_random
from rapidtask.experiments.street_scores import count_iterations, summary
from rapidtask.experiments.style import bars, colour_of, new_figure, reference_lines
from rapidtask.experiments.training_curves import curve_rows, draw_curves, reference_rows
from rapidtask.learning.run_config import agent_name

NAME = "thinking_time"
TITLE = "Planners trained with 1, 2 and 4 iterations (paper, Figure 4a)"
CAPTION = (
    "The EPN, symbols, recipe `fast`, trained on 5 intersections with as many planner iterations as its name "
    "says. Left: goals per episode in the held-out city while training; thin lines are seeds, thick lines "
    "their mean. Right: at the last number of steps that some run of each kind reached, so that none has "
    "trained longer; bars are means over seeds, whiskers their standard deviation."
)
ITERATIONS = (1, 2, 4)
REFERENCES = ("within-task", "edges", "edges-inverse", "oracle")


def table(material: Material) -> Rows:
    """Evaluations that the runs logged, with the end of each; and reference policies."""
    runs = [run for run in material.runs if counts(run)]
    if not runs:
        raise NotAvailable("no run of an EPN on streets with symbols among --runs")
    iterations = {run.folder.name: run.config.agent.iterations for run in runs}
    end = last_common_steps(runs)
    rows: Rows = []
    for row in curve_rows(material, ("fast",)):
        if row["run"] in iterations:
            number = iterations[row["run"]]
            rows.append({"kind": "curve", "iterations": number, **row, "agent": count_iterations(number)})
    for name in iterations:
        ours = [row for row in rows if row["kind"] == "curve" and row["run"] == name]
        before = [row for row in ours if row["steps"] <= end]
        # A run that was stopped earlier, or was first looked at later, has nothing to compare.
        if before and ours[-1]["steps"] >= end:
            rows.append({**before[-1], "kind": "end"})
    return rows + [{"kind": "reference", **row} for row in reference_rows(material, REFERENCES)]


def counts(run: LoggedRun) -> bool:
    """Whether a run is one of the figure: only its thinking time tells it apart."""
    return (
        agent_name(run.config.agent) == "epn"
        and run.config.recipe == "fast"
        and run.observations == "symbols"
        and run.config.agent.attention == "all_to_all"
        and run.config.agent.iterations in ITERATIONS
        and not thinks_at_random(run.config)
        and " intersections" not in run.label
        and bool(run.evaluations)
    )


def last_common_steps(runs: list[LoggedRun]) -> int:
    """The most steps that some run of each number of iterations was evaluated at."""
    ends: dict[int, int] = {}
    for run in runs:
        iterations, steps = run.config.agent.iterations, run.evaluations[-1]["steps"]
        ends[iterations] = max(steps, ends.get(iterations, 0))
    return min(ends.values())


def plot(rows: Rows) -> Figure:
    """Curves, and what they end at."""
    figure = new_figure(8.6, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=(1.7, 1))
    draw_curves(left, [row for row in rows if row["kind"] == "curve"], "steps")
    left.set(xlabel="environment steps (millions)", ylabel="goals per episode")
    left.xaxis.set_major_formatter(lambda value, place: f"{value / 1e6:g}")
    left.set_xlim(left=0)
    references = {row["agent"]: row["goals_per_episode"] for row in rows if row["kind"] == "reference"}
    top = max(references.values(), default=1.0)
    ends = [row for row in rows if row["kind"] == "end"]
    numbers = sorted({row["iterations"] for row in ends})
    groups = [[row for row in ends if row["iterations"] == number] for number in numbers]
    means = [summary(group, "goals_per_episode")[0] for group in groups]
    labels = [
        f"{number} ({len(group)}" + (" seeds)" if len(group) > 1 else " seed)")
        for number, group in zip(numbers, groups, strict=True)
    ]
    bars(
        right,
        labels,
        means,
        [spread(group) for group in groups],
        colours=[colour_of(group[0]["agent"]) for group in groups],
    )
    for name, value in references.items():
        left.axhline(value, color=colour_of(name), linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    reference_lines(right, list(references.items()), least_gap=0.05 * top)
    for axes in (left, right):
        axes.set_ylim(0, 1.08 * top)
    right.set(xlabel="iterations")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def spread(rows: Rows) -> float:
    """Standard deviation over seeds; none of a single one."""
    return float(np.std([row["goals_per_episode"] for row in rows], ddof=1)) if len(rows) > 1 else 0.0
