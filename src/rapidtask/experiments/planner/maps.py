"""The decoded map on the torus, and on the streets of a neighbourhood (paper, Figure 4d)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize

from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Table
from rapidtask.experiments.planner.colours import DISTANCE, GOAL, LIKELIHOOD
from rapidtask.experiments.planner.decodings import Decodings
from rapidtask.experiments.planner.distances import by_iterations
from rapidtask.experiments.planner.street_geometry import choose_map, half_streets, line_text, read_line


def decoded_columns(source: Decodings, domain: str, world: int, goal: int) -> list[list[dict[str, Any]]]:
    """What decoders say of each state of a test world of the largest setting, by iterations and state."""
    decoded = source.decode_map(source.settings(domain)[-1], world, goal)
    # Mean over decoder seeds.
    likelihood, expected = np.exp(decoded.of_truth).mean(axis=1), decoded.expected.mean(axis=1)
    return [
        [
            {
                "is_goal": int(state == goal),
                "distance": int(distance),
                "likelihood_of_truth": float(likelihood[i, state]),
                "expected_distance": float(expected[i, state]),
            }
            for state, distance in enumerate(decoded.test.distance)
        ]
        for i in range(len(likelihood))
    ]


@dataclass(frozen=True, kw_only=True)
class GridMap(Figure[Decodings]):
    """The torus of the Memory&Planning Game."""

    name: str = "grid_map"
    title: str = "The map in the planner, on the torus"
    caption: str = (
        "The largest torus that was decoded, with a fixed goal (star), after 1 to 6 planner iterations. "
        "Above: the expected distance of each cell, beside the true one. Below: the likelihood of the true "
        "distance. Mean of three decoder seeds; moves wrap around the edges."
    )

    def table(self, source: Decodings) -> Table:
        """Every cell, after each number of iterations."""
        setting = source.settings("memory-planning")[-1]
        size = setting.worlds.size
        return [
            {
                "setting": setting.name,
                "map": setting.origin,
                "size": size,
                "iterations": i,
                "x": state % size,
                "y": state // size,
                **columns,
            }
            for i, states in enumerate(
                decoded_columns(source, setting.domain, 0, central_cell(size)), start=1
            )
            for state, columns in enumerate(states)
        ]

    def plot(self, rows: Table) -> Drawing:
        """Expected distances above, likelihoods below."""
        groups = list(by_iterations(rows))
        drawing = style.new_figure(1.5 * (len(groups) + 1), 3.5)
        grid = drawing.subplots(2, len(groups) + 1)
        distances = Normalize(0, max(row["distance"] for row in rows))
        draw_cells(grid[0, 0], groups[0][1], "distance", DISTANCE, distances, "{:.0f}")
        grid[0, 0].set_title("true distance", loc="center", fontsize=8)
        grid[1, 0].axis("off")
        words = "likelihood of\nthe true\ndistance (%)"
        grid[1, 0].text(0.5, 0.5, words, ha="center", va="center", fontsize=8)
        for (above, below), (iterations, ours) in zip(grid.T[1:], groups, strict=True):
            draw_cells(above, ours, "expected_distance", DISTANCE, distances, "{:.1f}")
            above.set_title(style.plural(iterations), loc="center", fontsize=8)
            draw_cells(below, ours, "likelihood_of_truth", LIKELIHOOD, Normalize(0, 1), "{:.0f}", scale=100)
        return drawing


def central_cell(size: int) -> int:
    """The goal of maps: the cell in the middle, or right above and right of it."""
    return size // 2 * size + size // 2


def draw_cells(
    axes: Axes, rows: Table, column: str, colours: Colormap, norm: Normalize, form: str, *, scale: float = 1.0
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
        axes.text(*at, text, ha="center", va="center", fontsize=5, color="white" if dark else style.INK)
    axes.axis("off")


HOW_TO_READ = (
    "Each street is drawn in two halves, one for each state: the half at the end where the agent stands, "
    "looking along the street. The star marks the goal state. Of 256 neighbourhoods of the held-out city the "
    "one drawn was chosen for a map that is easy to read and a long way to the goal, before anything was "
    "decoded. Mean of three decoder seeds."
)


@dataclass(frozen=True, kw_only=True)
class StreetLikelihood(Figure[Decodings]):
    """Street maps: the true distance, then one map for each number of iterations."""

    name: str = "street_likelihood"
    title: str = "The map in the planner, on the street map (paper, Figure 4d)"
    caption: str = (
        "Likelihood that decoders give to the true distance of each state to a fixed goal, after 1 to 6 "
        f"planner iterations. {HOW_TO_READ}"
    )
    column: str = "likelihood_of_truth"
    """What the maps show: `likelihood_of_truth` or `expected_distance`."""

    def table(self, source: Decodings) -> Table:
        """Every state of the neighbourhood, after each number of iterations."""
        setting = source.settings("streetlearn")[-1]
        streets = setting.test_worlds.sample()
        world, goal = choose_map(streets)
        lines = [line_text(line) for line in half_streets(streets.places, world)]
        return [
            {
                "setting": setting.name,
                "map": setting.origin,
                "iterations": i,
                "state": state,
                **columns,
                "half_street": lines[state],
            }
            for i, states in enumerate(decoded_columns(source, setting.domain, world, goal), start=1)
            for state, columns in enumerate(states)
        ]

    def plot(self, rows: Table) -> Drawing:
        """Truth and six maps, with the scales in the last panel."""
        drawing = style.new_figure(9.6, 5.4)
        grid = drawing.subplots(2, 4).ravel()
        groups = list(by_iterations(rows))
        distances = Normalize(0, max(row["distance"] for row in rows))
        scales = [(DISTANCE, distances, "distance to the goal (moves)")]
        if self.column == "expected_distance":
            colours, norm = DISTANCE, distances
        else:
            colours, norm = LIKELIHOOD, Normalize(0, 1)
            scales.append((colours, norm, "likelihood of the true distance"))
        draw_states(grid[0], groups[0][1], "distance", DISTANCE, distances)
        grid[0].set_title("true distance", loc="center")
        for axes, (iterations, ours) in zip(grid[1:], groups, strict=False):
            draw_states(axes, ours, self.column, colours, norm)
            axes.set_title(style.plural(iterations), loc="center")
        grid[-1].axis("off")
        for place, (colours, norm, label) in zip((0.62, 0.22), scales, strict=False):
            inset = grid[-1].inset_axes((0.02, place, 0.94, 0.09))
            drawing.colorbar(ScalarMappable(norm, colours), cax=inset, orientation="horizontal", label=label)
        return drawing


@dataclass(frozen=True, kw_only=True)
class StreetDistance(StreetLikelihood):
    """The same maps with the expected distance."""

    name: str = "street_distance"
    title: str = "The decoded distances on the street map (paper, supplementary figure b)"
    caption: str = (
        "Distance to the goal that decoders expect of each state, after 1 to 6 planner iterations, beside "
        f"the true one. {HOW_TO_READ}"
    )
    column: str = "expected_distance"


def draw_states(axes: Axes, rows: Table, column: str, colours: Colormap, norm: Normalize) -> None:
    """The half streets of all states in the colours of their values, and the goal."""
    lines = [read_line(row["half_street"]) for row in rows]
    drawn = LineCollection(lines, linewidths=4.2, capstyle="round", cmap=colours, norm=norm, zorder=2)
    drawn.set_array(np.asarray([row[column] for row in rows], float))
    axes.add_collection(drawn)
    for line, row in zip(lines, rows, strict=True):
        if row["is_goal"]:
            axes.plot(*line.mean(axis=0), "*", ms=13, color=GOAL, mec="white", mew=0.8, zorder=4)
    points = np.concatenate(lines)
    low, high = points.min(0), points.max(0)
    room = 0.05 * float((high - low).max())
    axes.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room), aspect="equal")
    axes.axis("off")
