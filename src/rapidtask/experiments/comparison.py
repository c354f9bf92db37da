"""Agents and reference policies side by side: goals, share of the oracle, steps to the n-th goal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from rapidtask.evaluation import Scores
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations, columns
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, Row, Table
from rapidtask.experiments.tables import array, group_by, where

MOST_GOALS = 25
"""Goals whose steps are shown: later ones are alike."""


class OracleShare(Figure[Evaluations]):
    """How much of the oracle's score agents reach once they know the world (paper, Figures 2c and 3d)."""

    title: str = "Goals per episode, and share of the oracle in the last third (paper, Figure 2c)"
    caption: str = (
        "Trained agents and reference policies in the same worlds never seen; bars are means, whiskers "
        "standard errors. Trained agents draw their actions; a dot marks the same agent with greedy actions."
    )
    references: tuple[str, ...] = ("within-task", "edges-inverse", "hand-coded", "oracle")
    variants: bool = True
    """Whether variants of the agents are shown too."""
    greedy: bool = True
    """Whether trained agents are scored with greedy actions too."""

    def table(self, source: Evaluations) -> Iterator[Row]:
        agents = source.agents if self.variants else source.main_agents
        scored = [*product(agents, ("sampled", "greedy") if self.greedy else ("sampled",))]
        for label, actions in (*scored, *((name, "reference") for name in self.references)):
            options = {"greedy": True} if actions == "greedy" else {}
            scores, trained = source.scores(label, **options), source.find(label)
            yield {
                "agent": label,
                "observations": "" if trained is None else trained.observations,
                "actions": actions,
                **columns(scores, f"{GOALS}±", "goals_last_third±", f"{SHARE}±", "episodes", "seed"),
            }

    def plot(self, rows: Table) -> Drawing:
        drawing, (above, below) = style.subplots(7.4, 5.0, 2, 1, sharex=True)
        shown = [row for row in rows if row["actions"] != "greedy"]
        labels = [row["agent"] for row in shown]
        for axes, column, factor, form in ((above, GOALS, 1.0, "{:.1f}"), (below, SHARE, 100.0, "{:.0f}%")):
            heights, errors = factor * array(shown, column), factor * array(shown, f"{column}_stderr")
            style.bars(axes, labels, heights.tolist(), errors.tolist(), form=form)
            for row in where(rows, actions="greedy"):
                # At the edge of the bar: its middle is the number's.
                place = (labels.index(row["agent"]) + 0.3, factor * row[column])
                axes.plot(*place, "o", ms=5, color="white", mec=style.colour_of(row["agent"]))
            axes.tick_params(axis="x", labelsize=7)
        above.set(ylabel="goals per episode", ylim=(0, 1.12 * max(array(rows, GOALS))))
        below.set(ylabel="of the oracle, last third (%)", ylim=(0, 112))
        return drawing


class StepsToGoal(Figure[Evaluations]):
    """Steps to the n-th goal, against the hand-coded agent and the oracle (paper, Figures 2e and 3e)."""

    title: str = "Steps to the n-th goal (paper, Figure 2e)"
    caption: str = (
        "Mean steps from one goal to the next, over the episodes that got so far; a line ends where fewer "
        "than nine of ten did. Shading is two standard errors."
    )
    references: tuple[str, ...] = ("within-task", "hand-coded", "oracle")

    def table(self, source: Evaluations) -> Table:
        labels = (*source.main_agents, *self.references)
        return [row for label in labels for row in steps_rows(source.scores(label))]

    def plot(self, rows: Table) -> Drawing:
        drawing, axes = style.subplots(6.6, 3.6)
        for label, points in group_by([row for row in rows if row["goal"] <= MOST_GOALS], "agent").items():
            look = style.line_style(label, marker="o", markersize=3) | {"label": style.name_of(label)}
            style.draw_band(axes, points, "goal", "steps", **look)
        axes.set(xlabel="n-th goal of the episode", ylabel="steps to reach it", xlim=(0.5, MOST_GOALS + 0.5))
        axes.set(ylim=(0, None), xticks=[1, 5, 10, 15, 20, 25])
        axes.legend(ncols=2)
        return drawing


def steps_rows(scores: Scores) -> Table:
    """Steps to each goal of one agent."""
    steps = zip(scores.steps_to_nth_goal, scores.steps_to_nth_goal_stderr, strict=True)
    found = [{"steps": mean, "steps_stderr": stderr} for mean, stderr in steps]
    return [{"agent": scores.policy, "goal": n, **row} for n, row in enumerate(found, start=1)]
