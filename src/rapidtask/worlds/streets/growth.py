"""Neighbourhoods: which streets of a city one world is made of (docs/cities.md).

Plain Python over lists that each city has: a neighbourhood is a few dozen nodes, too few for NumPy to
pay, and this way thousands are grown per second on one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from rapidtask.cities.city_graph import CityGraph
from rapidtask.cities.streets import follow_street, trace_streets
from rapidtask.errors import InputError
from rapidtask.options import Count, Range, check_options
from rapidtask.worlds.world import MOST_STATES

StreetEdges = list[tuple[int, int, int]]
"""Oriented streets of one neighbourhood: (node left, first node along the street, node arrived at)."""

VOCABULARY = 60
"""Symbols of the paper's symbolic variant."""
NumStates = Annotated[int, Range(2, MOST_STATES)]


@dataclass(frozen=True)
class NeighbourhoodOptions:
    """Which neighbourhoods are sampled, and under which rules they are walked."""

    rules: Literal["paper", "release"] = "paper"
    """The paper's rules, or those of the code its authors released (docs/cities.md has a table)."""
    num_intersections: Count | None = None
    """Intersections (nodes of degree above 2) of a neighbourhood; by default 5 (paper) or 8 (release)."""
    keep_intermediate: bool = False
    """Keep the nodes along streets as states, instead of jumping from intersection to intersection."""
    num_symbols: NumStates | None = None
    """Size of the vocabulary and most states of a world; by default 60 up to 9 intersections, then 10 for
    each, and 64 for each with `keep_intermediate`. Neighbourhoods with more states are sampled again."""

    def __post_init__(self) -> None:
        check_options(self)
        if self.slots > MOST_STATES:
            raise InputError(
                f"num_intersections is {self.intersections}, which takes {self.slots} states, "
                f"expected at most {MOST_STATES}; give num_symbols"
            )

    @property
    def intersections(self) -> int:
        """Number of intersections asked for."""
        if self.num_intersections is not None:
            return self.num_intersections
        return 5 if self.rules == "paper" else 8

    @property
    def slots(self) -> int:
        """States S that tables are padded to, which is also the size V of the vocabulary."""
        if self.num_symbols is not None:
            return self.num_symbols
        if self.keep_intermediate:
            return 64 * self.intersections
        # Agents trained at 5 intersections are evaluated at 7 and 9 with the same vocabulary.
        return VOCABULARY if self.intersections <= 9 else 10 * self.intersections


@lru_cache(maxsize=64)
def streets_of(city: CityGraph) -> list[list[tuple[int, int, int, float]]]:
    """Per junction or dead end its streets: (first node, end, last node before the end, metres)."""
    streets: list[list[tuple[int, int, int, float]]] = [[] for _ in range(city.num_nodes)]
    paths, metres = trace_streets(city)
    # Millimetres: a loop is equally long both ways.
    for path, length in zip(paths, metres.round(3).tolist(), strict=True):
        streets[path[0]].append((path[1], path[-1], path[-2], length))
    return streets


def possible_centres(city: CityGraph, rules: str) -> list[int]:
    """The nodes that a neighbourhood may be grown from."""
    return np.flatnonzero((city.degree > 2) | (rules == "paper")).tolist()


def grow_neighbourhood(city: CityGraph, centre: int, options: NeighbourhoodOptions) -> StreetEdges | None:
    """The oriented streets of the neighbourhood around a node; None if the city ends before it is full."""
    if options.rules == "release":
        edges = _grow_over_junctions(city, centre, options.intersections)
        if edges is None:
            return None
        return _along_streets(city, edges) if options.keep_intermediate else _merge(edges)
    degree = _grow_over_nodes(city.near, centre, options.intersections)
    if degree is None:
        return None
    if options.keep_intermediate:
        return [(node, other, other) for node in degree for other in city.near[node] if other in degree]
    return _contract(city, degree)


def _grow_over_nodes(
    neighbours: list[tuple[int, ...]], centre: int, num_intersections: int
) -> dict[int, int] | None:
    """Paper rules: visit nodes breadth-first until enough have degree > 2 among the visited ones.

    They come in order, with their degrees in the subgraph they induce.
    """
    degree = {centre: 0}
    queue = [centre]
    found = 0
    for node in queue:
        for new in neighbours[node]:
            if new in degree:
                continue
            links = [other for other in neighbours[new] if other in degree]
            for other in links:
                degree[other] += 1
                found += degree[other] == 3
            degree[new] = len(links)
            found += len(links) > 2
            if found >= num_intersections:
                return degree
            queue.append(new)
    return None


def _contract(city: CityGraph, degree: dict[int, int]) -> StreetEdges:
    """Replace each run of degree-2 nodes by one street; parallel streets and loops stay apart."""
    edges: StreetEdges = []
    walked: set[tuple[int, int]] = set()
    for start, links in degree.items():
        if links == 2:
            continue
        for first in city.near[start]:
            if first in degree and (start, first) not in walked:
                *_, last, end = follow_street(city, start, first, degree)
                # The same street from both of its ends.
                edges += [(start, first, end), (end, last, start)]
                walked.add((end, last))
    return edges


def _grow_over_junctions(
    city: CityGraph, centre: int, num_intersections: int
) -> list[tuple[int, int, int, int, float]] | None:
    """Release rules: visit junctions breadth-first, adding all their streets, until enough have degree > 2.

    Degrees are those of the simple graph of junctions, as released: parallel streets are one, a loop is two.
    The streets (start, first, end, last, metres) come in the order they were added.
    """
    streets = streets_of(city)
    degree: dict[int, int] = {}
    joined: set[tuple[int, int]] = set()
    edges = []
    seen = {centre}
    queue = [centre]
    found = 0
    for node in queue:
        for first, end, last, metres in streets[node]:
            edges.append((node, first, end, last, metres))
            if (node, end) not in joined:
                joined |= {(node, end), (end, node)}
                for side in (node, end):
                    degree[side] = degree.get(side, 0) + 1
                    found += degree[side] == 3
        if found >= num_intersections:
            return edges
        for _, end, _, _ in streets[node]:
            if end not in seen:
                seen.add(end)
                queue.append(end)
    return None


def _merge(edges: list[tuple[int, int, int, int, float]]) -> StreetEdges:
    """The simple graph of the release: one oriented edge per pair of junctions, along the shortest street."""
    shortest: dict[tuple[int, int], tuple[float, int]] = {}
    for start, first, end, last, metres in edges:
        for pair, towards in (((start, end), first), ((end, start), last)):
            if pair not in shortest or metres < shortest[pair][0]:
                shortest[pair] = (metres, towards)
    return [(start, first, end) for (start, end), (_, first) in shortest.items()]


def _along_streets(city: CityGraph, edges: list[tuple[int, int, int, int, float]]) -> StreetEdges:
    """All node-to-node steps along the given streets, both ways."""
    steps: dict[tuple[int, int], None] = {}
    for start, first, *_ in edges:
        for node, other in pairwise(follow_street(city, start, first)):
            steps[node, other] = steps[other, node] = None
    return [(node, other, other) for node, other in steps]


def street_lines(
    city: CityGraph, centre: int, options: NeighbourhoodOptions, starts: Sequence[tuple[int, int]]
) -> list[list[int]]:
    """The nodes along streets of a neighbourhood, each told by its first two nodes, for maps."""
    if options.keep_intermediate:
        return [[start, first] for start, first in starts]
    paper = options.rules == "paper"
    visited = _grow_over_nodes(city.near, centre, options.intersections) if paper else None
    return [follow_street(city, start, first, visited) for start, first in starts]
