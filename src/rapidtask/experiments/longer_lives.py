"""Longer lives than trained for: does the EPN stay at the oracle, and is the cost of a step flat?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from rapidtask.evaluation.scores import mean_and_stderr, ratio_and_stderr
from rapidtask.experiments.material import Material, Rows
from rapidtask.experiments.style import FAINT, colour_of, new_figure, quiet
from rapidtask.experiments.timing import time_episodes

NAME = "longer_lives"
TITLE = "Beyond the paper: longer lives"
CAPTION = (
    "The EPN, trained in episodes of 100 steps, in episodes of up to 6,400. Left: goals in each 100 steps "
    "of the longest episodes, and the oracle's in the same worlds. Right: processor milliseconds per step "
    "and environment over whole episodes, batch of 16, with one row per different transition (unique) and "
    "with one row per step (all)."
)
LENGTHS = (100, 400, 1600, 6400)
LENGTHS_ALL = (100, 400)
"""Lengths that the memory of every step is timed with: its cost grows with the square."""
STREET_LENGTHS = (200, 1000, 5000)
STREET_LENGTHS_ALL = (200,)
EPISODES = 16
WINDOW = 100


def table(material: Material) -> Rows:
    """Per length, goals per 100 steps against the oracle and the cost of a step; windows of the longest."""
    return life_table(material, LENGTHS, LENGTHS_ALL)


def street_table(material: Material) -> Rows:
    """The same on streets, where episodes of training have 200 steps."""
    return life_table(material, STREET_LENGTHS, STREET_LENGTHS_ALL)


def life_table(material: Material, lengths: Sequence[int], lengths_all: Sequence[int]) -> Rows:
    """Lives of these lengths, with one row per different transition and with one per step."""
    label = material.epn().label
    rows: Rows = []
    for memory, chosen in (("unique", lengths), ("all", lengths_all)):
        for length in chosen:
            material.say(f"{label}: {EPISODES} episodes of {length} steps, memory {memory}")
            world = dataclasses.replace(material.world, episode_steps=length)
            timed = time_episodes(material, label, world, EPISODES, memory=memory)
            goals = timed.completed
            oracle = oracle_goals(material, length)
            rows.append(_row("life", memory, length, length, goals, oracle) | timed.columns())
            if memory == "unique" and length == lengths[-1]:
                windows = [slice(start, start + WINDOW) for start in range(0, length, WINDOW)]
                rows += [_row("window", memory, length, w.stop, goals[w], oracle[w]) for w in windows]
    return rows


def oracle_goals(material: Material, length: int) -> np.ndarray:
    """The oracle's completions in the same worlds."""
    return material.completed("oracle", dataclasses.replace(material.world, episode_steps=length), EPISODES)


def _row(kind: str, memory: str, length: int, end: int, goals: np.ndarray, oracle: np.ndarray) -> dict:
    per_window = WINDOW / len(goals)
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
        "episodes": EPISODES,
    }


def plot(rows: Rows) -> Figure:
    """Goals along the longest lives, and cost against length."""
    lengths = sorted({row["episode_steps"] for row in rows})
    figure = new_figure(7.6, 3.3)
    left, right = figure.subplots(1, 2)
    windows = [row for row in rows if row["kind"] == "window"]
    x = [row["until_step"] for row in windows]
    y = np.asarray([row["goals_per_100_steps"] for row in windows])
    error = np.asarray([row["goals_per_100_steps_stderr"] for row in windows])
    oracle = [row["oracle_per_100_steps"] for row in windows]
    left.plot(x, oracle, color=colour_of("oracle"), lw=1.2, ls=(0, (4, 2)), label="oracle")
    left.plot(x, y, color=colour_of("EPN"), lw=2, label="EPN")
    left.fill_between(x, y - 2 * error, y + 2 * error, color=colour_of("EPN"), alpha=0.15, lw=0)
    left.set(xlabel="step of the episode", ylabel="goals in 100 steps", xscale="log")
    left.set_ylim(bottom=0)
    left.set_xticks(lengths, [f"{length:,}" for length in lengths])
    left.minorticks_off()
    left.axvline(lengths[0], color=FAINT, lw=0.8, ls=":")
    left.text(lengths[0] * 1.08, 0.5, "trained\nup to here", fontsize=7.5, color=FAINT)
    left.legend(loc="center right")
    for memory, colour in (("unique", colour_of("EPN")), ("all", "#1e3a8a")):
        lives = [row for row in rows if row["kind"] == "life" and row["memory"] == memory]
        places = [row["episode_steps"] for row in lives]
        times = [row["processor_ms_per_step"] for row in lives]
        right.plot(places, times, "o-", color=colour, lw=2, markersize=4, label=f"memory: {memory}")
    right.set(xlabel="steps per episode", ylabel="processor ms per step", xscale="log")
    right.set_ylim(bottom=0)
    right.set_xticks(lengths, [f"{length:,}" for length in lengths])
    right.minorticks_off()
    right.legend()
    for axes in (left, right):
        quiet(axes)
    return figure
