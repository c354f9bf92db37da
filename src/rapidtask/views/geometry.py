"""Tables of things in the plane, and which of them are near each other or overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

SLACK = 0.08
"""Metres that a wall may stand inside the space of another street, for rounding."""
BATCH = 4096
"""Points looked up at a time: all pairs of a large city would take too much memory."""
Pairs = tuple[Int[np.ndarray, " M"], Int[np.ndarray, " M"]]
"""Numbers of one kind of thing, and of another kind, that belong together."""


class Table:
    """A dataclass of arrays of one length: rows that are chosen together."""

    def __getitem__(self, rows: np.ndarray) -> Self:
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))  # pyright: ignore


@dataclass(frozen=True, eq=False)
class Strips(Table):
    """Rectangles along lines, such as the open space of a piece of street."""

    origin: Float[np.ndarray, "N 2"]
    """Where the middle line begins."""
    direction: Float[np.ndarray, "N 2"]
    """Unit vector along it."""
    length: Float[np.ndarray, " N"]
    half_width: Float[np.ndarray, " N"]

    def local(self, points: Float[np.ndarray, "N 2"]) -> tuple[np.ndarray, np.ndarray]:
        """Metres along each strip, and to the left of its middle line, of one point each."""
        step = points - self.origin
        across = self.direction[:, 0] * step[:, 1] - self.direction[:, 1] * step[:, 0]
        return (step * self.direction).sum(1), across

    def shares_inside(self, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares (enters, leaves) between which one segment start → end each is inside its strip."""
        (along0, across0), (along1, across1) = self.local(start), self.local(end)
        enters, leaves = np.zeros(len(start)), np.ones(len(start))
        for value0, value1, low, high in (
            (along0, along1, SLACK, self.length - SLACK),
            (across0, across1, -self.half_width, self.half_width),
        ):
            step = value1 - value0
            step = np.where(np.abs(step) < 1e-9, 1e-9, step)
            t0, t1 = (low - value0) / step, (high - value0) / step
            enters, leaves = np.maximum(enters, np.minimum(t0, t1)), np.minimum(leaves, np.maximum(t0, t1))
        return enters, leaves

    def near(self, points: Float[np.ndarray, "P 2"], reach: np.ndarray | float = 0.0) -> Iterator[Pairs]:
        """Pairs (point, strip) that may be nearer than `reach`, in batches of points."""
        tree = KDTree(self.origin + self.direction * self.length[:, None] / 2)
        reach = np.broadcast_to(reach + float((self.length / 2 + self.half_width).max()), len(points))
        for first in range(0, len(points), BATCH):
            part = slice(first, first + BATCH)
            near = tree.query_ball_point(points[part], reach[part], return_sorted=True)
            point, _ = spread(np.array([len(one) for one in near]))
            if len(point):
                yield first + point, np.concatenate(near).astype(np.int64)

    def holding(self, points: Float[np.ndarray, "P 2"]) -> Iterator[Pairs]:
        """Pairs (point, strip) of points that are inside a strip, in batches of points."""
        for point, strip in self.near(points):
            here = self[strip]
            along, across = here.local(points[point])
            inside = (along > 0) & (along < here.length) & (np.abs(across) < here.half_width)
            yield point[inside], strip[inside]


def spread(counts: Int[np.ndarray, " R"]) -> Pairs:
    """So many things in each row, one after the other: the row of each, and its number in the row."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
