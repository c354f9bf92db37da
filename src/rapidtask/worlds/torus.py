"""Arithmetic of the N×N torus: cell (x, y) is state y * N + x, up is +y, right is +x, edges wrap around."""

from __future__ import annotations

from typing import Any

Point = tuple[float, float]

OFFSETS = ((0, 1), (0, -1), (-1, 0), (1, 0))
"""(dx, dy) of each move: up, down, left, right."""


def cell_of(state: Any, size: int) -> tuple[Any, Any]:
    """The cell (x, y) of a state, or of an array of states."""
    return state % size, state // size


def state_of(x: Any, y: Any, size: int) -> Any:
    """The state of a cell, or of arrays of cells; coordinates beyond an edge wrap around."""
    return y % size * size + x % size


def gap(one: Any, other: Any, size: int) -> Any:
    """Steps along one axis between coordinates, the shorter way round."""
    apart = (one - other) % size
    return abs((apart + size // 2) % size - size // 2)


def segments(start: int, end: int, size: int, beyond: float = 0.5) -> list[tuple[Point, Point]]:
    """Lines of a move between neighbouring states, in cells.

    A move across an edge is two lines: one leaves the grid `beyond` its cell's centre, one comes in opposite.
    """
    (x0, y0), (x1, y1) = cell_of(start, size), cell_of(end, size)
    if abs(x1 - x0) + abs(y1 - y0) <= 1:
        return [((x0, y0), (x1, y1))]
    # Across an edge the way goes against the difference of the coordinates.
    dx, dy = ((a > b) - (a < b) for a, b in ((x0, x1), (y0, y1)))
    return [
        ((x0, y0), (x0 + beyond * dx, y0 + beyond * dy)),
        ((x1 - beyond * dx, y1 - beyond * dy), (x1, y1)),
    ]
