"""From oriented streets to tables: the worlds of many neighbourhoods at once, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from jaxtyping import Bool, Float, Int

from rapidtask.cities.city_graph import great_circle_bearing
from rapidtask.worlds.shortest_paths import UNREACHABLE, shortest_distances
from rapidtask.worlds.streets.growth import StreetEdges


def build_worlds(
    neighbourhoods: Sequence[StreetEdges],
    lat: Float[np.ndarray, " N"],
    lng: Float[np.ndarray, " N"],
    offset: Int[np.ndarray, " W"],
    slots: int,
    *,
    release: bool,
) -> tuple[dict[str, np.ndarray], Bool[np.ndarray, " W"]]:
    """Make a world of each neighbourhood: its states are the oriented streets.

    States are sorted by the node they are at, those of a node by bearing. The bearing of a street from A to B
    is that from A to B, as released. By the paper's rules a pair A, B may be joined by several streets, and a
    loop joins A with itself: those have the bearing from A to their own first node, or they could not be
    told apart.

    `lat` and `lng` hold the nodes of all cities, city after city; those of each world's city begin at
    `offset`. Worlds are padded to S `slots`, by the rules of the paper or of the released code.

    Returns tables with axes `[W, S, …]` by name: those of `World` and `StreetPlaces`. And which worlds are
    good: all states can be reached from all, and by the release's rules, which look the street faced up by
    its bearing, no two states at a node have the very same.
    """
    num_states = np.array([len(edges) for edges in neighbourhoods])
    world = np.repeat(np.arange(len(num_states)), num_states)
    tail, first, head = np.array(list(chain.from_iterable(neighbourhoods)), np.int64).T
    # Junctions are numbered through, world after world: a node of two worlds is two junctions.
    junctions, (at, to) = np.unique(np.stack([tail, head]) + world * len(lat), return_inverse=True)
    towards = head
    if not release:
        # A loop is among them: it is met from both of its ends, as two streets from A to A.
        _, pair, count = np.unique(at * len(junctions) + to, return_inverse=True, return_counts=True)
        towards = np.where(count[pair] > 1, first, head)
    here, there = tail + offset[world], towards + offset[world]
    bearing = great_circle_bearing(lat[here], lng[here], lat[there], lng[there])
    order = np.lexsort((first, bearing, at))
    tail, first, head, bearing, at, to = (array[order] for array in (tail, first, head, bearing, at, to))

    # The states at a junction are consecutive, clockwise.
    index, size = np.arange(len(at)), np.bincount(at)
    start = np.cumsum(size) - size
    clockwise = start[at] + (index - start[at] + 1) % size[at]
    counter = start[at] + (index - start[at] - 1) % size[at]
    # Forward leads to the street onward that takes the smallest turn.
    forward, smallest = start[to], np.full(len(at), np.inf)
    for k in range(int(size.max())):
        candidate = start[to] + np.minimum(k, size[to] - 1)
        turn = np.abs(bearing[candidate] - bearing)
        if not release:
            turn = np.minimum(turn, 2 * np.pi - turn)
        forward = np.where(turn < smallest, candidate, forward)
        smallest = np.minimum(turn, smallest)
    # The release turns the other way.
    left, right = (clockwise, counter) if release else (counter, clockwise)
    moves = np.stack([forward, left, right], axis=1)

    begin = (np.cumsum(num_states) - num_states)[world]

    def pad(values: np.ndarray, fill: float) -> np.ndarray:
        table = np.full((len(num_states), slots, *values.shape[1:]), fill, values.dtype)
        table[world, index - begin] = values
        return table

    distance = pad(shortest_distances(moves, num_states, slots), UNREACHABLE)
    good = (distance != UNREACHABLE).sum(axis=(1, 2)) == num_states**2
    if release:
        moves = np.column_stack([moves, index])  # the collect action leads nowhere
        good &= np.bincount(world, (bearing[clockwise] == bearing) & (clockwise != index)) == 0
    nodes = {"tail": tail, "first": first, "head": head}
    next_state = pad((moves - begin[:, None]).astype(np.int32), -1)
    return {
        # Padding states lead to themselves.
        "next_state": np.where(next_state < 0, np.arange(slots, dtype=np.int32)[:, None], next_state),
        "distance": distance,
        "num_states": num_states.astype(np.int32),
        **{name: pad(node.astype(np.int32), -1) for name, node in nodes.items()},
        "bearing": pad(bearing, 0),
    }, good
