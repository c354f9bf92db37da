"""Agents and reference policies side by side: goals, share of the oracle, steps to the n-th goal."""

from __future__ import annotations

from dataclasses import dataclass

from rapidtask.evaluation import Scores
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations, columns
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, Table
from rapidtask.policies import POLICIES

MOST_GOALS = 25
"""Goals whose steps are shown: later ones are alike."""


@dataclass(frozen=True, kw_only=True)
class OracleShare(Figure[Evaluations]):
    """How much of the oracle's score agents reach once they know the world (paper, Figures 2c and 3d)."""

    name: str = "oracle_share"
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

    def table(self, source: Evaluations) -> Table:
        """Scores of trained agents, sampled and greedy, and of reference policies."""
        rows: Table = []
        for label in source.agents if self.variants else source.main_agents:
            for actions in ("sampled", "greedy") if self.greedy else ("sampled",):
                rows.append(_score_row(source, label, actions, greedy=actions == "greedy"))
        return rows + [_score_row(source, name, "reference") for name in self.references]

    def plot(self, rows: Table) -> Drawing:
        """Goals above, share of the oracle below."""
        drawing = style.new_figure(7.4, 5.0)
        above, below = drawing.subplots(2, 1, sharex=True)
        shown = [row for row in rows if row["actions"] != "greedy"]
        labels = [row["agent"] for row in shown]
        for axes, column, factor, form in ((above, GOALS, 1.0, "{:.1f}"), (below, SHARE, 100.0, "{:.0f}%")):
            values = [row[column] * factor for row in shown]
            style.bars(axes, labels, values, [row[f"{column}_stderr"] * factor for row in shown], form=form)
            for row in rows:
                if row["actions"] == "greedy":
                    colour = style.colour_of(row["agent"])
                    # At the edge of the bar: its middle is the number's.
                    place = labels.index(row["agent"]) + 0.3
                    axes.plot(place, row[column] * factor, "o", ms=5, color="white", markeredgecolor=colour)
            axes.tick_params(axis="x", labelsize=7)
        above.set(ylabel="goals per episode", ylim=(0, 1.12 * max(row[GOALS] for row in rows)))
        below.set(ylabel="of the oracle, last third (%)", ylim=(0, 112))
        return drawing


def _score_row(source: Evaluations, label: str, actions: str, **options) -> dict:
    scores, trained = source.scores(label, **options), source.find(label)
    return {
        "agent": label,
        "observations": "" if trained is None else trained.observations,
        "actions": actions,
        **columns(scores, f"{GOALS}±", "goals_last_third±", f"{SHARE}±", "episodes", "seed"),
    }


@dataclass(frozen=True, kw_only=True)
class StepsToGoal(Figure[Evaluations]):
    """Steps to the n-th goal, against the hand-coded agent and the oracle (paper, Figures 2e and 3e)."""

    name: str = "steps_to_goal"
    title: str = "Steps to the n-th goal (paper, Figure 2e)"
    caption: str = (
        "Mean steps from one goal to the next, over the episodes that got so far; a line ends where fewer "
        "than nine of ten did. Shading is two standard errors."
    )
    references: tuple[str, ...] = ("within-task", "hand-coded", "oracle")

    def table(self, source: Evaluations) -> Table:
        """Steps to each goal of the main agents and of reference policies."""
        labels = (*source.main_agents, *self.references)
        return [row for label in labels for row in steps_rows(source.scores(label))]

    def plot(self, rows: Table) -> Drawing:
        """One line per agent."""
        drawing = style.new_figure(6.6, 3.6)
        axes = drawing.subplots()
        style.quiet(axes)
        for label in dict.fromkeys(row["agent"] for row in rows):
            points = [row for row in rows if row["agent"] == label and row["goal"] <= MOST_GOALS]
            x, y = [row["goal"] for row in points], [row["steps"] for row in points]
            marker = "" if label in POLICIES else "o"
            axes.plot(
                x, y, **style.line_style(label), marker=marker, markersize=3, label=style.name_of(label)
            )
            low, high = ([r["steps"] + sign * 2 * r["steps_stderr"] for r in points] for sign in (-1, 1))
            axes.fill_between(x, low, high, color=style.colour_of(label), alpha=0.15, linewidth=0)
        axes.set(xlabel="n-th goal of the episode", ylabel="steps to reach it", xlim=(0.5, MOST_GOALS + 0.5))
        axes.set_ylim(bottom=0)
        axes.set_xticks([1, 5, 10, 15, 20, 25])
        axes.legend(ncols=2)
        return drawing


def steps_rows(scores: Scores) -> Table:
    """Steps to each goal of one agent."""
    pairs = zip(scores.steps_to_nth_goal, scores.steps_to_nth_goal_stderr, strict=True)
    return [
        {"agent": scores.policy, "goal": n, "steps": steps, "steps_stderr": stderr}
        for n, (steps, stderr) in enumerate(pairs, start=1)
    ]
