"""What steps cost: in longer lives than trained for, and with more and fewer rows to plan over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rapidtask.evaluation.scores import mean_and_stderr, ratio_and_stderr
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations, columns
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Row, Table
from rapidtask.experiments.tables import array, values, where

LIVES = (
    "Left: goals in each 100 steps of the longest episodes, and the oracle's in the same worlds. Right: "
    "processor milliseconds per step and environment over whole episodes, batch of 16, with one row per "
    "different transition (unique) and with one row per step (all)."
)
"""What both experiments show of longer lives."""
SHADES = ("#2563eb", "#60a5fa", "#1e3a8a", "#6366f1")
COST = "processor_ms_per_step"


class LongerLives(Figure[Evaluations]):
    """Goals along long episodes (does the EPN stay at the oracle?), and the cost of a step (is it flat?)."""

    title: str = "Beyond the paper: longer lives"
    caption: str = f"The EPN, trained in episodes of 100 steps, in episodes of up to 6,400. {LIVES}"
    lengths: tuple[int, ...] = (100, 400, 1600, 6400)
    lengths_all: tuple[int, ...] = (100, 400)
    """Lengths that the memory of every step is timed with: its cost grows with the square."""
    episodes: int = 16
    window: int = 100

    def table(self, source: Evaluations) -> Iterator[Row]:
        label = source.epn().label
        episodes = min(self.episodes, source.episodes)
        # Values are of places and moves, whatever the number of times that they were experienced.
        lengths_all = self.lengths_all[: 0 if source.epn().config.agent.value_channels else None]
        for memory, lengths in (("unique", self.lengths), ("all", lengths_all)):
            for length in lengths:
                source.say(f"{label}: {episodes} episodes of {length} steps, memory {memory}")
                world = replace(source.world, episode_steps=length)
                goals, cost = source.time_episodes(label, world, episodes, memory=memory)
                oracle = source.completed("oracle", world, episodes)
                about = {"memory": memory, "episode_steps": length}
                yield {"kind": "life", **about, "until_step": length, **self._score(goals, oracle), **cost}
                if memory == "unique" and length == lengths[-1]:
                    for end in range(self.window, length + self.window, self.window):
                        part = slice(end - self.window, end)
                        scores = self._score(goals[part], oracle[part])
                        yield {"kind": "window", **about, "until_step": end, **scores}

    def _score(self, goals: np.ndarray, oracle: np.ndarray) -> Row:
        ours, best, per_window = goals.sum(axis=0), oracle.sum(axis=0), self.window / len(goals)
        mean, stderr = mean_and_stderr(ours * per_window)
        share, share_stderr = ratio_and_stderr(ours, best)
        return {
            "goals_per_100_steps": mean,
            "goals_per_100_steps_stderr": stderr,
            "oracle_per_100_steps": float(best.mean() * per_window),
            "oracle_share": share,
            "oracle_share_stderr": share_stderr,
            "episodes": goals.shape[1],
        }

    def plot(self, rows: Table) -> Drawing:
        lengths = values(rows, "episode_steps")
        drawing, (left, right) = style.subplots(7.6, 3.3, 1, 2)
        windows = where(rows, kind="window")
        steps, oracle = array(windows, "until_step"), array(windows, "oracle_per_100_steps")
        left.plot(steps, oracle, **style.line_style("oracle"), label="oracle")
        look = style.line_style("EPN") | {"label": "EPN"}
        style.draw_band(left, windows, "until_step", "goals_per_100_steps", **look)
        left.set(xlabel="step of the episode", ylabel="goals in 100 steps")
        left.axvline(lengths[0], color=style.FAINT, lw=0.8, ls=":")
        left.text(lengths[0] * 1.08, 0.5, "trained\nup to here", fontsize=7.5, color=style.FAINT)
        left.legend(loc="center right")
        for memory, colour in (("unique", style.colour_of("EPN")), ("all", "#1e3a8a")):
            lives = where(rows, kind="life", memory=memory)
            look = {"color": colour, "lw": 2, "markersize": 4, "label": f"memory: {memory}"}
            right.plot(array(lives, "episode_steps"), array(lives, COST), "o-", **look)
        right.set(xlabel="steps per episode", ylabel="processor ms per step")
        right.legend()
        for axes in (left, right):
            axes.set(xscale="log", ylim=(0, None))
            axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
            axes.minorticks_off()
        return drawing


class Scalability(Figure[Evaluations]):
    """Score and cost of planners over all rows, over the k most recent, and over unique rows."""

    title: str = "Planning over all rows, over k, and over unique rows"
    caption: str = (
        "All-to-all and unique are the same weights with two forms of memory: one row per step, or one "
        "counted row per different transition. N×k (k = 50) is an agent of its own, trained on counted rows: "
        "the 50 different transitions experienced last plan; of steps, the same weights with one row per "
        "step, so that the 50 last steps plan, as in the paper. Right: processor milliseconds per step of "
        "one environment, acting in a batch."
    )
    timed_episodes: int = 64

    def table(self, source: Evaluations) -> Iterator[Row]:
        epn = source.epn()
        if epn.config.agent.value_channels:
            raise NotAvailable("an EPN with values has no memory of every step to compare with")
        variants = [("all-to-all", epn, "all"), ("unique", epn, "unique")]
        for trained in source.agents.values():
            config = trained.config
            if getattr(config.agent, "recent_rows", None) and config.recipe == epn.config.recipe:
                name = f"N×k (k={config.agent.recent_rows})"
                variants += [(name, trained, "unique"), (f"{name} of steps", trained, "all")]
        most = source.scores(epn.label, memory="all").goals_per_episode
        if not most:
            raise NotAvailable("the EPN reaches no goal yet: nothing to compare")
        for name, trained, memory in variants:
            scores = source.scores(trained.label, memory=memory)
            _, cost = source.time_episodes(trained.label, source.world, self.timed_episodes, memory=memory)
            row = {"planner": name, "agent": trained.label, **columns(scores, f"{GOALS}±")}
            row["share_of_all_to_all"] = scores.goals_per_episode / most
            yield {**row, **columns(scores, f"{SHARE}±"), **cost}

    def plot(self, rows: Table) -> Drawing:
        drawing, (left, right) = style.subplots(8.6, 3.2, 1, 2)
        names = [row["planner"] for row in rows]
        for axes, column in ((left, GOALS), (right, COST)):
            heights = [row[column] for row in rows]
            errors = [row.get(f"{column}_stderr", 0.0) for row in rows]
            style.bars(axes, names, heights, errors, form="{:.2f}", colours=SHADES[: len(rows)])
            axes.set_ylim(0, max(heights) * 1.15)
        left.set_ylabel("goals per episode")
        right.set_ylabel("processor ms per step")
        return drawing
