"""Streets: the runs of degree-2 nodes between the junctions and dead ends of a city."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from rapidtask.cities.city_graph import CityGraph, great_circle_distance


@dataclass(frozen=True, eq=False)
class Streets:
    """For every half-edge of a city that leaves a junction or dead end: the street it is the start of.

    Entries of half-edges that leave a degree-2 node are meaningless.
    """

    end: Int[np.ndarray, " 2E"]
    """The junction or dead end where the street ends; -1 within a ring without any junction."""
    last: Int[np.ndarray, " 2E"]
    """The half-edge that arrives at the end."""
    length: Float[np.ndarray, " 2E"]
    """Length along the street, metres."""


def trace_streets(city: CityGraph) -> Streets:
    """Follow every street from end to end, all streets at once (pointer doubling)."""
    tails, heads = city.tails, city.neighbours
    length = great_circle_distance(city.lat[tails], city.lng[tails], city.lat[heads], city.lng[heads])
    # At a degree-2 node the way on is the half-edge that does not lead back.
    first, last = city.offsets[heads], np.arange(len(heads))
    passes = city.degree[heads] == 2
    step = np.where(passes, first + (heads[first] == tails), last)
    step_length = np.where(passes, length[step], 0.0)
    # After k rounds `last` is up to 2**k half-edges ahead and `length` covers the way there, inclusive.
    for _ in range(len(heads).bit_length()):
        if (step[last] == last).all():
            break
        length = length + step_length[last]
        last = step[last]
        step_length = step_length + step_length[step]
        step = step[step]
    end = np.where(city.degree[heads[last]] == 2, -1, heads[last])
    return Streets(end=end.astype(np.int32), last=last.astype(np.int32), length=length)


def follow_street(city: CityGraph, start: int, head: int) -> list[int]:
    """The nodes of a street from a half-edge on, to a junction, a dead end, or around a ring to the start."""
    path = [start, head]
    while city.degree[path[-1]] == 2 and path[-1] != start:
        one, other = city.neighbours[city.offsets[path[-1]] :][:2].tolist()
        path.append(other if one == path[-2] else one)
    return path
