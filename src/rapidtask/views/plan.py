"""The plan of a city in metres: its streets from end to end, how wide each is, and where crossings begin."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from scipy.spatial import KDTree

from rapidtask.cities.city_graph import EARTH_RADIUS, CityGraph, connected_parts
from rapidtask.cities.streets import follow_street
from rapidtask.views.geometry import Strips
from rapidtask.views.hashing import mix, place_hash, share

STRAIGHT = np.cos(np.radians(35.0))
"""Two streets that meet at a junction are one avenue if they turn by less than 35°."""


class Arm(NamedTuple):
    """An end of a street at a junction or dead end."""

    street: int
    piece: int
    """The street's piece there."""
    end: int
    """0 for the street's beginning, 1 for its end."""
    x: float
    y: float
    """Unit vector away from the junction."""


@dataclass(frozen=True, eq=False)
class StreetPlan:
    """Streets R (runs of nodes between junctions) and the pieces E between neighbouring nodes, in metres."""

    nodes: Float[np.ndarray, "N 2"]
    """Metres east and north of the city's centre."""
    arms: dict[int, list[Arm]]
    """The ends of streets at every node that is not of degree 2."""
    piece_ends: Int[np.ndarray, "E 2"]
    """The two nodes of each piece, in the direction of its street; the pieces of a street follow in order."""
    street: Int[np.ndarray, " E"]
    """The street a piece belongs to."""
    chainage: Float[np.ndarray, " E"]
    """How far from the beginning of the street each piece is."""
    length: Float[np.ndarray, " E"]
    direction: Float[np.ndarray, "E 2"]
    """Unit vectors."""
    street_length: Float[np.ndarray, " R"]
    street_hash: UInt64[np.ndarray, " R"]
    """Hash of the places where a street begins and ends."""
    half_width: Float[np.ndarray, " R"]
    """Metres from the middle of a street to the facades."""
    road: Float[np.ndarray, " R"]
    """Metres from the middle of a street to the kerb."""
    clear: Float[np.ndarray, "R 2"]
    """Metres at the beginning and the end of each street that belong to the junction there."""
    avenue: Float[np.ndarray, " R"]
    """Length in metres of the avenue a street is part of: it goes straight on across junctions."""

    @cached_property
    def normal(self) -> Float[np.ndarray, "E 2"]:
        """Unit vectors to the left of each piece."""
        return np.stack([-self.direction[:, 1], self.direction[:, 0]], axis=1)

    @cached_property
    def wide(self) -> Bool[np.ndarray, " R"]:
        """Streets with room for lanes and trees."""
        return self.avenue > 450

    @cached_property
    def frontages(self) -> Float[np.ndarray, "R 2"]:
        """Where the left and the right frontage of each street begin on one long axis.

        A frontage is one side of a street from end to end. All of them laid end to end make an axis on which
        a single number says which street, which side, and how far along.
        """
        lengths = np.repeat(self.street_length + 2.0, 2)
        return (np.cumsum(lengths) - lengths).reshape(-1, 2)

    @cached_property
    def tree(self) -> KDTree:
        """The middles of the pieces, to look for near ones."""
        return KDTree(self.nodes[self.piece_ends].mean(axis=1))

    def strips(
        self, half_width: Float[np.ndarray, " R"], before: np.ndarray | float, after: np.ndarray | float
    ) -> Strips:
        """The space of each piece to both sides of its middle, some metres longer at its ends."""
        return Strips(
            origin=self.nodes[self.piece_ends[:, 0]] - self.direction * np.reshape(before, (-1, 1)),
            direction=self.direction,
            length=self.length + before + after,
            half_width=half_width[self.street],
        )


def make_plan(city: CityGraph) -> StreetPlan:
    """Measure a city's streets. The same streets give the same plan however a file orders them."""
    lat0, turn = city.lat.mean(), (city.lng - city.lng[0] + 180.0) % 360.0 - 180.0
    east = np.radians(turn - turn.mean()) * np.cos(np.radians(lat0)) * EARTH_RADIUS
    nodes = np.stack([east, np.radians(city.lat - lat0) * EARTH_RADIUS], axis=1)
    places = place_hash(city.lat, city.lng)
    paths = _trace_paths(city, places)
    counts = np.array([len(path) - 1 for path in paths])
    ends = np.concatenate([np.stack([path[:-1], path[1:]], axis=1) for path in map(np.array, paths)])
    street = np.repeat(np.arange(len(paths)), counts)
    step = nodes[ends[:, 1]] - nodes[ends[:, 0]]
    length = np.maximum(np.hypot(step[:, 0], step[:, 1]), 1e-6)
    direction = step / length[:, None]
    # Two nodes at one place have no direction between them; any will do.
    direction[np.hypot(direction[:, 0], direction[:, 1]) < 0.5] = (1.0, 0.0)
    total = np.cumsum(length) - length
    first, last = np.cumsum(counts) - counts, np.cumsum(counts) - 1
    street_length = np.add.reduceat(length, first)
    street_hash = mix(places[ends[first, 0]], places[ends[first, 1]], places[ends[last, 1]])

    arms: dict[int, list[Arm]] = {}
    for number, pieces in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for end, piece in enumerate(pieces):
            node = int(ends[piece, end])
            if city.degree[node] != 2:
                x, y = (direction[piece] * (-1.0 if end else 1.0)).tolist()
                arms.setdefault(node, []).append(Arm(number, piece, end, x, y))
    avenue = _avenue_lengths(arms, street_length)
    half_width = np.select([avenue > 1200, avenue > 450], [10.5, 8.0], 6.2) + 1.4 * share(street_hash, 1)
    road = half_width - np.where(avenue > 450, 3.4, 2.3)
    return StreetPlan(
        nodes=nodes,
        arms=arms,
        piece_ends=ends,
        street=street,
        chainage=total - total[first][street],
        length=length,
        direction=direction,
        street_length=street_length,
        street_hash=street_hash,
        half_width=half_width,
        road=road,
        clear=_clear_lengths(arms, road),
        avenue=avenue,
    )


def _trace_paths(city: CityGraph, places: np.ndarray) -> list[list[int]]:
    """The nodes of every street, each street once, in the direction that its places decide."""
    # Streets first; what they leave over are rings without a junction, begun anywhere.
    order = np.argsort(city.degree[city.tails] == 2, kind="stable")
    used: set[tuple[int, int]] = set()
    paths = []
    for half_edge in zip(city.tails[order].tolist(), city.neighbours[order].tolist(), strict=True):
        if half_edge not in used:
            path = follow_street(city, *half_edge)
            used |= {*itertools.pairwise(path), *itertools.pairwise(path[::-1])}
            ends = places[path[:2]].tolist(), places[path[:-3:-1]].tolist()
            paths.append(path if ends[0] <= ends[1] else path[::-1])
    return paths


def _avenue_lengths(arms: dict[int, list[Arm]], street_length: np.ndarray) -> Float[np.ndarray, " R"]:
    """Join streets that go straight on at junctions; the length of what each becomes part of."""
    joined = []
    for here in arms.values():
        pairs = itertools.combinations(enumerate(here), 2)
        turns = sorted((one.x * other.x + one.y * other.y, i, j) for (j, other), (i, one) in pairs)
        taken: set[int] = set()
        for cosine, i, j in turns:
            if cosine < -STRAIGHT and i not in taken and j not in taken:
                taken |= {i, j}
                joined.append((here[i].street, here[j].street))
    avenue = connected_parts(len(street_length), np.array(joined, np.int64).reshape(-1, 2))
    return np.bincount(avenue, weights=street_length)[avenue]


def _clear_lengths(arms: dict[int, list[Arm]], road: np.ndarray) -> Float[np.ndarray, "R 2"]:
    """How far from each end of a street the roads that cross it reach."""
    clear = np.zeros((len(road), 2))
    for here in arms.values():
        if len(here) > 1:
            for one in here:
                sines = [(abs(one.x * other.y - one.y * other.x), other.street) for other in here]
                reach = max((road[street] / sine for sine, street in sines if sine > 0.3), default=0.0)
                clear[one.street, one.end] = min(max(reach, 3.0), 25.0) + 1.0
    return clear
