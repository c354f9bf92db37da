"""An example: the first three tasks of one episode, drawn on the grid (paper, Figure 2d)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Figure, NotAvailable, Table
from rapidtask.worlds.memory_planning import ACTIONS
from rapidtask.worlds.torus import OFFSETS, segments, state_of

ROUNDED = "round,pad=0,rounding_size=0.12"


@dataclass(frozen=True, kw_only=True)
class Trajectory(Figure[Evaluations]):
    """The EPN's way to its first goals."""

    name: str = "trajectory"
    title: str = "The first three tasks of an episode (paper, Figure 2d)"
    caption: str = (
        "The trained EPN in the first held-out world in which it completed enough tasks: where it began "
        "(ring), its way (line; moves across an edge come in on the opposite side), the goal (orange). Cells "
        "seen for the first time are numbered in the order of discovery; grey cells have not been seen yet."
    )
    tasks: int = 3
    episodes: int = 20
    """Episodes to look for one with enough tasks in; the first that has them is shown."""

    def table(self, source: Evaluations) -> Table:
        """Every step until the last of the goals."""
        trace = source.trace(source.epn().label, self.episodes)
        enough = np.flatnonzero(trace.completed.sum(axis=0) >= self.tasks)
        if not len(enough):
            raise NotAvailable(f"the EPN completed {self.tasks} tasks in none of {self.episodes} episodes")
        episode, size = int(enough[0]), source.world.size
        rows: Table = []
        task = 1
        for step in range(len(trace.action)):
            y, x = divmod(int(trace.state[step, episode]), size)
            goal_y, goal_x = divmod(int(trace.goal[step, episode]), size)
            completed = bool(trace.completed[step, episode])
            rows.append(
                {
                    "episode": episode,
                    "size": size,
                    "task": task,
                    "step": step + 1,
                    "x": x,
                    "y": y,
                    "goal_x": goal_x,
                    "goal_y": goal_y,
                    "action": ACTIONS[int(trace.action[step, episode])],
                    "completed": int(completed),
                }
            )
            task += completed
            if task > self.tasks:
                break
        return rows

    def plot(self, rows: Table) -> Drawing:
        """One grid per task."""
        drawing, parts = style.panels(rows, "task", 2.9, 3.1)
        discovered: dict[tuple[int, int], int] = {}
        for axes, steps in parts:
            for row in steps:
                discovered.setdefault((row["x"], row["y"]), len(discovered) + 1)
            draw_task(axes, steps, discovered)
            axes.set_title(f"task {steps[0]['task']}: {len(steps)} steps", loc="center")
        return drawing


def draw_task(axes: Axes, steps: Table, discovered: dict[tuple[int, int], int]) -> None:
    """The grid with the way of one task."""
    size = steps[0]["size"]
    goal = (steps[0]["goal_x"], steps[0]["goal_y"])
    axes.set(xlim=(-0.62, size - 0.38), ylim=(-0.62, size - 0.38), aspect="equal")
    axes.axis("off")
    for x in range(size):
        for y in range(size):
            place = discovered.get((x, y))
            face = "#fdba74" if (x, y) == goal else ("#eff4ff" if place else "#eceef1")
            corner = (x - 0.45, y - 0.45)
            axes.add_patch(FancyBboxPatch(corner, 0.9, 0.9, boxstyle=ROUNDED, fc=face, ec="none"))
            if place:
                axes.text(x - 0.38, y + 0.38, str(place), fontsize=7, color=style.FAINT, ha="left", va="top")
    colour = style.colour_of("EPN")
    for row in steps:
        if row["action"] == "collect":
            continue
        dx, dy = OFFSETS[ACTIONS.index(row["action"])]
        here, ahead = (state_of(row["x"] + i * dx, row["y"] + i * dy, size) for i in (0, 1))
        for start, end in segments(here, ahead, size, beyond=0.6):
            # Nudged to its right, so that going back does not hide the way there.
            shift = (dy * 0.07, -dx * 0.07)
            axes.annotate(
                "",
                (end[0] + shift[0], end[1] + shift[1]),
                (start[0] + shift[0], start[1] + shift[1]),
                arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.5, "shrinkA": 0, "shrinkB": 0},
            )
    first, last = steps[0], steps[-1]
    axes.add_patch(Circle((first["x"], first["y"]), 0.16, fc="white", ec=colour, lw=2, zorder=4))
    if last["completed"]:
        axes.plot(
            last["x"], last["y"], "*", ms=12, mew=0.6, color="#ea580c", markeredgecolor=style.INK, zorder=5
        )
