"""From oriented streets to tables: the moves and distances of many street worlds at once, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from rapidtask.cities.city_graph import great_circle_bearing
from rapidtask.worlds.shortest_paths import UNREACHABLE, shortest_distances


@dataclass(frozen=True, eq=False)
class StreetStates:
    """The states of W worlds, world after world, flat: E states in all, each an oriented street.

    The states of a world are sorted by the node they are at, those of a node by bearing.
    """

    world: Int[np.ndarray, " E"]
    """Which world a state belongs to, ascending."""
    tail: Int[np.ndarray, " E"]
    """The node a state is at."""
    first: Int[np.ndarray, " E"]
    """The first node along the street faced."""
    head: Int[np.ndarray, " E"]
    """The node moving forward leads to."""
    bearing: Float[np.ndarray, " E"]
    """Bearing faced, radians in (-pi, pi], clockwise from north."""


def make_states(
    world: np.ndarray,
    tail: np.ndarray,
    first: np.ndarray,
    head: np.ndarray,
    lat: np.ndarray,
    lng: np.ndarray,
    *,
    distinct: bool,
) -> StreetStates:
    """Sort oriented streets into states.

    The bearing of a street from A to B is that from A to B, as released. With `distinct` streets (paper
    rules), a pair A, B may be joined by several, and a loop joins A with itself: those have the bearing from
    A to their own first node, or they could not be told apart.

    Args:
        world: `[E]` world of each oriented street, ascending.
        tail: `[E]` node left; numbers index `lat` and `lng`.
        first: `[E]` first node along the street.
        head: `[E]` node arrived at.
        lat: latitude of every node.
        lng: longitude of every node.
        distinct: whether parallel streets and loops have bearings of their own.
    """
    towards = head
    if distinct:
        order = np.lexsort((head, tail, world))
        sorted_keys = np.stack([world[order], tail[order], head[order]])
        same = (sorted_keys[:, 1:] == sorted_keys[:, :-1]).all(axis=0)
        parallel = np.zeros(len(world), bool)
        parallel[order[1:]] |= same
        parallel[order[:-1]] |= same
        # A loop is among them: it is met from both of its ends, as two streets from A to A.
        towards = np.where(parallel, first, head)
    bearing = great_circle_bearing(lat[tail], lng[tail], lat[towards], lng[towards])
    order = np.lexsort((first, bearing, tail, world))
    return StreetStates(world[order], tail[order], first[order], head[order], bearing[order])


def make_moves(
    states: StreetStates, *, release: bool
) -> tuple[Int[np.ndarray, "E 3"], Bool[np.ndarray, " E"]]:
    """Where forward, left and right lead from each state.

    Returns:
        The flat number of the next state, and whether a state is ambiguous: another one at its node has the
        very same bearing, so that the release, which looks the street faced up by its bearing, confuses them.
    """
    world, bearing = states.world, states.bearing
    num_states = len(world)
    index = np.arange(num_states)
    # Groups: the states at one node of one world are consecutive.
    starts_group = np.ones(num_states, bool)
    starts_group[1:] = (world[1:] != world[:-1]) | (states.tail[1:] != states.tail[:-1])
    group_start = np.flatnonzero(starts_group)
    group_size = np.diff(np.append(group_start, num_states))
    group = np.cumsum(starts_group) - 1
    position = index - group_start[group]
    clockwise = group_start[group] + (position + 1) % group_size[group]
    counter = group_start[group] + (position - 1) % group_size[group]
    left, right = (clockwise, counter) if release else (counter, clockwise)

    # The group at the head: groups are sorted by (world, node), so one search finds it.
    num_nodes = int(max(states.tail.max(), states.head.max())) + 1
    keys = world[group_start] * np.int64(num_nodes) + states.tail[group_start]
    there = np.searchsorted(keys, world * np.int64(num_nodes) + states.head)
    forward = group_start[there]
    smallest = np.full(num_states, np.inf)
    for k in range(int(group_size.max())):
        candidate = np.minimum(group_start[there] + k, num_states - 1)
        turn = np.abs(bearing[candidate] - bearing)
        if not release:
            turn = np.minimum(turn, 2 * np.pi - turn)
        better = (k < group_size[there]) & (turn < smallest)
        forward = np.where(better, candidate, forward)
        smallest = np.where(better, turn, smallest)

    ambiguous = (bearing[clockwise] == bearing) & (clockwise != index)
    return np.stack([forward, left, right], axis=1), ambiguous


def pad_tables(
    states: StreetStates, moves: Int[np.ndarray, "E M"], slots: int, *, collect: bool
) -> dict[str, np.ndarray]:
    """The tables of `World`, and where its states are, with axes `[W, S]`, by name; nodes are -1 at padding.

    Args:
        states: states of W worlds.
        moves: the state each move leads to.
        slots: states S to pad each world to.
        collect: whether a collect action, which leads nowhere, comes after the moves.
    """
    world = states.world
    num_states = np.bincount(world)
    start = (np.cumsum(num_states) - num_states)[world]
    local = np.arange(len(world)) - start

    def pad(values: np.ndarray, fill: float) -> np.ndarray:
        table = np.full((len(num_states), slots, *values.shape[1:]), fill, values.dtype)
        table[world, local] = values
        return table

    if collect:
        moves = np.concatenate([moves, np.arange(len(moves))[:, None]], axis=1)
    next_state = pad((moves - start[:, None]).astype(np.int32), -1)
    return {
        # Padding states lead to themselves.
        "next_state": np.where(next_state < 0, np.arange(slots, dtype=np.int32)[:, None], next_state),
        "distance": pad(shortest_distances(moves, num_states, slots), UNREACHABLE),
        "num_states": num_states.astype(np.int32),
        "tail": pad(states.tail.astype(np.int32), -1),
        "first": pad(states.first.astype(np.int32), -1),
        "head": pad(states.head.astype(np.int32), -1),
        "bearing": pad(states.bearing, 0),
    }
