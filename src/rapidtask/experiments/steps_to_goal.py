"""Steps to the n-th goal, against the hand-coded agent and the oracle (paper, Figure 2e)."""

from __future__ import annotations

from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, Rows
from rapidtask.experiments.style import colour_of, name_of, new_figure, quiet
from rapidtask.policies import POLICIES

NAME = "steps_to_goal"
TITLE = "Steps to the n-th goal (paper, Figure 2e)"
CAPTION = (
    "Mean steps from one goal to the next, over the episodes that got so far; a line ends where fewer "
    "than nine of ten did. Shading is two standard errors."
)
REFERENCES = ("within-task", "hand-coded", "oracle")
MOST_GOALS = 25
"""Goals shown: later ones are alike."""


def table(material: Material) -> Rows:
    """Steps to each goal of every trained agent and of reference policies."""
    rows: Rows = []
    for label in (*material.main_contenders, *material.references(REFERENCES)):
        scores = material.scores(label)
        pairs = zip(scores.steps_to_nth_goal, scores.steps_to_nth_goal_stderr, strict=True)
        rows += [
            {"agent": label, "goal": n, "steps": steps, "steps_stderr": stderr}
            for n, (steps, stderr) in enumerate(pairs, start=1)
        ]
    return rows


def plot(rows: Rows) -> Figure:
    """One line per agent."""
    figure = new_figure(6.6, 3.6)
    axes = figure.subplots()
    quiet(axes)
    for label in dict.fromkeys(row["agent"] for row in rows):
        points = [row for row in rows if row["agent"] == label and row["goal"] <= MOST_GOALS]
        reference = label in POLICIES
        x, y = [row["goal"] for row in points], [row["steps"] for row in points]
        axes.plot(
            x,
            y,
            color=colour_of(label),
            linewidth=1.2 if reference else 2.0,
            linestyle=(0, (4, 2)) if reference else "-",
            marker="" if reference else "o",
            markersize=3,
            label=name_of(label),
        )
        low, high = ([r["steps"] + sign * 2 * r["steps_stderr"] for r in points] for sign in (-1, 1))
        axes.fill_between(x, low, high, color=colour_of(label), alpha=0.15, linewidth=0)
    axes.set(xlabel="n-th goal of the episode", ylabel="steps to reach it", xlim=(0.5, MOST_GOALS + 0.5))
    axes.set_ylim(bottom=0)
    axes.set_xticks([1, 5, 10, 15, 20, 25])
    axes.legend(ncols=2)
    return figure
