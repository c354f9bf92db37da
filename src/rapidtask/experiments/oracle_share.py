"""How much of the oracle's score agents reach once they know the world (paper, Figure 2c)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, Rows
from rapidtask.experiments.style import bars, colour_of, new_figure

NAME = "oracle_share"
TITLE = "Goals per episode, and share of the oracle in the last third (paper, Figure 2c)"
CAPTION = (
    "Trained agents and reference policies in the same worlds never seen; bars are means, whiskers "
    "standard errors. Trained agents draw their actions; a dot marks the same agent with greedy actions."
)
REFERENCES = ("within-task", "edges-inverse", "hand-coded", "oracle")


def table(material: Material) -> Rows:
    """Scores of every trained agent, sampled and greedy, and of reference policies."""
    return score_table(material, list(material.contenders))


def main_table(material: Material) -> Rows:
    """The same without variants of the agents, which have figures of their own."""
    return score_table(material, material.main_contenders)


def score_table(material: Material, labels: Sequence[str]) -> Rows:
    """Scores of these agents and of reference policies."""
    rows: Rows = []
    for label in labels:
        for actions in ("sampled", "greedy") if material.score_greedy else ("sampled",):
            rows.append(score_row(material, label, actions, greedy=actions == "greedy"))
    return rows + [score_row(material, name, "reference") for name in material.references(REFERENCES)]


def score_row(material: Material, label: str, actions: str, **options) -> dict:
    """One agent's scores."""
    scores = material.scores(label, **options)
    contender = material.find(label)
    return {
        "agent": label,
        "observations": "" if contender is None else contender.observations,
        "actions": actions,
        "goals_per_episode": scores.goals_per_episode,
        "goals_per_episode_stderr": scores.goals_per_episode_stderr,
        "goals_last_third": scores.goals_last_third,
        "goals_last_third_stderr": scores.goals_last_third_stderr,
        "oracle_share_last_third": scores.oracle_share_last_third,
        "oracle_share_last_third_stderr": scores.oracle_share_last_third_stderr,
        "episodes": scores.episodes,
        "seed": scores.seed,
    }


def plot(rows: Rows) -> Figure:
    """Goals on the left, share of the oracle on the right."""
    figure = new_figure(7.4, 5.0)
    above, below = figure.subplots(2, 1, sharex=True)
    shown = [row for row in rows if row["actions"] != "greedy"]
    labels = [row["agent"] for row in shown]
    panels = (
        (above, "goals_per_episode", 1.0, "{:.1f}"),
        (below, "oracle_share_last_third", 100.0, "{:.0f}%"),
    )
    for axes, column, factor, form in panels:
        values = [row[column] * factor for row in shown]
        bars(axes, labels, values, [row[f"{column}_stderr"] * factor for row in shown], form=form)
        for row in rows:
            if row["actions"] == "greedy":
                colour = colour_of(row["agent"])
                # At the edge of the bar: its middle is the number's.
                place = labels.index(row["agent"]) + 0.3
                axes.plot(place, row[column] * factor, "o", ms=5, color="white", markeredgecolor=colour)
        axes.tick_params(axis="x", labelsize=7)
    above.set(ylabel="goals per episode", ylim=(0, 1.12 * max(row["goals_per_episode"] for row in rows)))
    below.set(ylabel="of the oracle, last third (%)", ylim=(0, 112))
    return figure
