"""Neighbourhoods: which streets of a city one world is made of (docs/cities.md).

Plain Python over lists precomputed once per city: a neighbourhood is a few dozen nodes, too few for NumPy to
pay, and this way thousands are grown per second on one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from rapidtask.cities.city_graph import CityGraph
from rapidtask.cities.streets import trace_streets
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


@dataclass(frozen=True, eq=False)
class StreetTables:
    """A city as plain lists, for growing neighbourhoods."""

    neighbours: list[tuple[int, ...]]
    """Per node its neighbours, sorted by bearing."""
    centres: dict[str, list[int]]
    """Per rules the nodes a neighbourhood may be grown from."""
    streets: list[tuple[tuple[int, int, int, float], ...]]
    """Per junction or dead end its streets: (first node, end, last node before the end, metres)."""


@lru_cache(maxsize=64)
def street_tables(city: CityGraph) -> StreetTables:
    """Precompute the lists of a city; kept for as long as the city is in use."""
    streets = trace_streets(city)
    offsets, heads = city.offsets.tolist(), city.neighbours.tolist()
    columns = (streets.end, city.tails[streets.last], streets.length)
    rows = list(zip(heads, *(column.tolist() for column in columns), strict=True))
    degree = city.degree.tolist()
    nodes = range(city.num_nodes)
    return StreetTables(
        neighbours=[tuple(heads[offsets[i] : offsets[i + 1]]) for i in nodes],
        centres={"paper": list(nodes), "release": [i for i in nodes if degree[i] > 2]},
        streets=[() if degree[i] == 2 else tuple(rows[offsets[i] : offsets[i + 1]]) for i in nodes],
    )


def grow_neighbourhood(city: CityGraph, centre: int, options: NeighbourhoodOptions) -> StreetEdges | None:
    """The oriented streets of the neighbourhood around a node; None if the city ends before it is full."""
    tables = street_tables(city)
    if options.rules == "release":
        edges = _grow_over_junctions(tables, centre, options.intersections)
        if edges is None:
            return None
        return _along_streets(tables, edges) if options.keep_intermediate else _merge(edges)
    degree = _grow_over_nodes(tables.neighbours, centre, options.intersections)
    if degree is None:
        return None
    if options.keep_intermediate:
        near = tables.neighbours
        return [(node, other, other) for node in degree for other in near[node] if other in degree]
    return _contract(tables.neighbours, degree)


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


def _contract(neighbours: list[tuple[int, ...]], degree: dict[int, int]) -> StreetEdges:
    """Replace each run of degree-2 nodes by one street; parallel streets and loops stay apart."""
    edges: StreetEdges = []
    walked: set[tuple[int, int]] = set()
    for start, links in degree.items():
        if links == 2:
            continue
        for first in neighbours[start]:
            if first not in degree or (start, first) in walked:
                continue
            before, node = start, first
            while degree[node] == 2:
                for onward in neighbours[node]:
                    if onward != before and onward in degree:
                        break
                before, node = node, onward
            edges.append((start, first, node))
            # The same street from its other end.
            edges.append((node, before, start))
            walked.add((node, before))
    return edges


def _grow_over_junctions(
    tables: StreetTables, centre: int, num_intersections: int
) -> list[tuple[int, int, int, int, float]] | None:
    """Release rules: visit junctions breadth-first, adding all their streets, until enough have degree > 2.

    Degrees are those of the simple graph of junctions, as released: parallel streets are one, a loop is two.
    The streets (start, first, end, last, metres) come in the order they were added.
    """
    degree: dict[int, int] = {}
    joined: set[tuple[int, int]] = set()
    edges = []
    seen = {centre}
    queue = [centre]
    found = 0
    for node in queue:
        for first, end, last, metres in tables.streets[node]:
            edges.append((node, first, end, last, metres))
            if (node, end) not in joined:
                joined |= {(node, end), (end, node)}
                for side in (node, end):
                    degree[side] = degree.get(side, 0) + 1
                    found += degree[side] == 3
        if found >= num_intersections:
            return edges
        for _, end, _, _ in tables.streets[node]:
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


def _along_streets(tables: StreetTables, edges: list[tuple[int, int, int, int, float]]) -> StreetEdges:
    """All node-to-node steps along the given streets, both ways."""
    steps: dict[tuple[int, int], None] = {}
    for start, first, end, last, _ in edges:
        before, node = start, first
        steps[before, node] = steps[node, before] = None
        while node != end or before != last:
            one, other = tables.neighbours[node]
            before, node = node, other if one == before else one
            steps[before, node] = steps[node, before] = None
    return [(node, other, other) for node, other in steps]


def street_lines(
    city: CityGraph, centre: int, options: NeighbourhoodOptions, starts: Sequence[tuple[int, int]]
) -> list[list[int]]:
    """The nodes along streets of a neighbourhood, each told by its first two nodes, for maps."""
    neighbours = street_tables(city).neighbours
    visited = None
    if options.rules == "paper":
        visited = _grow_over_nodes(neighbours, centre, options.intersections)
    lines = []
    for start, first in starts:
        line = [start, first]
        while not options.keep_intermediate:
            onward = [n for n in neighbours[line[-1]] if visited is None or n in visited]
            if len(onward) != 2:
                break
            line.append(onward[0] if onward[1] == line[-2] else onward[1])
        lines.append(line)
    return lines
