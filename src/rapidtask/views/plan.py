"""The plan of a city in metres: its streets from end to end, how wide each is, and where crossings begin."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt64

from rapidtask.cities.city_graph import EARTH_RADIUS, CityGraph
from rapidtask.views.hashing import mix, place_hash, share

STRAIGHT = np.cos(np.radians(35.0))
"""Two streets that meet at a junction are one avenue if they turn by less than 35°."""

DEAD_END = 9.0
"""Metres by which the space of a dead end goes on behind its last node."""

Points = Float[np.ndarray, "N 2"]
"""Metres east and north of the city's centre."""


@dataclass(frozen=True, eq=False)
class StreetPlan:
    """Streets R (runs of nodes between junctions) and the pieces E between neighbouring nodes."""

    nodes: Points
    """Where the nodes are."""
    piece_ends: Int[np.ndarray, "E 2"]
    """The two nodes of each piece, in the direction of its street; the pieces of a street follow in order."""
    street: Int[np.ndarray, " E"]
    """The street a piece belongs to."""
    chainage: Float[np.ndarray, " E"]
    """Metres from the beginning of the street to the piece."""
    length: Float[np.ndarray, " E"]
    """Metres."""
    direction: Float[np.ndarray, "E 2"]
    """Unit vectors."""
    street_length: Float[np.ndarray, " R"]
    """Metres."""
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

    @property
    def normal(self) -> Float[np.ndarray, "E 2"]:
        """Unit vectors to the left of each piece."""
        return np.stack([-self.direction[:, 1], self.direction[:, 0]], axis=1)


def make_plan(city: CityGraph) -> StreetPlan:
    """Measure a city's streets. The same streets give the same plan however a file orders them."""
    nodes = to_metres(city, city.lat, city.lng)

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
    total = np.cumsum(length)
    first = np.cumsum(counts) - counts
    chainage = total - length - (total - length)[first][street]
    street_length = np.add.reduceat(length, first)
    street_hash = mix(places[ends[first, 0]], places[ends[first, 1]], places[ends[first + counts - 1, 1]])

    arms = _arms(ends, direction, street, first, counts, city.degree)
    avenue = _avenue_lengths(arms, street_length)
    jitter = share(street_hash, 1)
    half_width = np.select([avenue > 1200, avenue > 450], [10.5, 8.0], 6.2) + 1.4 * jitter
    road = half_width - np.where(avenue > 450, 3.4, 2.3)
    return StreetPlan(
        nodes=nodes,
        piece_ends=ends,
        street=street,
        chainage=chainage,
        length=length,
        direction=direction,
        street_length=street_length,
        street_hash=street_hash,
        half_width=half_width,
        road=road,
        clear=_clear_lengths(arms, road),
        avenue=avenue,
    )


def to_metres(city: CityGraph, lat: np.ndarray, lng: np.ndarray) -> Points:
    """Places (degrees) in metres east and north of a city's centre."""
    lat0, lng0 = float(city.lat.mean()), float(city.lng[0])
    middle = ((city.lng - lng0 + 180.0) % 360.0 - 180.0).mean()
    turn = (lng - lng0 + 180.0) % 360.0 - 180.0
    east = np.radians(turn - middle) * np.cos(np.radians(lat0)) * EARTH_RADIUS
    return np.stack([east, np.radians(lat - lat0) * EARTH_RADIUS], axis=1)


def _trace_paths(city: CityGraph, places: np.ndarray) -> list[list[int]]:
    """The nodes of every street, each street once, in the direction that its places decide."""
    offsets, heads = city.offsets.tolist(), city.neighbours.tolist()
    degree, hashes = city.degree.tolist(), places.tolist()
    used = [False] * len(heads)
    half_edge = {}
    for node in range(city.num_nodes):
        for i in range(offsets[node], offsets[node + 1]):
            half_edge[node, heads[i]] = i
    paths = []
    # Streets first; what they leave over are rings without a junction, begun anywhere.
    for ring in (False, True):
        for start in range(city.num_nodes):
            if (degree[start] == 2) != ring:
                continue
            for i in range(offsets[start], offsets[start + 1]):
                if used[i]:
                    continue
                path = [start, heads[i]]
                while degree[path[-1]] == 2 and path[-1] != start:
                    one, other = heads[offsets[path[-1]] : offsets[path[-1]] + 2]
                    path.append(other if one == path[-2] else one)
                for a, b in itertools.pairwise(path):
                    used[half_edge[a, b]] = used[half_edge[b, a]] = True
                forward = (hashes[path[0]], hashes[path[1]])
                backward = (hashes[path[-1]], hashes[path[-2]])
                paths.append(path if forward <= backward else path[::-1])
    return paths


@dataclass(frozen=True)
class _Arm:
    """An end of a street at a junction or dead end."""

    street: int
    end: int
    """0 for the street's beginning, 1 for its end."""
    x: float
    y: float
    """Unit vector away from the junction."""


def _arms(ends, direction, street, first, counts, degree) -> dict[int, list[_Arm]]:
    """The arms at every node that is not of degree 2."""
    arms: dict[int, list[_Arm]] = {}
    for number, (begin, count) in enumerate(zip(first.tolist(), counts.tolist(), strict=True)):
        for end, piece, sign in ((0, begin, 1.0), (1, begin + count - 1, -1.0)):
            node = int(ends[piece, end])
            if degree[node] != 2:
                x, y = (sign * direction[piece]).tolist()
                arms.setdefault(node, []).append(_Arm(number, end, x, y))
    return arms


def _avenue_lengths(arms: dict[int, list[_Arm]], street_length: np.ndarray) -> Float[np.ndarray, " R"]:
    """Join streets that go straight on at junctions; the length of what each becomes part of."""
    root = list(range(len(street_length)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for here in arms.values():
        turns = sorted(
            (one.x * other.x + one.y * other.y, i, j)
            for i, one in enumerate(here)
            for j, other in enumerate(here[:i])
        )
        taken: set[int] = set()
        for cosine, i, j in turns:
            if cosine < -STRAIGHT and i not in taken and j not in taken:
                taken |= {i, j}
                root[find(here[i].street)] = find(here[j].street)
    roots = np.array([find(i) for i in range(len(root))])
    return np.bincount(roots, weights=street_length, minlength=len(root))[roots]


def _clear_lengths(arms: dict[int, list[_Arm]], road: np.ndarray) -> Float[np.ndarray, "R 2"]:
    """How far from each end of a street the roads that cross it reach."""
    clear = np.zeros((len(road), 2))
    for here in arms.values():
        for i, one in enumerate(here):
            reach = 0.0
            for j, other in enumerate(here):
                sine = abs(one.x * other.y - one.y * other.x)
                if i != j and sine > 0.3:
                    reach = max(reach, road[other.street] / sine)
            if len(here) > 1:
                clear[one.street, one.end] = min(max(reach, 3.0), 25.0) + 1.0
    return clear
