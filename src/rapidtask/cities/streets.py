"""Streets: the runs of degree-2 nodes between the junctions and dead ends of a city."""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence

import numpy as np
from jaxtyping import Float

from rapidtask.cities.city_graph import CityGraph, great_circle_distance


def follow_street(city: CityGraph, start: int, first: int, within: Container[int] | None = None) -> list[int]:
    """The nodes of a street from its first two on, to a junction, a dead end, or around a ring to the start.

    With `within`, as if the city had no other nodes than those.
    """
    path = [start, first]
    while path[-1] != start:
        onward = city.near[path[-1]]
        if within is not None:
            onward = [node for node in onward if node in within]
        if len(onward) != 2:
            break
        path.append(onward[1] if onward[0] == path[-2] else onward[0])
    return path


def trace_streets(city: CityGraph) -> tuple[list[list[int]], Float[np.ndarray, " R"]]:
    """All streets, each from both of its ends: their nodes, and lengths in metres. By start, then bearing."""
    begins = city.degree[city.tails] != 2
    ends = zip(city.tails[begins].tolist(), city.neighbours[begins].tolist(), strict=True)
    paths, places = [follow_street(city, *pair) for pair in ends], np.stack([city.lat, city.lng], axis=1)
    return paths, np.array([pieces.sum() for pieces in piece_lengths([places[path] for path in paths])])


def piece_lengths(lines: Sequence[Float[np.ndarray, "P 2"]]) -> list[Float[np.ndarray, " P-1"]]:
    """Metres between the points of each line, measured all at once: lines are many and short."""
    lat, lng = np.concatenate([np.empty((0, 2)), *lines]).T
    metres = great_circle_distance(lat[:-1], lng[:-1], lat[1:], lng[1:])
    starts = np.cumsum([0] + [len(line) for line in lines]).tolist()
    return [metres[start : end - 1] for start, end in itertools.pairwise(starts)]
