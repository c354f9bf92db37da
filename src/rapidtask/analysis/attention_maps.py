"""Where one row of the planner looks in each iteration, drawn on the map."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from rapidtask.analysis.attention import attention_weights
from rapidtask.analysis.decoded_maps import map_situations
from rapidtask.analysis.drawing import ATTENTION, GOAL
from rapidtask.analysis.grid_maps import central_cell, grid_setting
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.situations import Situations
from rapidtask.analysis.street_geometry import half_streets, line_text, read_line
from rapidtask.analysis.street_maps import chosen_map, draw_states, street_setting
from rapidtask.analysis.subjects import Setting
from rapidtask.analysis.summaries import ITERATIONS
from rapidtask.experiments.material import Rows
from rapidtask.experiments.results import FigureModule
from rapidtask.experiments.style import INK, new_figure
from rapidtask.worlds.torus import OFFSETS

DISTANCE = 3
"""How far from the goal the row starts that is watched, if the map is so large."""
TOP = 0.5
"""Attention that has the darkest colour."""


def watched_row(situations: Situations, size: np.ndarray) -> tuple[int, int]:
    """A state so far from the goal, the largest on the map, and its first move that leads closer."""
    distance = situations.distance
    state = int(np.argmax(np.where(distance == min(DISTANCE, distance.max()), size, -1)))
    after = distance[situations.tables.next_state[situations.world[0], state]]
    return state, int(np.flatnonzero(after == distance[state] - 1)[0])


def look(material: AnalysisMaterial, setting: Setting, origin: str, situations: Situations, size: np.ndarray):
    """The watched row's state and move, and its attention to every row, `[I, S, M]`."""
    state, move = watched_row(situations, size)
    here = situations.take(np.array([state]))
    num_moves = situations.tables.num_moves
    memory = here.memories(int(here.num_rows[0]))
    planner = material.planner(setting, origin)
    weights, _ = attention_weights(planner, memory, here.timesteps(), ITERATIONS)
    row = np.asarray(weights)[:, 0, :, state * num_moves + move].mean(axis=1)
    return state, move, row.reshape(ITERATIONS, -1, num_moves)


def grid_table(material: AnalysisMaterial) -> Rows:
    """Attention to every row of the torus."""
    setting, origin = grid_setting(material)
    size = setting.worlds.size
    situations = map_situations(material, setting, 0, central_cell(size))
    state, move, attention = look(material, setting, origin, situations, np.ones(size**2))
    return [
        {
            "setting": setting.name,
            "map": origin,
            "size": size,
            "iteration": i + 1,
            "x": s % size,
            "y": s // size,
            "move": m,
            "attention": float(weight),
            "is_watched": int((s, m) == (state, move)),
            "is_goal": int(s == situations.goal[0]),
        }
        for (i, s, m), weight in np.ndenumerate(attention)
    ]


def street_table(material: AnalysisMaterial) -> Rows:
    """Attention to the rows that start at every state, all moves together."""
    setting, origin = street_setting(material)
    world, goal = chosen_map(setting)
    situations = map_situations(material, setting, world, goal)
    lines = half_streets(setting.test_worlds.sample().places, world)
    lengths = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
    state, move, attention = look(material, setting, origin, situations, lengths)
    actions = setting.test_worlds.make().rules.actions
    return [
        {
            "setting": setting.name,
            "map": origin,
            "iteration": i + 1,
            "state": s,
            "attention": float(weight),
            "is_watched": int(s == state),
            "watched_move": actions[move],
            "is_goal": int(s == goal),
            "half_street": line_text(lines[s]),
        }
        for (i, s), weight in np.ndenumerate(attention.sum(axis=-1))
    ]


class GridAttention:
    """The torus, each cell in four triangles: the rows of its four moves."""

    NAME = "grid_attention"
    TITLE = "Where one row looks, on the torus"
    CAPTION = (
        "Each cell holds four rows of the memory, one for each move, drawn as the triangle on that side. "
        "Colour: how much the framed row, a move towards the goal (star), attends to each row in each "
        "iteration."
    )
    table = staticmethod(grid_table)

    @staticmethod
    def plot(rows: Rows) -> Figure:
        """One torus per iteration."""
        figure, axes = _six_panels(rows, 7.4, 5.0)
        for each, i in zip(axes, sorted({row["iteration"] for row in rows}), strict=True):
            _draw_triangles(each, [row for row in rows if row["iteration"] == i])
            each.set_title(f"iteration {i}", loc="center")
        return figure


class StreetAttention:
    """The street map in the colours of attention."""

    NAME = "street_attention"
    TITLE = "Where one row looks, on the street map"
    CAPTION = (
        "The same neighbourhood and goal (star) as in the maps above. Colour: how much one row, a move "
        "towards the goal from the state of the black half street, attends to the rows that start at each "
        "state (three moves together) in each iteration."
    )
    table = staticmethod(street_table)

    @staticmethod
    def plot(rows: Rows) -> Figure:
        """One map per iteration."""
        figure, axes = _six_panels(rows, 8.4, 5.4)
        for each, i in zip(axes, sorted({row["iteration"] for row in rows}), strict=True):
            ours = [row for row in rows if row["iteration"] == i]
            watched = next(row for row in ours if row["is_watched"])
            line = read_line(watched["half_street"])
            each.plot(*line.T, color=INK, lw=7.5, solid_capstyle="round", zorder=1)
            draw_states(each, ours, [row["attention"] for row in ours], ATTENTION, Normalize(0, TOP))
            each.set_title(f"iteration {i}", loc="center")
        return figure


def _six_panels(rows: Rows, width: float, height: float) -> tuple[Figure, list[Axes]]:
    figure = new_figure(width, height)
    count = len({row["iteration"] for row in rows})
    axes = figure.subplots(2, -(-count // 2)).ravel()
    scale = ScalarMappable(Normalize(0, TOP), ATTENTION)
    figure.colorbar(scale, ax=list(axes), shrink=0.6, label="attention", extend="max")
    for each in axes[count:]:
        each.axis("off")
    return figure, list(axes[:count])


def _draw_triangles(axes: Axes, rows: Rows) -> None:
    size = rows[0]["size"]
    for row in sorted(rows, key=lambda row: row["is_watched"]):
        x, y = row["x"], row["y"]
        dx, dy = OFFSETS[row["move"]]
        # From the middle of the cell to the two corners on the side of the move.
        side = np.array([[dx - dy, dy + dx], [dx + dy, dy - dx]]) * 0.46
        corners = np.vstack([[0.04 * dx, 0.04 * dy], side]) + np.array([x, y])
        colour = ATTENTION(min(1.0, row["attention"] / TOP))
        edge, width = (INK, 1.6) if row["is_watched"] else ("white", 0.4)
        axes.add_patch(Polygon(corners, fc=colour, ec=edge, lw=width, zorder=3 if row["is_watched"] else 2))
        if row["is_goal"] and row["move"] == 0:
            axes.plot(x, y, "*", ms=11, color=GOAL, mec="white", mew=0.8, zorder=4)
    axes.set(xlim=(-0.55, size - 0.45), ylim=(-0.55, size - 0.45), aspect="equal")
    axes.axis("off")


GRID: FigureModule = GridAttention  # pyright: ignore[reportAssignmentType]
STREET: FigureModule = StreetAttention  # pyright: ignore[reportAssignmentType]
