"""Longer lives than trained for: does the EPN stay at the oracle, and is the cost of a step flat?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rapidtask.evaluation.scores import mean_and_stderr, ratio_and_stderr
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Figure, Table
from rapidtask.experiments.timing import time_episodes


@dataclass(frozen=True, kw_only=True)
class LongerLives(Figure[Evaluations]):
    """Goals along long episodes, and the cost of a step against their length."""

    name: str = "longer_lives"
    title: str = "Beyond the paper: longer lives"
    caption: str = (
        "The EPN, trained in episodes of 100 steps, in episodes of up to 6,400. Left: goals in each 100 "
        "steps of the longest episodes, and the oracle's in the same worlds. Right: processor milliseconds "
        "per step and environment over whole episodes, batch of 16, with one row per different transition "
        "(unique) and with one row per step (all)."
    )
    lengths: tuple[int, ...] = (100, 400, 1600, 6400)
    lengths_all: tuple[int, ...] = (100, 400)
    """Lengths that the memory of every step is timed with: its cost grows with the square."""
    episodes: int = 16
    window: int = 100

    def table(self, source: Evaluations) -> Table:
        """Per length, goals against the oracle and the cost of a step; windows of the longest."""
        label = source.epn().label
        episodes = min(self.episodes, source.episodes)
        rows: Table = []
        for memory, lengths in (("unique", self.lengths), ("all", self.lengths_all)):
            for length in lengths:
                source.say(f"{label}: {episodes} episodes of {length} steps, memory {memory}")
                world = replace(source.world, episode_steps=length)
                goals, cost = time_episodes(source, label, world, episodes, memory=memory)
                oracle = source.completed("oracle", world, episodes)
                rows.append(self._row("life", memory, length, length, goals, oracle) | cost)
                if memory == "unique" and length == lengths[-1]:
                    for end in range(self.window, length + self.window, self.window):
                        part = slice(end - self.window, end)
                        rows.append(self._row("window", memory, length, end, goals[part], oracle[part]))
        return rows

    def _row(
        self, kind: str, memory: str, length: int, end: int, goals: np.ndarray, oracle: np.ndarray
    ) -> dict:
        per_window = self.window / len(goals)
        mean, stderr = mean_and_stderr(goals.sum(axis=0) * per_window)
        share, share_stderr = ratio_and_stderr(goals.sum(axis=0), oracle.sum(axis=0))
        return {
            "kind": kind,
            "memory": memory,
            "episode_steps": length,
            "until_step": end,
            "goals_per_100_steps": mean,
            "goals_per_100_steps_stderr": stderr,
            "oracle_per_100_steps": float(oracle.sum(axis=0).mean() * per_window),
            "oracle_share": share,
            "oracle_share_stderr": share_stderr,
            "episodes": goals.shape[1],
        }

    def plot(self, rows: Table) -> Drawing:
        """Goals along the longest lives, and cost against length."""
        lengths = sorted({row["episode_steps"] for row in rows})
        drawing = style.new_figure(7.6, 3.3)
        left, right = drawing.subplots(1, 2)
        windows = [row for row in rows if row["kind"] == "window"]
        column = lambda name: np.asarray([row[name] for row in windows])  # noqa: E731
        x, y, error = (
            column(name) for name in ("until_step", "goals_per_100_steps", "goals_per_100_steps_stderr")
        )
        left.plot(x, column("oracle_per_100_steps"), **style.line_style("oracle"), label="oracle")
        left.plot(x, y, **style.line_style("EPN"), label="EPN")
        left.fill_between(x, y - 2 * error, y + 2 * error, color=style.colour_of("EPN"), alpha=0.15, lw=0)
        left.set(xlabel="step of the episode", ylabel="goals in 100 steps")
        left.axvline(lengths[0], color=style.FAINT, lw=0.8, ls=":")
        left.text(lengths[0] * 1.08, 0.5, "trained\nup to here", fontsize=7.5, color=style.FAINT)
        left.legend(loc="center right")
        for memory, colour in (("unique", style.colour_of("EPN")), ("all", "#1e3a8a")):
            lives = [row for row in rows if row["kind"] == "life" and row["memory"] == memory]
            places = [row["episode_steps"] for row in lives]
            times = [row["processor_ms_per_step"] for row in lives]
            right.plot(places, times, "o-", color=colour, lw=2, markersize=4, label=f"memory: {memory}")
        right.set(xlabel="steps per episode", ylabel="processor ms per step")
        right.legend()
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_ylim(bottom=0)
            axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
            axes.minorticks_off()
            style.quiet(axes)
        return drawing
