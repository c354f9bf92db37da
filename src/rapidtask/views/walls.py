"""Walls: where the buildings along the streets stand, cut open where other streets come in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import KDTree

from rapidtask.cities.city_graph import connected_parts
from rapidtask.views.geometry import SLACK, Strips, Table
from rapidtask.views.plan import StreetPlan

DEAD_END = 9.0
"""Metres by which the space of a dead end goes on behind its last node."""
THIN = 4.0
"""A block with less than this many metres from street to street all around is no building: it is left out."""
TOUCH = 0.4
"""Walls whose ends are this near, in metres, belong together."""


@dataclass(frozen=True, eq=False)
class Walls(Table):
    """Straight pieces of facade, K of them; the street is to the right of start → end."""

    start: Float[np.ndarray, "K 2"]
    """Metres, in the plan's coordinates."""
    end: Float[np.ndarray, "K 2"]
    along: Float[np.ndarray, "K 2"]
    """Place on the axis of frontages (see `StreetPlan`) at the start and at the end."""
    outward: Float[np.ndarray, "K 2"]
    """Unit vectors towards the street, for the light."""

    @property
    def middle(self) -> Float[np.ndarray, "K 2"]:
        """The middles of the walls."""
        return (self.start + self.end) / 2

    @cached_property
    def size(self) -> Float[np.ndarray, " K"]:
        """Lengths in metres."""
        return np.hypot(*(self.end - self.start).T)

    @cached_property
    def tree(self) -> KDTree:
        """The middles, to look for near ones."""
        return KDTree(self.middle)


def make_walls(plan: StreetPlan) -> Walls:
    """Put walls along both sides of all streets, and remove what stands in the way of others."""
    dead = np.bincount(plan.piece_ends.ravel(), minlength=len(plan.nodes))[plan.piece_ends] == 1
    beyond = np.where(dead, DEAD_END, 0.0).T
    walls = _cut(_raw_walls(plan, dead), plan.strips(plan.half_width - SLACK, *beyond))
    thin = np.zeros(len(walls.start), bool)
    for wall, _ in plan.strips(plan.half_width, *beyond).holding(walls.middle - walls.outward * THIN):
        thin[wall] = True
    return walls[(walls.size > 0.05) & ~_islands(walls, thin)]


def _cut(walls: Walls, strips: Strips) -> Walls:
    """What is left of walls outside of strips."""
    cuts: list[list[tuple[float, float]]] = [[] for _ in walls.start]
    for wall, strip in strips.near(walls.middle, walls.size / 2):
        low, high = strips[strip].shares_inside(walls.start[wall], walls.end[wall])
        there = high > low
        for i, a, b in zip(*(part[there].tolist() for part in (wall, low, high)), strict=True):
            cuts[i].append((a, b))
    left = []
    for i, intervals in enumerate(cuts):
        at = 0.0
        for low, high in [*sorted(intervals), (1.0, 1.0)]:
            if low > at:
                left.append((i, at, low))
            at = max(at, high)
    pieces = np.array(left).reshape(-1, 3)
    wall, shares = pieces[:, 0].astype(int), pieces[:, 1:]
    start, step, along = walls.start[wall], (walls.end - walls.start)[wall], walls.along[wall]
    return Walls(
        start=start + step * shares[:, :1],
        end=start + step * shares[:, 1:],
        along=along[:, :1] + (along[:, 1:] - along[:, :1]) * shares,
        outward=walls.outward[wall],
    )


def _raw_walls(plan: StreetPlan, dead: Bool[np.ndarray, "E 2"]) -> Walls:
    """Walls before anything is cut; `dead` says which ends of pieces are dead ends."""
    width = plan.half_width[plan.street][:, None]
    normal, ends = plan.normal, plan.piece_ends
    # Neighbouring pieces of the same street share a corner, on the line that halves the angle between them.
    follows = (plan.street[1:] == plan.street[:-1]) & (ends[1:, 0] == ends[:-1, 1])
    joint = np.ones((len(ends), 2, 2)) * normal[:, None]
    cosine = (normal[1:] * normal[:-1]).sum(1)
    smooth = np.flatnonzero(follows & (cosine > -0.6))
    corner = (normal[1:] + normal[:-1])[smooth] / (1.0 + cosine[smooth])[:, None]
    joint[smooth, 1] = corner
    joint[smooth + 1, 0] = corner
    places = plan.nodes[ends] + plan.direction[:, None] * (dead * [-DEAD_END, DEAD_END])[:, :, None]
    left, right = places + joint * width[:, None], places - joint * width[:, None]
    chain = plan.chainage[:, None] + np.stack([np.zeros(len(ends)), plan.length], 1)
    on_left, on_right = (plan.frontages[plan.street, side, None] + chain for side in (0, 1))

    # Starts, ends, and their places on the axis.
    parts = [
        (left[:, 0], left[:, 1], on_left[:, 0], on_left[:, 1]),
        (right[:, 1], right[:, 0], on_right[:, 1], on_right[:, 0]),
    ]
    # Sharp bends: a straight wall between the two corners, on whichever side is the outer one.
    sharp = np.flatnonzero(follows & (cosine <= -0.6))
    parts.append((left[sharp, 1], left[sharp + 1, 0], on_left[sharp, 1], on_left[sharp, 1] + 4))
    parts.append((right[sharp + 1, 0], right[sharp, 1], on_right[sharp, 1] + 4, on_right[sharp, 1]))
    # Dead ends are closed by a wall across.
    for end, (a, b) in enumerate(((right, left), (left, right))):
        closed = np.flatnonzero(dead[:, end])
        across = 2 * width[closed, 0]
        at = plan.frontages[plan.street[closed], 0] + (chain[closed, end] - (across if end else 0.0))
        parts.append((a[closed, end], b[closed, end], at, at + across))
    if joins := _junction_joins(plan, (left, right), (on_left, on_right)):
        a, b, u, v = map(np.array, zip(*joins, strict=True))
        parts.append((a, b, u, v))
    start, end, u, v = (np.concatenate(part) for part in zip(*parts, strict=True))
    step = end - start
    outward = np.stack([step[:, 1], -step[:, 0]], axis=1) / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    return Walls(start, end, np.stack([u, v], 1), outward)


def _junction_joins(plan: StreetPlan, sides, axes) -> list[tuple]:
    """Walls that close the gap between two arms of a junction where their own walls do not meet."""
    joins = []
    for arms in plan.arms.values():
        if len(arms) < 3:
            continue
        around = sorted(arms, key=lambda arm: (np.arctan2(arm.y, arm.x), arm.end, arm.piece))
        for one, other in zip(around, around[1:] + around[:1], strict=True):
            # Counter-clockwise from `one` to `other`: the left wall of one, the right wall of the other.
            sine, cosine = one.x * other.y - one.y * other.x, one.x * other.x + one.y * other.y
            w_one, w_other = plan.half_width[one.street], plan.half_width[other.street]
            if sine > 0.05 and w_other + w_one * cosine >= 0 and w_one + w_other * cosine >= 0:
                continue
            # Seen from the junction outwards, the street's left is its own right if it arrives here.
            a = sides[one.end][one.piece, one.end]
            b = sides[1 - other.end][other.piece, other.end]
            at = float(axes[one.end][one.piece, one.end])
            size = float(np.hypot(*(b - a))) * (-1.0 if one.end else 1.0)
            # The street lies to the left of one → other; walls have it to their right.
            joins.append((b, a, at + size, at))
    return joins


def _islands(walls: Walls, thin: np.ndarray) -> np.ndarray:
    """Walls of blocks (whose ends touch) that are thin all around, as between two carriageways."""
    count, size = len(walls.start), walls.size
    pairs = KDTree(np.concatenate([walls.start, walls.end])).query_pairs(TOUCH, output_type="ndarray") % count
    block = connected_parts(count, pairs.astype(np.int64))
    total = np.bincount(block, weights=size)
    return (np.bincount(block, weights=size * thin) > 0.9 * total)[block]
