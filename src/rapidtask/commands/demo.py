"""`rapidtask demo`: the reference policies on worlds never seen, as a table and a plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from rapidtask.commands.evaluate import Evaluate


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Show the Memory&Planning Game: every reference policy, from random to oracle, in one table."""

    out: Path = Path("demo")
    """Folder for the plot."""
    episodes: int = 2000
    """Episodes per policy."""
    seed: int = 0
    """Seed of the worlds."""

    def run(self) -> None:
        """Evaluate all policies, print the table, write the plot."""
        plot = self.out / "steps_to_nth_goal.png"
        Evaluate(policy="all", episodes=self.episodes, seed=self.seed, plot=plot).run()
        Console().print(f"Plot of steps to the n-th goal: {plot}", soft_wrap=True)
