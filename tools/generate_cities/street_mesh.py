"""From scattered points to streets: the mesh of a generated city, thinned until its junctions look real."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, KDTree

from point_patterns import Points

Edges = Int[np.ndarray, "E 2"]

LARGEST_ANGLE = 88.0
"""Degrees: an edge goes if a third point sees it under a larger angle."""


def join_neighbours(points: Points) -> Edges:
    """Join points that see each other: a Delaunay edge stays if the triangles on it are not too flat.

    With 90° this is the Gabriel graph, a common model of street networks; less gives a sparser one. On a
    lattice it removes the diagonals.
    """
    corners = Delaunay(points).simplices
    edges, angles = [], []
    for i in range(3):
        a, b, c = corners[:, i], corners[:, (i + 1) % 3], corners[:, (i + 2) % 3]
        one, other = points[a] - points[c], points[b] - points[c]
        sizes = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        cosine = (one * other).sum(1) / np.maximum(sizes, 1e-9)
        edges.append(np.sort(np.stack([a, b], 1), axis=1))
        angles.append(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    joined, where = np.unique(np.concatenate(edges), axis=0, return_inverse=True)
    widest = np.zeros(len(joined))
    np.maximum.at(widest, where.ravel(), np.concatenate(angles))
    return joined[widest <= LARGEST_ANGLE]


def edge_lengths(points: Points, edges: Edges) -> Float[np.ndarray, " E"]:
    """Metres."""
    return np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)


def cross_river(
    points: Points, edges: Edges, river: Points, width: float, num_bridges: int, generator: Generator
) -> Edges:
    """Remove the edges that cross a river (a line of points close together), except bridges along it."""
    banks, ends = KDTree(river), points[edges]
    nearest = banks.query(ends)[1].clip(1, len(river) - 2)
    along, across = river[nearest + 1] - river[nearest - 1], ends - river[nearest]
    left = along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0] > 0
    distance, place = map(np.asarray, banks.query(ends.mean(axis=1)))
    crossing = np.flatnonzero((left[:, 0] != left[:, 1]) & (distance < 3 * width))
    if len(crossing) == 0:
        return edges
    wanted = (np.arange(num_bridges) + generator.uniform(0.25, 0.75, num_bridges)) / num_bridges * len(river)
    bridges = {int(np.abs(place[crossing] - want).argmin()) for want in wanted}
    drowned = np.setdiff1d(np.arange(len(crossing)), list(bridges))
    return np.delete(edges, crossing[drowned], axis=0)


def straightness(points: Points, edges: Edges) -> Int[np.ndarray, " E"]:
    """At how many of its ends each edge goes straight on, within 7°."""
    half = np.concatenate([edges, edges[:, ::-1]])
    step = points[half[:, 1]] - points[half[:, 0]]
    angle = np.degrees(np.arctan2(step[:, 1], step[:, 0]))
    order = np.argsort(half[:, 0], kind="stable")
    start = np.searchsorted(half[order, 0], np.arange(len(points) + 1))
    straight = np.zeros(len(half), int)
    for node in range(len(points)):
        here = order[start[node] : start[node + 1]]
        turn = np.abs((angle[here][:, None] - angle[here] + 360) % 360 - 180)
        straight[here] = (turn < 7.0).any(axis=1)
    return straight[: len(edges)] + straight[len(edges) :]


def thin_out(points: Points, edges: Edges, degree_4: float, generator: Generator) -> Edges:
    """Remove random edges until only the given share of junctions has degree 4; none has more than 5."""
    num_nodes = len(points)
    # Streets that go straight on at their ends are the last to go: avenues survive, side streets do not.
    order = np.argsort(straightness(points, edges) + 1.5 * generator.random(len(edges)))
    # Edges of a spanning tree stay, so that the city holds together: those that would go last.
    weight = np.empty(len(edges))
    weight[order] = np.arange(len(edges), 0, -1)
    graph = coo_array((weight, edges.T), shape=(num_nodes, num_nodes))
    tree = np.isin(weight, minimum_spanning_tree(graph).data)
    degree = np.bincount(edges.ravel(), minlength=num_nodes)
    removed = np.zeros(len(edges), bool)
    counts = np.bincount(degree, minlength=16)
    # First where five or more streets meet, then crossings into T-junctions, then whatever helps.
    for ready in (
        lambda low, high: high > 4 and low > 2,
        lambda low, high: low == high == 4,
        lambda low, high: (low, high) == (3, 4),
    ):
        for i in order[~tree[order]]:
            low, high = sorted(degree[edges[i]])
            junctions = num_nodes - counts[2] - counts[0]
            enough = high <= 4 and counts[4] <= degree_4 * junctions
            if not removed[i] and not enough and ready(low, high):
                removed[i] = True
                np.add.at(counts, degree[edges[i]], -1)
                degree[edges[i]] -= 1
                np.add.at(counts, degree[edges[i]], 1)
    return edges[~removed]


def merge_close(points: Points, edges: Edges, degree_4: float, shortest: float) -> tuple[Points, Edges]:
    """Pull the ends of short edges together: two T-junctions become a crossing.

    Edges below `shortest` metres go first in any case; then, the shortest first, edges between two
    T-junctions, until the share of degree 4 is reached.
    """
    while True:
        degree = np.bincount(edges.ravel(), minlength=len(points))
        lengths = edge_lengths(points, edges)
        junctions = (degree != 2).sum()
        between_ts = (degree[edges] == 3).all(axis=1)
        missing = int(degree_4 * junctions - (degree == 4).sum())
        # A quarter of what is missing at a time: merging changes degrees around it.
        wanted = np.flatnonzero(between_ts)[np.argsort(lengths[between_ts])][: max(0, (missing + 3) // 4)]
        wanted = np.union1d(wanted, np.flatnonzero(lengths < shortest))
        if len(wanted) == 0:
            return points, edges
        # A node takes part in one merge at a time.
        used, target = np.zeros(len(points), bool), np.arange(len(points))
        points = points.copy()
        for a, b in edges[wanted]:
            if not used[a] and not used[b]:
                used[[a, b]] = True
                target[b] = a
                points[a] = (points[a] + points[b]) / 2
        keep = target == np.arange(len(points))
        number = np.cumsum(keep) - 1
        edges = np.sort(number[target[edges]], axis=1)
        edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
        points = points[keep]


def add_dead_ends(points: Points, edges: Edges, share: float, generator: Generator) -> tuple[Points, Edges]:
    """Add or cut dead ends until they are the given share of junctions and dead ends.

    New ones leave the middle of a street at about a right angle, into the block beside it.
    """
    degree = np.bincount(edges.ravel(), minlength=len(points))
    while (degree == 1).sum() > share * (degree != 2).sum():
        leaves = np.flatnonzero(degree == 1)
        surplus = max(1, int(((degree == 1).sum() - share * (degree != 2).sum()) / 2))
        cut = np.isin(edges, generator.permutation(leaves)[:surplus]).any(axis=1)
        used, edges = np.unique(edges[~cut], return_inverse=True)
        points, edges = points[used], edges.reshape(-1, 2)
        degree = np.bincount(edges.ravel(), minlength=len(points))
    dead, others = (degree == 1).sum(), (degree > 2).sum()
    # Each brings one dead end and one T-junction: (dead + n) / (dead + others + 2 n) = share.
    count = max(0, int((share * (dead + others) - dead) / (1 - 2 * share)))
    lengths = edge_lengths(points, edges)
    chosen = generator.choice(len(edges), min(count, len(edges)), replace=False, p=lengths / lengths.sum())
    start, end = points[edges[chosen, 0]], points[edges[chosen, 1]]
    foot = start + (end - start) * generator.uniform(0.3, 0.7, (len(chosen), 1))
    across = np.stack([start[:, 1] - end[:, 1], end[:, 0] - start[:, 0]], 1)
    across = across * generator.choice([-1, 1], (len(chosen), 1))
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    across += generator.normal(0, 0.25, across.shape)
    reach = lengths[chosen, None].clip(60, 200)
    tip = foot + across * generator.uniform(0.25, 0.55, (len(chosen), 1)) * reach
    feet, tips = len(points) + np.arange(2 * len(chosen)).reshape(2, -1)
    starts, ends = edges[chosen].T
    new = [np.stack(pair, 1) for pair in ((starts, feet), (feet, ends), (feet, tips))]
    return np.concatenate([points, foot, tip]), np.concatenate([np.delete(edges, chosen, axis=0), *new])
