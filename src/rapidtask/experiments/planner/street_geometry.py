"""States of a street world as lines on a map: each is the near half of the street that it faces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from rapidtask.worlds.streets import StreetPlaces, StreetPool

Line = Float[np.ndarray, "P 2"]
"""Points in metres, east and north."""

METRES_PER_DEGREE = 111_320.0
GAP_AT_NODE, GAP_IN_MIDDLE = 0.05, 0.04
"""Shares of a street left free where it begins, and on each side of its middle."""


def half_streets(places: StreetPlaces, world: int) -> list[Line]:
    """For each state the near half of the street it faces, from where it stands.

    The two states of a street, one at each end, make up the whole street.
    """
    return [part_of(line, GAP_AT_NODE, 0.5 - GAP_IN_MIDDLE) for line in whole_streets(places, world)]


def whole_streets(places: StreetPlaces, world: int) -> list[Line]:
    """For each state the whole street that it faces, in metres around the middle of the map."""
    lines = [line[:, ::-1] for line in places.lines(world)]  # longitude, latitude
    points = np.concatenate(lines)
    middle = (points.min(0) + points.max(0)) / 2
    metres = METRES_PER_DEGREE * np.array([np.cos(np.radians(middle[1])), 1.0])
    return [(line - middle) * metres for line in lines]


def part_of(line: Line, start: float, end: float) -> Line:
    """The piece of a line between two shares of its length."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    along /= max(along[-1], 1e-9)
    inner = line[(along > start) & (along < end)]
    ends = [[np.interp(share, along, axis) for axis in line.T] for share in (start, end)]
    return np.concatenate([ends[:1], inner, ends[1:]])


def choose_map(pool: StreetPool) -> tuple[int, int]:
    """A neighbourhood to draw, and its most central state as the goal.

    Of the tenth of all neighbourhoods that are easiest to read, the one with the longest way to its goal:
    chosen by the map alone, before anything is decoded.
    """
    worlds = pool.worlds
    distance, count = np.asarray(worlds.distance), np.asarray(worlds.num_states)
    order = np.argsort(
        [-readability(half_streets(pool.places, world)) for world in range(len(count))], kind="stable"
    )
    found: list[tuple[int, int, int]] = []
    for world in order[: -(-len(order) // 10)].tolist():
        goal = central_state(half_streets(pool.places, world))
        found.append((int(distance[world, : count[world], goal].max()), world, goal))
    _, world, goal = max(found, key=lambda item: item[0])
    return world, goal


def readability(lines: Sequence[Line]) -> float:
    """How far apart the closest two half streets are, as a share of the map; less if it is not square."""
    points = np.concatenate(lines)
    extent = points.max(0) - points.min(0)
    middles = np.stack([part_of(line, 0.5, 0.5)[0] for line in lines])
    apart = np.hypot(*np.moveaxis(middles[:, None] - middles[None], -1, 0))
    closest = apart[~np.eye(len(lines), dtype=bool)].min()
    return float(closest / max(extent.max(), 1e-9) * (extent.min() / max(extent.max(), 1e-9)) ** 0.5)


def central_state(lines: Sequence[Line]) -> int:
    """The state that stands closest to the middle of the map."""
    return int(np.argmin([np.hypot(*line[0]) for line in lines]))


def line_text(line: Line) -> str:
    """A line for a table: "east north;east north;…", metres."""
    return ";".join(f"{x:.1f} {y:.1f}" for x, y in line)


def read_line(text: str) -> Line:
    """The inverse of `line_text`."""
    return np.asarray([[float(part) for part in point.split()] for point in text.split(";")])
