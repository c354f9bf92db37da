"""Scores for people: tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from rapidtask.evaluation.scores import Scores

NUM_GOALS_IN_TABLE = 4


def make_table(title: str, headings: Sequence[str], caption: str) -> Table:
    """A table of names and, to the right, their numbers."""
    table = Table(title=title, caption=caption, box=None, padding=(0, 2, 0, 0))
    table.title_justify = table.caption_justify = "left"
    for column, heading in enumerate(headings):
        table.add_column(heading, justify="right" if column else "left", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """Print a table as wide as it is: no number is ever cut, whatever reads it."""
    unbounded = Console(width=10_000)
    needed = Measurement.get(unbounded, unbounded.options, table).maximum
    Console(width=max(needed, Console().width)).print(table)


def scores_table(all_scores: Sequence[Scores], title: str) -> Table:
    """One row per policy."""
    headings = ("policy", "goals", "last third", "of oracle", "steps to goal 1, 2…")
    sources = [f"{name} ({checksum})" for name, checksum in all_scores[0].sources.items()]
    caption = "per episode, mean ± standard error" + (f"\nworlds of {', '.join(sources)}" if sources else "")
    table = make_table(title, headings, caption)
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
