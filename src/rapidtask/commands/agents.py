"""`rapidtask agents`: the trained agents that come with the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from rapidtask.evaluation.report import make_table, print_table
from rapidtask.pretrained import Card, list_pretrained


@dataclass(frozen=True, kw_only=True)
class Agents:
    """List the pretrained agents: how they were trained and what they score."""

    def run(self) -> None:
        print_table(pretrained_table(list_pretrained()))


def pretrained_table(cards: Sequence[Card]) -> Table:
    """The shipped agents: how they were trained and what they score with sampled actions."""
    table = make_table(
        "pretrained agents: load_pretrained(NAME), rapidtask evaluate --pretrained NAME",
        ("name", "recipe", "parameters", "steps", "minutes", "goals", "of oracle"),
        "scores in worlds never seen, sampled actions",
    )
    for card in cards:
        scores = card.scores.get("sampled", {})
        goals, share = scores.get("goals_per_episode"), scores.get("oracle_share_last_third")
        shown = ("–" if goals is None else f"{goals:.2f}", "–" if share is None else f"{share:.1%}")
        trained = (f"{card.parameters:,}", f"{card.steps:,}", f"{card.minutes:.0f}")
        table.add_row(card.name, card.recipe, *trained, *shown)
    return table
