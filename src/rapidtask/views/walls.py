"""Walls: where the buildings along the streets stand, cut open where other streets come in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from rapidtask.cities.city_graph import connected_parts
from rapidtask.views.plan import DEAD_END, StreetPlan

SLACK = 0.08
"""Metres that a wall may stand inside the space of another street, for rounding."""

THIN = 4.0
"""A block with less than this many metres from street to street all around is no building: it is left out."""
TOUCH = 0.4
"""Walls whose ends are this near, in metres, belong together."""


@dataclass(frozen=True, eq=False)
class Walls:
    """Straight pieces of facade, K of them."""

    start: Float[np.ndarray, "K 2"]
    """Metres, in the plan's coordinates."""
    end: Float[np.ndarray, "K 2"]
    along: Float[np.ndarray, "K 2"]
    """Chainage on the frontage at the start and at the end (see `frontage_offsets`)."""
    outward: Float[np.ndarray, "K 2"]
    """Unit vector towards the street, for the light."""


def frontage_offsets(plan: StreetPlan) -> Float[np.ndarray, "R 2"]:
    """Where the left and the right frontage of each street begin on one long axis.

    A frontage is one side of a street from end to end. All of them laid end to end make an axis on which a
    single number says which street, which side, and how far along.
    """
    lengths = np.repeat(plan.street_length + 2.0, 2)
    return (np.cumsum(lengths) - lengths).reshape(-1, 2)


def make_walls(plan: StreetPlan) -> Walls:
    """Put walls along both sides of all streets, and remove what stands in the way of others."""
    start, end, along = _raw_walls(plan)
    origin, direction, length, half_width = _spaces(plan)
    middle = (start + end) / 2
    reach = np.hypot(*(end - start).T) / 2
    tree = KDTree(origin + direction * length[:, None] / 2)
    far = float((length / 2 + half_width).max())
    near = tree.query_ball_point(middle, reach + far, return_sorted=True)
    wall = np.repeat(np.arange(len(near)), [len(one) for one in near])
    space = np.concatenate([np.asarray(one, np.int64) for one in near])
    enters, leaves = inside_shares(
        start[wall], end[wall], origin[space], direction[space], length[space], half_width[space] - SLACK
    )
    cuts: list[list[tuple[float, float]]] = [[] for _ in range(len(start))]
    hit = leaves > enters
    for i, a, b in zip(wall[hit].tolist(), enters[hit].tolist(), leaves[hit].tolist(), strict=True):
        cuts[i].append((a, b))
    index, low, high = remaining(cuts)
    step = (end - start)[index]
    pieces_start = start[index] + step * low[:, None]
    pieces_end = start[index] + step * high[:, None]
    piece_along = along[index, :1] + (along[index, 1:] - along[index, :1]) * np.stack([low, high], 1)
    size = np.hypot(*(pieces_end - pieces_start).T)
    # The street is to the right of every raw wall.
    outward = np.stack([step[:, 1], -step[:, 0]], axis=1) / np.maximum(np.hypot(*step.T), 1e-9)[:, None]
    thin = _thin(pieces_start, pieces_end, outward, tree, far, origin, direction, length, half_width)
    keep = (size > 0.05) & ~_islands(pieces_start, pieces_end, size, thin)
    return Walls(pieces_start[keep], pieces_end[keep], piece_along[keep], outward[keep])


def _spaces(plan: StreetPlan):
    """The open space of each piece of street as a rectangle: origin, direction, length, half width."""
    origin = plan.nodes[plan.piece_ends[:, 0]].copy()
    length = plan.length.copy()
    degree = np.bincount(plan.piece_ends.ravel(), minlength=len(plan.nodes))
    before = np.where(degree[plan.piece_ends[:, 0]] == 1, DEAD_END, 0.0)
    after = np.where(degree[plan.piece_ends[:, 1]] == 1, DEAD_END, 0.0)
    origin -= plan.direction * before[:, None]
    return origin, plan.direction, length + before + after, plan.half_width[plan.street]


def _raw_walls(plan: StreetPlan):
    """Walls before anything is cut: the street is always to the right of start → end."""
    offsets = frontage_offsets(plan)
    width = plan.half_width[plan.street][:, None]
    normal, ends = plan.normal, plan.piece_ends
    degree = np.bincount(ends.ravel(), minlength=len(plan.nodes))
    count = len(ends)
    # Neighbouring pieces of the same street share a corner, on the line that halves the angle between them.
    follows = (plan.street[1:] == plan.street[:-1]) & (ends[1:, 0] == ends[:-1, 1])
    joint = np.ones((count, 2, 2)) * normal[:, None]
    both = normal[1:] + normal[:-1]
    cosine = (normal[1:] * normal[:-1]).sum(1)
    smooth = np.flatnonzero(follows & (cosine > -0.6))
    corner = both[smooth] / (1.0 + cosine[smooth])[:, None]
    joint[smooth, 1] = corner
    joint[smooth + 1, 0] = corner
    dead = np.stack([(degree[ends[:, 0]] == 1) * -DEAD_END, (degree[ends[:, 1]] == 1) * DEAD_END], 1)
    places = plan.nodes[ends] + plan.direction[:, None] * dead[:, :, None]
    chain = plan.chainage[:, None] + np.stack([np.zeros(count), plan.length], 1)
    left, right = places + joint * width[:, None], places - joint * width[:, None]

    starts, stops, along = [], [], []

    def add(a: np.ndarray, b: np.ndarray, u: np.ndarray, v: np.ndarray) -> None:
        starts.append(a)
        stops.append(b)
        along.append(np.stack([u, v], 1))

    on_left, on_right = offsets[plan.street, 0], offsets[plan.street, 1]
    add(left[:, 0], left[:, 1], on_left + chain[:, 0], on_left + chain[:, 1])
    add(right[:, 1], right[:, 0], on_right + chain[:, 1], on_right + chain[:, 0])
    # Sharp bends: a straight wall between the two corners, on whichever side is the outer one.
    sharp = np.flatnonzero(follows & (cosine <= -0.6))
    at = on_left[sharp] + chain[sharp, 1]
    add(left[sharp, 1], left[sharp + 1, 0], at, at + 4)
    at = on_right[sharp] + chain[sharp, 1]
    add(right[sharp + 1, 0], right[sharp, 1], at + 4, at)
    for end in (0, 1):
        # Dead ends are closed by a wall across.
        closed = np.flatnonzero(degree[ends[:, end]] == 1)
        a, b = (right, left) if end == 0 else (left, right)
        at = on_left[closed] + (chain[closed, 0] if end == 0 else chain[closed, 1] - 2 * width[closed, 0])
        add(a[closed, end], b[closed, end], at, at + 2 * width[closed, 0])
    joins = _junction_joins(plan, left, right, chain, on_left, on_right, degree)
    if joins:
        a, b, u, v = (np.array(part) for part in zip(*joins, strict=True))
        add(a, b, u, v)
    return (np.concatenate(part) for part in (starts, stops, along))


def _junction_joins(plan: StreetPlan, left, right, chain, on_left, on_right, degree) -> list[tuple]:
    """Walls that close the gap between two arms of a junction where their own walls do not meet."""
    arms: dict[int, list[tuple]] = {}
    ends = plan.piece_ends
    for end, sign in ((0, 1.0), (1, -1.0)):
        for piece in np.flatnonzero(degree[ends[:, end]] > 2).tolist():
            x, y = (sign * plan.direction[piece]).tolist()
            # Seen from the junction outwards, the street's left is its own right if it arrives here.
            mine = (left, on_left, right, on_right) if end == 0 else (right, on_right, left, on_left)
            arms.setdefault(int(ends[piece, end]), []).append((np.arctan2(y, x), piece, end, x, y, *mine))
    joins = []
    for here in arms.values():
        here.sort(key=lambda arm: arm[0])
        for one, other in zip(here, here[1:] + here[:1], strict=True):
            # Counter-clockwise from `one` to `other`: the left wall of one, the right wall of the other.
            angle = (other[0] - one[0]) % (2 * np.pi)
            w_one, w_other = plan.half_width[plan.street[one[1]]], plan.half_width[plan.street[other[1]]]
            sine, cosine = np.sin(angle), np.cos(angle)
            meets = sine > 0.05 and w_other + w_one * cosine >= 0 and w_one + w_other * cosine >= 0
            if meets:
                continue
            a, b = one[5][one[1], one[2]], other[7][other[1], other[2]]
            size = float(np.hypot(*(b - a)))
            at = float(one[6][one[1]] + chain[one[1], one[2]])
            sign = 1.0 if one[2] == 0 else -1.0
            # The street lies to the left of one → other; walls have it to their right.
            joins.append((b, a, at + sign * size, at))
    return joins


def inside_shares(start, end, origin, direction, length, half_width):
    """Shares (enters, leaves) between which each segment start → end is inside its rectangle."""

    def local(points):
        step = points - origin
        return (
            (step * direction).sum(1),
            direction[:, 0] * step[:, 1] - direction[:, 1] * step[:, 0],
        )

    (a0, l0), (a1, l1) = local(start), local(end)
    enters, leaves = np.zeros(len(start)), np.ones(len(start))
    for value0, value1, low, high in (
        (a0, a1, SLACK, length - SLACK),
        (l0, l1, -half_width, half_width),
    ):
        step = value1 - value0
        step = np.where(np.abs(step) < 1e-9, 1e-9, step)
        t0, t1 = (low - value0) / step, (high - value0) / step
        enters, leaves = np.maximum(enters, np.minimum(t0, t1)), np.minimum(leaves, np.maximum(t0, t1))
    return enters, leaves


def remaining(cuts: list[list[tuple[float, float]]]):
    """What is left of each unit interval after its cuts: index, low, high."""
    found = []
    for i, intervals in enumerate(cuts):
        at = 0.0
        for low, high in sorted(intervals):
            if low > at:
                found.append((i, at, low))
            at = max(at, high)
        if at < 1.0:
            found.append((i, at, 1.0))
    index, low, high = np.array(found, float).reshape(-1, 3).T
    return index.astype(np.int64), low, high


def _thin(start, end, outward, tree: KDTree, far, origin, direction, length, half_width) -> np.ndarray:
    """Walls behind which another street begins at once."""
    behind = (start + end) / 2 - outward * THIN
    near = tree.query_ball_point(behind, far)
    wall = np.repeat(np.arange(len(near)), [len(one) for one in near])
    space = np.concatenate([np.asarray(one, np.int64) for one in near])
    step = behind[wall] - origin[space]
    a = (step * direction[space]).sum(1)
    across = direction[space, 0] * step[:, 1] - direction[space, 1] * step[:, 0]
    inside = (a > 0) & (a < length[space]) & (np.abs(across) < half_width[space])
    return np.bincount(wall[inside], minlength=len(start)) > 0


def _islands(start, end, size, thin) -> np.ndarray:
    """Walls of blocks that are thin all around, such as the strip between two carriageways.

    Walls whose ends touch belong to one block.
    """
    count = len(start)
    pairs = KDTree(np.concatenate([start, end])).query_pairs(TOUCH, output_type="ndarray") % count
    block = connected_parts(count, np.sort(pairs, axis=1).astype(np.int64))
    total = np.bincount(block, weights=size)
    return (np.bincount(block, weights=size * thin) > 0.9 * total)[block]
