"""The Memory&Planning experiment, and the figures that only it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Int
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from rapidtask.envs.registry import MemoryPlanning
from rapidtask.experiments import style
from rapidtask.experiments.comparison import OracleShare, StepsToGoal
from rapidtask.experiments.costs import LongerLives, Scalability
from rapidtask.experiments.curves import Recipes, TrainingCurves
from rapidtask.experiments.evaluations import NO_AGENT, NO_EPN, Evaluations, columns, gather
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Experiment, Figure, NotAvailable, Row, Table
from rapidtask.experiments.tables import array, group_by, values
from rapidtask.worlds.memory_planning import ACTIONS
from rapidtask.worlds.torus import OFFSETS, cell_of, segments, state_of

WORLD = MemoryPlanning()
"""Where agents are compared."""


class Trajectory(Figure[Evaluations]):
    """The EPN's way to its first goals."""

    title: str = "The first three tasks of an episode (paper, Figure 2d)"
    caption: str = (
        "The trained EPN in the first held-out world in which it completed enough tasks: where it began "
        "(ring), its way (line; moves across an edge come in on the opposite side), the goal (orange). Cells "
        "seen for the first time are numbered in the order of discovery; grey cells have not been seen yet."
    )
    tasks: int = 3
    episodes: int = 20
    """Episodes to look for one with enough tasks in; the first that has them is shown."""

    def table(self, source: Evaluations) -> Iterator[Row]:
        trace = source.trace(source.epn().label, self.episodes)
        enough = np.flatnonzero(trace.completed.sum(axis=0) >= self.tasks)
        if not len(enough):
            raise NotAvailable(f"the EPN completed {self.tasks} tasks in none of {self.episodes} episodes")
        episode, size = int(enough[0]), source.world.size
        completed = trace.completed[:, episode].astype(int)
        tasks = 1 + np.cumsum(completed) - completed
        (x, y), (goal_x, goal_y) = (cell_of(part[:, episode], size) for part in (trace.state, trace.goal))
        for step in range(int((tasks <= self.tasks).sum())):
            place = {"x": x[step], "y": y[step], "goal_x": goal_x[step], "goal_y": goal_y[step]}
            yield {
                "episode": episode,
                "size": size,
                "task": int(tasks[step]),
                "step": step + 1,
                **{name: int(value) for name, value in place.items()},
                "action": ACTIONS[int(trace.action[step, episode])],
                "completed": int(completed[step]),
            }

    def plot(self, rows: Table) -> Drawing:
        drawing, parts = style.panels(rows, ["task"], 2.9, 3.1)
        discovered: dict[tuple[int, int], int] = {}
        for axes, steps in parts:
            for row in steps:
                discovered.setdefault((row["x"], row["y"]), len(discovered) + 1)
            draw_task(axes, steps, discovered)
            axes.set_title(f"task {steps[0]['task']}: {len(steps)} steps", loc="center")
        return drawing


def draw_task(axes: Axes, steps: Table, discovered: dict[tuple[int, int], int]) -> None:
    """The grid with the way of one task."""
    first, last, size = steps[0], steps[-1], steps[0]["size"]
    axes.set(xlim=(-0.62, size - 0.38), ylim=(-0.62, size - 0.38), aspect="equal")
    axes.axis("off")
    for x, y in np.ndindex(size, size):
        place = discovered.get((x, y))
        goal = (x, y) == (first["goal_x"], first["goal_y"])
        face = "#fdba74" if goal else "#eff4ff" if place else "#eceef1"
        corner, rounded = (x - 0.45, y - 0.45), "round,pad=0,rounding_size=0.12"
        axes.add_patch(FancyBboxPatch(corner, 0.9, 0.9, boxstyle=rounded, fc=face, ec="none"))
        if place:
            axes.text(x - 0.38, y + 0.38, str(place), fontsize=7, color=style.FAINT, ha="left", va="top")
    colour = style.colour_of("EPN")
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
    for row in steps:
        if row["action"] == "collect":
            continue
        dx, dy = OFFSETS[ACTIONS.index(row["action"])]
        here, ahead = (state_of(row["x"] + i * dx, row["y"] + i * dy, size) for i in (0, 1))
        for line in segments(here, ahead, size, beyond=0.6):
            # Nudged to its right, so that going back does not hide the way there.
            start, end = np.asarray(line) + np.array([0.07 * dy, -0.07 * dx])
            axes.annotate("", end, start, arrowprops=arrow)
    axes.add_patch(Circle((first["x"], first["y"]), 0.16, fc="white", ec=colour, lw=2, zorder=4))
    if last["completed"]:
        star = {"ms": 12, "mew": 0.6, "color": style.GOAL, "mec": style.INK, "zorder": 5}
        axes.plot(last["x"], last["y"], "*", **star)


class LargerGrids(Figure[Evaluations]):
    """Share of the oracle on grids of other sizes than trained on, with symbols never met."""

    title: str = "Beyond the paper: grids of other sizes"
    caption: str = (
        "Share of the oracle in the last third of the episode, on grids from 3×3 to 6×6. Episodes last 100 "
        "steps per 16 cells, so that there is time to explore. An EPN trained on 4×4 meets symbols on larger "
        "grids that it was never trained with (possible with fixed symbols only)."
    )
    sizes: tuple[int, ...] = (3, 4, 5, 6)
    references: tuple[str, ...] = ("within-task", "edges-inverse", "hand-coded", "oracle")
    episodes: int = 500

    def table(self, source: Evaluations) -> Iterator[Row]:
        epns = [a.label for a in source.agents.values() if a.kind == "epn" and a.config.recipe == "fast"]
        if not epns:
            raise NotAvailable(NO_EPN)
        for size in self.sizes:
            world = replace(source.world, size=size, episode_steps=round(100 * size**2 / 16))
            for label in (*(epn for epn in epns if source.fits(epn, world)), *self.references):
                options = {"new_symbols": True} if label in epns else {}
                scores = source.scores(label, world, self.episodes, **options)
                row = {"agent": label, "size": size, "episode_steps": world.episode_steps}
                yield {**row, **columns(scores, f"{GOALS}±", f"{SHARE}±", "episodes")}

    def plot(self, rows: Table) -> Drawing:
        drawing, axes = style.subplots(5.6, 3.4)
        style.draw_lines(axes, [row for row in rows if row["agent"] != "oracle"], "size", SHARE, line="agent")
        sizes = values(rows, "size")
        axes.set(ylabel=style.Y_LABELS[SHARE], xlabel="grid")
        axes.set_xticks(sizes, [f"{size}×{size}" for size in sizes])
        axes.axvspan(3.85, 4.15, color=style.colour_of("EPN"), alpha=0.07, lw=0)
        style.shared_legend(drawing)
        return drawing


class Exploration(Figure[Evaluations]):
    """How soon agents have seen all cells, against the best possible."""

    title: str = "Beyond the paper: what agents explore"
    caption: str = (
        "Mean number of different cells seen by each step of an episode. Best possible is one new cell per "
        "move: all 16 after 15 moves, if nothing were collected on the way. Reaching goals that are already "
        "known delays exploring, and is right to."
    )
    references: tuple[str, ...] = ("random-walk", "edges-inverse", "hand-coded", "oracle")
    episodes: int = 500
    shown_steps: int = 60
    """Steps that the drawing shows."""

    def table(self, source: Evaluations) -> Iterator[Row]:
        if not source.agents:
            raise NotAvailable(NO_AGENT)
        cells = source.world.size**2
        for label in (*source.main_agents, *self.references):
            trace = source.trace(label, min(self.episodes, source.episodes))
            seen = cells_seen(np.asarray(trace.state), cells)
            # Infinite where an episode ended before.
            steps = np.where(seen[-1] == cells, np.argmax(seen == cells, axis=0), np.inf)
            median = float(np.median(steps))
            for step, numbers in enumerate(seen):
                yield {
                    "agent": label,
                    "step": step,
                    "cells_seen": float(numbers.mean()),
                    "share_that_saw_all": float((numbers == cells).mean()),
                    "median_steps_to_see_all": median if np.isfinite(median) else None,
                }

    def plot(self, rows: Table) -> Drawing:
        drawing, axes = style.subplots(6.4, 3.5)
        cells = max(16, round(max(array(rows, "cells_seen"))))
        best = [0, cells - 1, self.shown_steps], [1, cells, cells]
        axes.plot(*best, color=style.FAINT, lw=1, ls=":", label="best possible")
        for label, points in group_by([r for r in rows if r["step"] <= self.shown_steps], "agent").items():
            median = points[-1]["median_steps_to_see_all"]
            shown = style.name_of(label) + (f" (all by step {median:.0f})" if median is not None else "")
            look = style.line_style(label) | {"label": shown}
            axes.plot(array(points, "step"), array(points, "cells_seen"), **look)
        axes.set(xlabel="step of the episode", ylabel="different cells seen")
        axes.set(xlim=(0, self.shown_steps), ylim=(0, cells + 0.6))
        axes.legend(loc="lower right", title="median", title_fontsize=8)
        return drawing


def cells_seen(places: Int[np.ndarray, "T+1 E"], cells: int) -> Int[np.ndarray, "T1 E"]:
    """Number of different cells seen after 0, 1, … T steps."""
    visits: Bool[np.ndarray, "T1 E C"] = places[..., None] == np.arange(cells)
    return np.logical_or.accumulate(visits, axis=0).sum(axis=-1)


EXPERIMENT = Experiment(
    "Results: the Memory&Planning Game",
    (
        TrainingCurves(),
        OracleShare(),
        Trajectory(),
        StepsToGoal(),
        Scalability(),
        Recipes(),
        LongerLives(),
        LargerGrids(),
        Exploration(),
    ),
    partial(gather, world=WORLD),
    "memory-planning",
)
