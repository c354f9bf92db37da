"""The decoded map on the torus of the Memory&Planning Game."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from rapidtask.analysis.decoded_maps import decode_map
from rapidtask.analysis.drawing import GOAL, LIKELIHOOD, distance_colours, plural
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.subjects import Setting
from rapidtask.experiments.material import NotAvailable, Rows
from rapidtask.experiments.style import INK, new_figure

NAME = "grid_map"
TITLE = "The map in the planner, on the torus"
CAPTION = (
    "The largest torus that was decoded, with a fixed goal (star), after 1 to 6 planner iterations. Above: "
    "the expected distance of each cell, beside the true one. Below: the likelihood of the true distance. "
    "Mean of three decoder seeds; moves wrap around the edges."
)


def grid_setting(material: AnalysisMaterial) -> tuple[Setting, str]:
    """The largest torus that the grid EPN fits, and the origin of its map."""
    found = [pair for pair in material.main_settings() if pair[0].domain == "memory-planning"]
    if not found:
        raise NotAvailable("no EPN trained on the Memory&Planning Game: none is shipped or among the runs")
    return found[-1]


def central_cell(size: int) -> int:
    """The goal of maps: the cell in the middle, or right above and right of it."""
    return size // 2 * size + size // 2


def table(material: AnalysisMaterial) -> Rows:
    """Every cell, after each number of iterations."""
    setting, origin = grid_setting(material)
    size = setting.worlds.size
    goal = central_cell(size)
    decoded = decode_map(material, setting, origin, 0, goal)
    return [
        {
            "setting": setting.name,
            "map": origin,
            "size": size,
            "iterations": i + 1,
            "x": state % size,
            "y": state // size,
            "is_goal": int(state == goal),
            "distance": int(decoded.distance[state]),
            "likelihood_of_truth": float(decoded.likelihood[i, state]),
            "expected_distance": float(decoded.expected[i, state]),
        }
        for i in range(len(decoded.likelihood))
        for state in range(size * size)
    ]


def plot(rows: Rows) -> Figure:
    """Expected distances above, likelihoods below."""
    iterations = sorted({row["iterations"] for row in rows})
    figure = new_figure(1.5 * (len(iterations) + 1), 3.5)
    grid = figure.subplots(2, len(iterations) + 1)
    far = max(row["distance"] for row in rows)
    first = [row for row in rows if row["iterations"] == 1]
    draw_cells(grid[0, 0], first, "distance", distance_colours(), Normalize(0, far), "{:.0f}")
    grid[0, 0].set_title("true distance", loc="center", fontsize=8)
    grid[1, 0].axis("off")
    grid[1, 0].text(0.5, 0.5, "likelihood of\nthe true\ndistance (%)", ha="center", va="center", fontsize=8)
    for column, i in enumerate(iterations, start=1):
        ours = [row for row in rows if row["iterations"] == i]
        draw_cells(
            grid[0, column], ours, "expected_distance", distance_colours(), Normalize(0, far), "{:.1f}"
        )
        grid[0, column].set_title(plural(i), loc="center", fontsize=8)
        draw_cells(
            grid[1, column], ours, "likelihood_of_truth", LIKELIHOOD, Normalize(0, 1), "{:.0f}", scale=100
        )
    return figure


def draw_cells(
    axes: Axes, rows: Rows, column: str, colours: Colormap, norm: Normalize, form: str, *, scale: float = 1.0
) -> None:
    """Cells in the colours of their values, with the values written in."""
    size = rows[0]["size"]
    values = np.zeros((size, size))
    for row in rows:
        values[row["y"], row["x"]] = row[column]
    axes.imshow(values, cmap=colours, norm=norm, origin="lower")
    for row in rows:
        at = (row["x"], row["y"])
        if row["is_goal"]:
            axes.plot(*at, "*", ms=9, color=GOAL, mec="white", mew=0.6)
            continue
        red, green, blue, _ = colours(norm(row[column]))
        dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
        text = form.format(scale * row[column])
        axes.text(*at, text, ha="center", va="center", fontsize=5, color="white" if dark else INK)
    axes.axis("off")
