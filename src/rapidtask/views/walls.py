"""Walls: where the buildings along the streets stand, cut open where other streets come in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
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

    def between(self, wall: Int[np.ndarray, " N"], low: np.ndarray, high: np.ndarray) -> Walls:
        """Pieces of walls, each from a share of its wall to another."""
        shares = np.stack([low, high], axis=1)
        start, step = self.start[wall], (self.end - self.start)[wall]
        along = self.along[wall]
        return Walls(
            start=start + step * low[:, None],
            end=start + step * high[:, None],
            along=along[:, :1] + (along[:, 1:] - along[:, :1]) * shares,
            outward=self.outward[wall],
        )

    def cuts(self, strips: Strips) -> list[tuple[np.ndarray, ...]]:
        """Where walls stand in strips: wall, and from which share of it to which."""
        found = []
        for wall, strip in strips.near(self.middle, self.size / 2):
            low, high = strips[strip].shares_inside(self.start[wall], self.end[wall])
            found.append((wall, low, high))
        return found


def remaining(count: int, cuts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """What cuts (wall, low, high) leave of `count` walls: wall, low, high. Cuts may be empty or overlap."""
    of_wall: list[list[tuple[float, float]]] = [[] for _ in range(count)]
    for wall, low, high in cuts:
        there = high > low
        for i, a, b in zip(*(part[there].tolist() for part in (wall, low, high)), strict=True):
            of_wall[i].append((a, b))
    left = []
    for i, intervals in enumerate(of_wall):
        at = 0.0
        for low, high in sorted(intervals):
            if low > at:
                left.append((i, at, low))
            at = max(at, high)
        if at < 1.0:
            left.append((i, at, 1.0))
    wall, low, high = np.array(left, float).reshape(-1, 3).T
    return wall.astype(np.int64), low, high


def make_walls(plan: StreetPlan) -> Walls:
    """Put walls along both sides of all streets, and remove what stands in the way of others."""
    raw = _raw_walls(plan)
    degree = np.bincount(plan.piece_ends.ravel(), minlength=len(plan.nodes))
    before, after = np.where(degree[plan.piece_ends] == 1, DEAD_END, 0.0).T
    spaces = Strips(
        origin=plan.nodes[plan.piece_ends[:, 0]] - plan.direction * before[:, None],
        direction=plan.direction,
        length=plan.length + before + after,
        half_width=plan.half_width[plan.street],
    )
    inner = Strips(spaces.origin, spaces.direction, spaces.length, spaces.half_width - SLACK)
    wall, low, high = remaining(len(raw.start), raw.cuts(inner))
    walls = raw.between(wall, low, high)
    thin = np.zeros(len(wall), bool)
    behind = walls.middle - walls.outward * THIN
    for one, space in spaces.near(behind):
        along, across = spaces[space].local(behind[one])
        inside = (along > 0) & (along < spaces.length[space]) & (np.abs(across) < spaces.half_width[space])
        thin[one[inside]] = True
    return walls[(walls.size > 0.05) & ~_islands(walls, thin)]


def _raw_walls(plan: StreetPlan) -> Walls:
    """Walls before anything is cut."""
    width = plan.half_width[plan.street][:, None]
    normal, ends = plan.normal, plan.piece_ends
    dead = np.bincount(ends.ravel(), minlength=len(plan.nodes))[ends] == 1
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
        a, b, u, v = (np.array(part) for part in zip(*joins, strict=True))
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
        around = sorted((float(np.arctan2(arm.y, arm.x)), arm.end, arm.piece, arm.street) for arm in arms)
        for one, other in zip(around, around[1:] + around[:1], strict=True):
            # Counter-clockwise from `one` to `other`: the left wall of one, the right wall of the other.
            angle = (other[0] - one[0]) % (2 * np.pi)
            w_one, w_other = plan.half_width[one[3]], plan.half_width[other[3]]
            sine, cosine = np.sin(angle), np.cos(angle)
            if sine > 0.05 and w_other + w_one * cosine >= 0 and w_one + w_other * cosine >= 0:
                continue
            # Seen from the junction outwards, the street's left is its own right if it arrives here.
            (_, end, piece, _), (_, other_end, other_piece, _) = one, other
            a, b = sides[end][piece, end], sides[1 - other_end][other_piece, other_end]
            at = float(axes[end][piece, end])
            size = float(np.hypot(*(b - a))) * (-1.0 if end else 1.0)
            # The street lies to the left of one → other; walls have it to their right.
            joins.append((b, a, at + size, at))
    return joins


def _islands(walls: Walls, thin: np.ndarray) -> np.ndarray:
    """Walls of blocks that are thin all around, such as the strip between two carriageways.

    Walls whose ends touch belong to one block.
    """
    count, size = len(walls.start), walls.size
    pairs = KDTree(np.concatenate([walls.start, walls.end])).query_pairs(TOUCH, output_type="ndarray") % count
    block = connected_parts(count, pairs.astype(np.int64))
    total = np.bincount(block, weights=size)
    return (np.bincount(block, weights=size * thin) > 0.9 * total)[block]
