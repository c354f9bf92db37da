"""Scores for people: a table on the terminal and a plot in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from rapidtask.evaluation.scores import Scores

NUM_GOALS_IN_TABLE = 4


def make_table(title: str, headings: Sequence[str], caption: str) -> Table:
    """A table of names and, to the right, their numbers; without lines, to fit a terminal of 80 columns."""
    table = Table(title=title, caption=caption, box=None, padding=(0, 2, 0, 0))
    table.title_justify = table.caption_justify = "left"
    for column, heading in enumerate(headings):
        table.add_column(heading, justify="right" if column else "left", no_wrap=True)
    return table


def scores_table(all_scores: Sequence[Scores], title: str) -> Table:
    """One row per policy."""
    headings = ("policy", "goals", "last third", "of oracle", "steps to goal 1, 2…")
    table = make_table(title, headings, "per episode, mean ± standard error")
    for scores in all_scores:
        steps = " ".join(f"{mean:.1f}" for mean in scores.steps_to_nth_goal[:NUM_GOALS_IN_TABLE])
        table.add_row(
            scores.policy,
            f"{scores.goals_per_episode:.2f} ± {scores.goals_per_episode_stderr:.2f}",
            f"{scores.goals_last_third:.2f} ± {scores.goals_last_third_stderr:.2f}",
            f"{scores.oracle_share_last_third:.1%} ± {scores.oracle_share_last_third_stderr:.1%}",
            steps or "–",
        )
    return table


def plot_steps_to_nth_goal(all_scores: Sequence[Scores], path: Path, title: str) -> None:
    """Draw steps to the n-th goal, one line per policy (paper, Figure 2e)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for scores in all_scores:
        if not scores.steps_to_nth_goal:
            continue
        n = range(1, len(scores.steps_to_nth_goal) + 1)
        axes.errorbar(
            n,
            scores.steps_to_nth_goal,
            scores.steps_to_nth_goal_stderr,
            marker="o",
            markersize=3,
            label=f"{scores.policy} ({scores.goals_per_episode:.1f} goals)",
        )
    axes.set(xlabel="n-th goal of the episode", ylabel="steps to reach it", title=title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
