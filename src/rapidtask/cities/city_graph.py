"""The street graph of a city: nodes with latitude and longitude, undirected streets between them."""

from __future__ import annotations

import hashlib
import importlib
import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rapidtask.errors import InputError

EARTH_RADIUS = 6_371_008.8
"""Mean radius of the Earth in metres."""
METRES_PER_DEGREE = 111_195.0
"""Of latitude, rounded."""
MOST_NODES, LONGEST_STREET = 2_000_000, 1e6
"""More than any city has: 40,000 km of streets, and metres without a junction."""


class CityError(InputError):
    """A city that cannot be used; one line that names the file or city, and the problem."""


def import_optional(module: str, extra: str, what: str) -> Any:
    """Import a library of an optional extra; without it, an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise CityError(f"{what} needs {module}: pip install 'rapidtask[{extra}]'") from None


def one_line(error: BaseException) -> str:
    """The message of another library's error, fit for one of ours."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def check_size(name: str, num_nodes: int, street: float = 0.0) -> None:
    """Refuse more nodes, or a longer street in metres, than a city can have, before memory runs out."""
    if not street <= LONGEST_STREET:
        raise CityError(f"{name}: a street is {street / 1000:,.0f} km long")
    if num_nodes > MOST_NODES:
        raise CityError(f"{name}: more than {MOST_NODES:,} nodes, too large for a city")


def check_places(name: str, lat: np.ndarray, lng: np.ndarray) -> None:
    """Refuse coordinates that are not on the Earth."""
    for title, values, lowest, highest in (("latitude", lat, -90, 90), ("longitude", lng, -180, 360)):
        if (bad := np.flatnonzero(~((values >= lowest) & (values <= highest)))).size:
            raise CityError(
                f"{name}: node {bad[0]} has {title} {values[bad[0]]}, not a number in {lowest}..{highest} "
                f"({bad.size} such nodes)"
            )


@dataclass(frozen=True, eq=False)
class CityGraph:
    """An undirected, simple, connected street graph.

    The neighbours of node i are `neighbours[offsets[i]:offsets[i + 1]]`, sorted by bearing (ties by number).
    Build one with `make_city`, which checks and tidies.
    """

    name: str
    lat: Float[np.ndarray, " N"]
    """Latitude of each node, degrees."""
    lng: Float[np.ndarray, " N"]
    """Longitude of each node, degrees."""
    offsets: Int[np.ndarray, " N+1"]
    """Where the neighbours of each node begin, compressed sparse row."""
    neighbours: Int[np.ndarray, " 2E"]
    """Neighbours of all nodes, node after node: the heads of the half-edges."""
    bearings: Float[np.ndarray, " 2E"]
    """Great-circle initial bearing of each half-edge, radians in (-pi, pi], clockwise from north."""
    source: str = ""
    """Where the streets come from, in words."""
    licence: str = ""
    """Licence of the street data."""
    notes: tuple[str, ...] = field(default=())
    """What was changed on the way in (parts left out, …), one line each."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes, N."""
        return len(self.lat)

    @cached_property
    def checksum(self) -> str:
        """Of its nodes and streets: whether two runs had the same."""
        digest = hashlib.sha256()
        for array in (self.lat, self.lng, self.offsets, self.neighbours):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def degree(self) -> Int[np.ndarray, " N"]:
        """Number of neighbours of each node."""
        return np.diff(self.offsets)

    @cached_property
    def near(self) -> list[tuple[int, ...]]:
        """The neighbours of each node, by bearing, as plain numbers: quicker to walk along than arrays."""
        heads = self.neighbours.tolist()
        return [tuple(heads[begin:end]) for begin, end in itertools.pairwise(self.offsets.tolist())]

    @cached_property
    def tails(self) -> Int[np.ndarray, " 2E"]:
        """The node each half-edge starts from."""
        return np.repeat(np.arange(self.num_nodes, dtype=np.int32), self.degree)

    @cached_property
    def edges(self) -> Int[np.ndarray, "E 2"]:
        """Each undirected edge once, the smaller node first, in order."""
        forward = self.tails < self.neighbours
        edges = np.stack([self.tails[forward], self.neighbours[forward]], axis=1)
        return edges[np.lexsort((edges[:, 1], edges[:, 0]))]

    @property
    def num_intersections(self) -> int:
        """Number of nodes where more than two streets meet."""
        return int((self.degree > 2).sum())


def make_city(
    name: str, lat: np.ndarray, lng: np.ndarray, edges: np.ndarray, *, source: str = "", licence: str = ""
) -> CityGraph:
    """Build a checked city graph of nodes `[N]` in degrees and street pieces `[E, 2]` between their numbers.

    Edges from a node to itself and repeated edges are dropped. Of a graph in several parts the largest is
    kept and `notes` says what was left out: a file cut from a larger map nearly always has such crumbs.
    Errors name the city by its name, which may be that of its file.
    """
    lat, lng = np.asarray(lat, np.float64), np.asarray(lng, np.float64)
    edges = np.asarray(edges)
    if lat.ndim != 1 or lat.shape != lng.shape:
        raise CityError(f"{name}: latitudes {lat.shape} and longitudes {lng.shape} do not match")
    if len(lat) == 0:
        raise CityError(f"{name}: the graph has no nodes")
    if edges.size == 0:
        raise CityError(f"{name}: the graph has no edges")
    if edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
        raise CityError(f"{name}: edges must be pairs of node numbers, got {edges.dtype} {edges.shape}")
    check_size(name, len(lat))
    check_places(name, lat, lng)
    if (bad := np.flatnonzero(((edges < 0) | (edges >= len(lat))).any(axis=1))).size:
        raise CityError(
            f"{name}: edge {bad[0]} joins {edges[bad[0]].tolist()}, but there are {len(lat)} nodes"
        )

    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]].astype(np.int64), axis=1), axis=0)
    if len(edges) == 0:
        raise CityError(f"{name}: every edge joins a node with itself")

    num_parts, keep, edges = largest_part(len(lat), edges)
    left_out = f"kept the largest of {num_parts} unconnected parts: {keep.sum()} of {len(lat)} nodes"
    lat, lng = lat[keep], lng[keep]

    tails, heads = np.concatenate([edges, edges[:, ::-1]]).T
    bearings = great_circle_bearing(lat[tails], lng[tails], lat[heads], lng[heads])
    order = np.lexsort((heads, bearings, tails))
    return CityGraph(
        name=name,
        lat=lat,
        lng=lng,
        offsets=np.searchsorted(tails[order], np.arange(len(lat) + 1)).astype(np.int32),
        neighbours=heads[order].astype(np.int32),
        bearings=bearings[order],
        source=source,
        licence=licence,
        notes=(left_out,) if num_parts > 1 else (),
    )


def great_circle_bearing(
    lat: np.ndarray, lng: np.ndarray, to_lat: np.ndarray, to_lng: np.ndarray
) -> np.ndarray:
    """Initial bearings between points (degrees): radians in (-pi, pi], clockwise from north; 0 to itself."""
    phi, to_phi, turn = np.radians(lat), np.radians(to_lat), np.radians(to_lng - lng)
    return np.arctan2(
        np.sin(turn) * np.cos(to_phi),
        np.cos(phi) * np.sin(to_phi) - np.sin(phi) * np.cos(to_phi) * np.cos(turn),
    )


def great_circle_distance(
    lat: np.ndarray, lng: np.ndarray, to_lat: np.ndarray, to_lng: np.ndarray
) -> np.ndarray:
    """Distances between points (degrees) in metres, by the haversine formula."""
    phi, to_phi = np.radians(lat), np.radians(to_lat)
    half = (
        np.sin((to_phi - phi) / 2) ** 2
        + np.cos(phi) * np.cos(to_phi) * np.sin(np.radians(to_lng - lng) / 2) ** 2
    )
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(half, 0, 1)))


def connected_parts(num_nodes: int, edges: Int[np.ndarray, "E 2"]) -> Int[np.ndarray, " N"]:
    """Number of the connected part that each node belongs to."""
    joined = coo_array((np.ones(len(edges)), edges.T), shape=(num_nodes, num_nodes))
    return connected_components(joined, directed=False)[1]


def largest_part(num_nodes: int, edges: Int[np.ndarray, "E 2"]) -> tuple[int, np.ndarray, np.ndarray]:
    """How many connected parts there are; which nodes the largest has; its edges, their nodes renumbered."""
    labels = connected_parts(num_nodes, edges)
    keep = labels == np.bincount(labels).argmax()
    return labels.max() + 1, keep, (np.cumsum(keep) - 1)[edges[keep[edges[:, 0]]]]
