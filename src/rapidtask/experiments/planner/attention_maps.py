"""Where one row of the planner looks in each iteration, drawn on the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Polygon

from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Table
from rapidtask.experiments.planner.attention import attention_weights
from rapidtask.experiments.planner.colours import ATTENTION, GOAL
from rapidtask.experiments.planner.decodings import Decodings, Setting
from rapidtask.experiments.planner.maps import central_cell, draw_states
from rapidtask.experiments.planner.situations import Situations
from rapidtask.experiments.planner.street_geometry import choose_map, half_streets, line_text, read_line
from rapidtask.experiments.planner.summaries import ITERATIONS
from rapidtask.worlds.torus import OFFSETS

FROM_GOAL = 3
"""How far from the goal the row starts that is watched, if the map is so large."""
TOP = 0.5
"""Attention that has the darkest colour."""


def watched_row(situations: Situations, size: np.ndarray) -> tuple[int, int]:
    """A state so far from the goal, the largest on the map, and its first move that leads closer."""
    distance = situations.distance
    state = int(np.argmax(np.where(distance == min(FROM_GOAL, distance.max()), size, -1)))
    after = distance[situations.worlds.next_state[situations.world[0], state]]
    return state, int(np.flatnonzero(after == distance[state] - 1)[0])


def look(
    setting: Setting, situations: Situations, size: np.ndarray
) -> tuple[int, int, Float[np.ndarray, "I S M"]]:
    """The watched row's state and move, and its attention to every row."""
    state, move = watched_row(situations, size)
    here = situations.take(np.array([state]))
    num_moves = situations.num_moves
    memory = here.memories(int(here.num_rows[0]))
    weights, _ = attention_weights(setting.agent, memory, here.timesteps(), ITERATIONS)
    row = np.asarray(weights)[:, 0, :, state * num_moves + move].mean(axis=1)
    return state, move, row.reshape(ITERATIONS, -1, num_moves)


@dataclass(frozen=True, kw_only=True)
class GridAttention(Figure[Decodings]):
    """The torus, each cell in four triangles: the rows of its four moves."""

    name: str = "grid_attention"
    title: str = "Where one row looks, on the torus"
    caption: str = (
        "Each cell holds four rows of the memory, one for each move, drawn as the triangle on that side. "
        "Colour: how much the framed row, a move towards the goal (star), attends to each row in each "
        "iteration."
    )

    def table(self, source: Decodings) -> Table:
        """Attention to every row of the torus."""
        setting = source.settings("memory-planning")[-1]
        size = setting.worlds.size
        goal = central_cell(size)
        situations = source.map_situations(setting, 0, goal)
        state, move, attention = look(setting, situations, np.ones(size**2))
        return [
            {
                "setting": setting.name,
                "map": setting.origin,
                "size": size,
                "iteration": i + 1,
                "x": s % size,
                "y": s // size,
                "move": m,
                "attention": float(weight),
                "is_watched": int((s, m) == (state, move)),
                "is_goal": int(s == goal),
            }
            for (i, s, m), weight in np.ndenumerate(attention)
        ]

    def plot(self, rows: Table) -> Drawing:
        """One torus per iteration."""
        drawing, parts = _panel_per_iteration(rows, 7.4, 5.0)
        for axes, ours in parts:
            _draw_triangles(axes, ours)
        return drawing


@dataclass(frozen=True, kw_only=True)
class StreetAttention(Figure[Decodings]):
    """The street map in the colours of attention."""

    name: str = "street_attention"
    title: str = "Where one row looks, on the street map"
    caption: str = (
        "The same neighbourhood and goal (star) as in the maps above. Colour: how much one row, a move "
        "towards the goal from the state of the black half street, attends to the rows that start at each "
        "state (three moves together) in each iteration."
    )

    def table(self, source: Decodings) -> Table:
        """Attention to the rows that start at every state, all moves together."""
        setting = source.settings("streetlearn")[-1]
        streets = setting.test_worlds.sample()
        world, goal = choose_map(streets)
        lines = half_streets(streets.places, world)
        lengths = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
        state, move, attention = look(setting, source.map_situations(setting, world, goal), lengths)
        watched_move = setting.test_worlds.make().rules.actions[move]
        return [
            {
                "setting": setting.name,
                "map": setting.origin,
                "iteration": i + 1,
                "state": s,
                "attention": float(weight),
                "is_watched": int(s == state),
                "watched_move": watched_move,
                "is_goal": int(s == goal),
                "half_street": line_text(lines[s]),
            }
            for (i, s), weight in np.ndenumerate(attention.sum(axis=-1))
        ]

    def plot(self, rows: Table) -> Drawing:
        """One map per iteration."""
        drawing, parts = _panel_per_iteration(rows, 8.4, 5.4)
        for axes, ours in parts:
            line = read_line(next(row["half_street"] for row in ours if row["is_watched"]))
            axes.plot(*line.T, color=style.INK, lw=7.5, solid_capstyle="round", zorder=1)
            draw_states(axes, ours, "attention", ATTENTION, Normalize(0, TOP))
        return drawing


def _panel_per_iteration(
    rows: Table, width: float, height: float
) -> tuple[Drawing, list[tuple[Axes, Table]]]:
    """Panels in two lines with one scale of colours, and the rows of each."""
    iterations = sorted({row["iteration"] for row in rows})
    drawing = style.new_figure(width, height)
    panels = drawing.subplots(2, -(-len(iterations) // 2)).ravel()
    scale = ScalarMappable(Normalize(0, TOP), ATTENTION)
    drawing.colorbar(scale, ax=list(panels), shrink=0.6, label="attention", extend="max")
    for axes in panels[len(iterations) :]:
        axes.axis("off")
    for axes, iteration in zip(panels, iterations, strict=False):
        axes.set_title(f"iteration {iteration}", loc="center")
    groups = [[row for row in rows if row["iteration"] == iteration] for iteration in iterations]
    return drawing, list(zip(panels, groups, strict=False))


def _draw_triangles(axes: Axes, rows: Table) -> None:
    size = rows[0]["size"]
    for row in sorted(rows, key=lambda row: row["is_watched"]):
        x, y = row["x"], row["y"]
        dx, dy = OFFSETS[row["move"]]
        # From the middle of the cell to the two corners on the side of the move.
        side = np.array([[dx - dy, dy + dx], [dx + dy, dy - dx]]) * 0.46
        corners = np.vstack([[0.04 * dx, 0.04 * dy], side]) + np.array([x, y])
        colour = ATTENTION(min(1.0, row["attention"] / TOP))
        edge, width = (style.INK, 1.6) if row["is_watched"] else ("white", 0.4)
        axes.add_patch(Polygon(corners, fc=colour, ec=edge, lw=width, zorder=3 if row["is_watched"] else 2))
        if row["is_goal"] and row["move"] == 0:
            axes.plot(x, y, "*", ms=11, color=GOAL, mec="white", mew=0.8, zorder=4)
    axes.set(xlim=(-0.55, size - 0.45), ylim=(-0.55, size - 0.45), aspect="equal")
    axes.axis("off")
