"""The decoded map on the torus, and on the streets of a neighbourhood (paper, Figure 4d)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize

from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Row, Table
from rapidtask.experiments.planner.decoder import DECODED
from rapidtask.experiments.planner.decodings import Decodings, Setting
from rapidtask.experiments.planner.situations import Situations
from rapidtask.experiments.tables import array, group_by
from rapidtask.worlds.streets import StreetPlaces, StreetPool
from rapidtask.worlds.torus import cell_of, state_of

Line = Float[np.ndarray, "P 2"]
"""Points in metres, east and north."""

METRES_PER_DEGREE = 111_320.0
PICTURED = 6
"""Iterations that have a map of their own."""
GAP_AT_NODE, GAP_IN_MIDDLE = 0.05, 0.04
"""Shares of a street left free where it begins, and on each side of its middle."""
HOW_TO_READ = (
    "Each street is drawn in two halves, one for each state: the half at the end where the agent stands, "
    "looking along the street. The star marks the goal state. Of 256 neighbourhoods of the held-out city the "
    "one drawn was chosen for a map that is easy to read and a long way to the goal, before anything was "
    "decoded. Mean of three decoder seeds."
)


@dataclass(frozen=True)
class DrawnMap:
    """A world of the largest setting of a domain, with a fixed goal: what figures draw."""

    setting: Setting
    situations: Situations
    """One for each state."""
    places: list[Row]
    """Where each state is drawn."""
    lengths: np.ndarray
    """How long it is drawn."""

    @property
    def columns(self) -> Row:
        """What all rows of tables about the map begin with."""
        size = {"size": self.setting.worlds.size} if self.setting.domain == "memory-planning" else {}
        return {"setting": self.setting.name, "map": self.setting.origin, **size}

    def is_goal(self, state: int) -> int:
        """1 for the goal, else 0."""
        return int(state == self.situations.goal[0])

    def decoded(self, source: Decodings) -> Iterator[tuple[int, int, Row]]:
        """What decoders say: iterations, state, and their columns."""
        decoded = source.decode_map(self.setting, self.situations)
        expected = decoded.expected.mean(axis=1)  # over decoder seeds
        for (i, state), likelihood in np.ndenumerate(np.exp(decoded.of_truth).mean(axis=1)):
            columns = {
                "is_goal": self.is_goal(state),
                "distance": int(decoded.test.distance[state]),
                "likelihood_of_truth": float(likelihood),
                "expected_distance": float(expected[i, state]),
            }
            if DECODED[i] <= PICTURED:
                yield DECODED[i], state, columns


def torus_map(source: Decodings) -> DrawnMap:
    """The largest torus, with the goal in the middle, or right above and right of it."""
    setting = source.settings("memory-planning")[-1]
    size = setting.worlds.size
    situations = source.map_situations(setting, 0, state_of(size // 2, size // 2, size))
    places = [dict(zip("xy", cell_of(state, size), strict=True)) for state in range(size**2)]
    return DrawnMap(setting, situations, places, np.ones(size**2))


def street_map(source: Decodings) -> DrawnMap:
    """A neighbourhood of the largest setting."""
    setting = source.settings("streetlearn")[-1]
    streets = setting.test_worlds.sample()
    world, goal = choose_map(streets)
    lines = half_streets(streets.places, world)
    places = [{"half_street": line_text(line)} for line in lines]
    lengths = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
    return DrawnMap(setting, source.map_situations(setting, world, goal), places, lengths)


class GridMap(Figure[Decodings]):
    """The torus of the Memory&Planning Game."""

    title: str = "The map in the planner, on the torus"
    caption: str = (
        "The largest torus that was decoded, with a fixed goal (star), after 1 to 6 planner iterations. "
        "Above: the expected distance of each cell, beside the true one. Below: the likelihood of the true "
        "distance. Mean of three decoder seeds; moves wrap around the edges."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        torus = torus_map(source)
        for iterations, state, columns in torus.decoded(source):
            yield {**torus.columns, "iterations": iterations, **torus.places[state], **columns}

    def plot(self, rows: Table) -> Drawing:
        groups = group_by(rows, "iterations")
        drawing, grid = style.subplots(1.5 * (len(groups) + 1), 3.5, 2, len(groups) + 1, grid="")
        distances = Normalize(0, max(array(rows, "distance")))
        draw_cells(grid[0, 0], groups[1], "distance", style.DISTANCE, distances, "{:.0f}")
        grid[0, 0].set_title("true distance", loc="center", fontsize=8)
        grid[1, 0].axis("off")
        words = "likelihood of\nthe true\ndistance (%)"
        grid[1, 0].text(0.5, 0.5, words, ha="center", va="center", fontsize=8)
        for (above, below), (iterations, ours) in zip(grid.T[1:], groups.items(), strict=True):
            draw_cells(above, ours, "expected_distance", style.DISTANCE, distances, "{:.1f}")
            above.set_title(style.plural(iterations), loc="center", fontsize=8)
            percent = [{**row, "likelihood_of_truth": 100 * row["likelihood_of_truth"]} for row in ours]
            draw_cells(below, percent, "likelihood_of_truth", style.LIKELIHOOD, Normalize(0, 100), "{:.0f}")
        return drawing


def draw_cells(axes: Axes, rows: Table, column: str, colours: Colormap, norm: Normalize, form: str) -> None:
    """Cells in the colours of their values, with the values written in."""
    size = rows[0]["size"]
    cells = np.zeros((size, size))
    cells[array(rows, "y"), array(rows, "x")] = array(rows, column)
    axes.imshow(cells, cmap=colours, norm=norm, origin="lower")
    for row in rows:
        at = (row["x"], row["y"])
        if row["is_goal"]:
            axes.plot(*at, "*", ms=9, color=style.GOAL, mec="white", mew=0.6)
            continue
        dark = np.dot(colours(norm(row[column]))[:3], (0.3, 0.59, 0.11)) < 0.5
        words = {"ha": "center", "va": "center", "fontsize": 5, "color": "white" if dark else style.INK}
        axes.text(*at, form.format(row[column]), **words)
    axes.axis("off")


class StreetLikelihood(Figure[Decodings]):
    """Street maps: the true distance, then one map for each number of iterations."""

    title: str = "The map in the planner, on the street map (paper, Figure 4d)"
    caption: str = (
        "Likelihood that decoders give to the true distance of each state to a fixed goal, after 1 to 6 "
        f"planner iterations. {HOW_TO_READ}"
    )
    column: str = "likelihood_of_truth"
    """What the maps show: `likelihood_of_truth` or `expected_distance`."""

    def table(self, source: Decodings) -> Iterator[Row]:
        streets = street_map(source)
        for iterations, state, columns in streets.decoded(source):
            place = {"iterations": iterations, "state": state}
            yield {**streets.columns, **place, **columns, **streets.places[state]}

    def plot(self, rows: Table) -> Drawing:
        drawing, panels = style.subplots(9.6, 5.4, 2, 4, grid="")
        first, *others, last = panels.flat
        groups = group_by(rows, "iterations")
        longest = max(array(rows, "distance"))
        distances = (style.DISTANCE, Normalize(0, longest), "distance to the goal (moves)")
        likelihood = (style.LIKELIHOOD, Normalize(0, 1), "likelihood of the true distance")
        scales = (distances, likelihood) if self.column == "likelihood_of_truth" else (distances,)
        draw_states(first, groups[1], "distance", *distances[:2])
        first.set_title("true distance", loc="center")
        for axes, (iterations, ours) in zip(others, groups.items(), strict=True):
            draw_states(axes, ours, self.column, *scales[-1][:2])
            axes.set_title(style.plural(iterations), loc="center")
        last.axis("off")
        for place, (colours, norm, label) in zip((0.62, 0.22), scales, strict=False):
            inset = last.inset_axes((0.02, place, 0.94, 0.09))
            drawing.colorbar(ScalarMappable(norm, colours), cax=inset, orientation="horizontal", label=label)
        return drawing


class StreetDistance(StreetLikelihood):
    """The same maps with the expected distance."""

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
    drawn.set_array(array(rows, column).astype(float))
    axes.add_collection(drawn)
    for line, row in zip(lines, rows, strict=True):
        if row["is_goal"]:
            axes.plot(*line.mean(axis=0), "*", ms=13, color=style.GOAL, mec="white", mew=0.8, zorder=4)
    points = np.concatenate(lines)
    room = 0.05 * float(np.ptp(points, axis=0).max())
    (left, low), (right, high) = points.min(0) - room, points.max(0) + room
    axes.set(xlim=(left, right), ylim=(low, high), aspect="equal")
    axes.axis("off")


def half_streets(places: StreetPlaces, world: int) -> list[Line]:
    """For each state the near half of the street it faces, in metres around the middle of the map."""
    lines = [line[:, ::-1] for line in places.lines(world)]  # longitude, latitude
    points = np.concatenate(lines)
    middle = (points.min(0) + points.max(0)) / 2
    metres = METRES_PER_DEGREE * np.array([np.cos(np.radians(middle[1])), 1.0])
    return [part_of((line - middle) * metres, GAP_AT_NODE, 0.5 - GAP_IN_MIDDLE) for line in lines]


def part_of(line: Line, start: float, end: float) -> Line:
    """The piece of a line between two shares of its length."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    along /= max(along[-1], 1e-9)
    shares = [start, *along[(along > start) & (along < end)], end]
    return np.stack([np.interp(shares, along, axis) for axis in line.T], axis=1)


def choose_map(pool: StreetPool) -> tuple[int, int]:
    """A neighbourhood to draw, and its most central state as the goal: chosen by the map alone.

    Of the tenth of all neighbourhoods that are easiest to read, it has the longest way to its goal.
    """
    distance, count = np.asarray(pool.worlds.distance), np.asarray(pool.worlds.num_states)
    maps = [half_streets(pool.places, world) for world in range(len(count))]
    order = sorted(range(len(maps)), key=lambda world: -readability(maps[world]))
    # The state that stands closest to the middle of each map.
    goals = [int(np.argmin([np.hypot(*line[0]) for line in lines])) for lines in maps]
    furthest = lambda world: distance[world, : count[world], goals[world]].max()  # noqa: E731
    world = max(order[: -(-len(order) // 10)], key=furthest)
    return world, goals[world]


def readability(lines: Sequence[Line]) -> float:
    """How far apart the closest two half streets are, as a share of the map; less if it is not square."""
    extent = np.ptp(np.concatenate(lines), axis=0)
    middles = np.stack([part_of(line, 0.5, 0.5)[0] for line in lines])
    apart = np.hypot(*np.moveaxis(middles[:, None] - middles[None], -1, 0))
    closest = apart[~np.eye(len(lines), dtype=bool)].min()
    longer = max(extent.max(), 1e-9)
    return float(closest / longer * (extent.min() / longer) ** 0.5)


def line_text(line: Line) -> str:
    """A line for a table: "east north;east north;…", metres."""
    return ";".join(f"{x:.1f} {y:.1f}" for x, y in line)


def read_line(text: str) -> Line:
    """The inverse of `line_text`."""
    return np.asarray([[float(part) for part in point.split()] for point in text.split(";")])
