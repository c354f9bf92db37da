"""The StreetLearn dataset: its street graph and panoramas from a LevelDB, through plyvel (DOMAINS.md).

Its protocol buffers are read by hand: two dozen lines here, against a runtime and generated code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from rapidtask.cities.city_graph import (
    CityError,
    CityGraph,
    connected_parts,
    import_optional,
    make_city,
    one_line,
)

T = TypeVar("T")
CONNECTIVITY = b"panos_connectivity"
SOURCE = "StreetLearn"
"""What a city read from the dataset says its source is."""
SMALLEST_SUBGRAPH = 10
"""Connections of smaller subgraphs are dropped, as the dataset's own code does."""


class WireError(ValueError):
    """Bytes that are not a message of the expected kind."""


Fields = dict[int, list[int | bytes]]
"""The values of a message by the numbers of their fields: an int for varints, else the raw bytes."""


def read_fields(message: bytes) -> Fields:
    """Take a protocol buffer apart."""
    found: Fields = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind, field = tag & 7, tag >> 3
        if field == 0:
            raise WireError("field number 0")
        if kind == 0:
            value, at = _varint(message, at)
        else:
            if kind == 2:
                size, at = _varint(message, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise WireError(f"wire type {kind}")
            if at + size > len(message):
                raise WireError("ends in the middle of a field")
            value, at = message[at : at + size], at + size
        found.setdefault(field, []).append(value)
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise WireError("ends in the middle of a number")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise WireError("number too long")


def _messages(fields: Fields, number: int) -> list[bytes]:
    values = fields.get(number, [])
    if any(isinstance(value, int) for value in values):
        raise WireError("a number where text or a message should be")
    return values  # type: ignore[return-value]


def _texts(fields: Fields, number: int) -> list[str]:
    try:
        return [value.decode() for value in _messages(fields, number)]
    except UnicodeDecodeError:
        raise WireError("text that is not UTF-8") from None


def _double(fields: Fields, number: int) -> float:
    # proto2: of a field given twice the last value counts, one left out has its default.
    value = fields.get(number, [bytes(8)])[-1]
    if isinstance(value, int) or len(value) != 8:
        raise WireError("a coordinate or angle that is not a double")
    return struct.unpack("<d", value)[0]


def _place(pano: Fields) -> tuple[float, float] | None:
    """Coordinates of a Pano, if it has them."""
    for message in _messages(pano, 9)[-1:]:
        point = read_fields(message)
        return _double(point, 1), _double(point, 2)
    return None


def _picture(pano: Fields) -> tuple[bytes, float] | None:
    """The image file of a Pano, if it has one, and the bearing in degrees that its middle looks along."""
    image = b"".join(_messages(pano, 16)[-1:])
    return (image, _double(pano, 13)) if image else None


def _from_record(path: Path, database: Any, name: str, what: str, take: Callable[[Fields], T | None]) -> T:
    """What `take` finds in the record of a panorama."""
    record = database.get(name.encode(), verify_checksums=True)
    if record is None:
        raise CityError(f"{path}: panorama {name!r} has no {what} and no record")
    try:
        found = take(read_fields(record))
    except WireError as error:
        raise CityError(f"{path}: the record of panorama {name!r} is damaged ({error})") from error
    if found is None:
        raise CityError(f"{path}: the record of panorama {name!r} has no {what}")
    return found


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """An open database; its errors become ours."""
    plyvel = import_optional("plyvel", "streetlearn", f"{path}: the StreetLearn dataset")
    try:
        with plyvel.DB(str(path), create_if_missing=False, paranoid_checks=True) as database:
            yield database
    except plyvel.Error as error:
        raise CityError(f"{path}: cannot be read as a LevelDB ({one_line(error)})") from error


@dataclass(frozen=True, eq=False)
class PanoramaGraph:
    """The graph of a dataset as it is stored: all its subgraphs that are large enough."""

    names: list[str]
    """Ids of the panoramas, N."""
    lat: Float[np.ndarray, " N"]
    lng: Float[np.ndarray, " N"]
    edges: Int[np.ndarray, "E 2"]
    """Links, one way or both."""


def _read_graph(path: Path, database: Any) -> PanoramaGraph:
    message = database.get(CONNECTIVITY, verify_checksums=True)
    if message is None:
        raise CityError(f"{path}: no key {CONNECTIVITY.decode()!r}: not a StreetLearn dataset")
    try:
        return _parse_graph(path, message, database)
    except WireError as error:
        raise CityError(f"{path}: the record of {CONNECTIVITY.decode()!r} is damaged ({error})") from error


def read_leveldb(path: Path) -> CityGraph:
    """Read the street graph of a StreetLearn dataset (a LevelDB directory)."""
    with _open(path) as database:
        graph = _read_graph(path, database)
    return make_city(
        str(path), graph.lat, graph.lng, graph.edges, source=SOURCE, licence="StreetLearn's terms of use"
    )


def _parse_graph(path: Path, message: bytes, database: Any) -> PanoramaGraph:
    """The graph of a StreetLearnGraph message; panoramas without coordinates in it are looked up."""
    graph = read_fields(message)
    links: dict[str, list[str]] = {}
    for connection in map(read_fields, _messages(graph, 3)):
        size = connection.get(2, [0])[-1]
        if not isinstance(size, int):
            raise WireError("a subgraph size that is not a number")
        if size >= SMALLEST_SUBGRAPH:
            links["".join(_texts(connection, 1)[-1:])] = _texts(connection, 3)
    if not links:
        raise CityError(f"{path}: no connections of subgraphs of {SMALLEST_SUBGRAPH} nodes or more")
    panos = map(read_fields, _messages(graph, 5))
    found = {"".join(_texts(pano, 1)[-1:]): _place(pano) for pano in panos}
    places = [found.get(name) or _from_record(path, database, name, "coordinates", _place) for name in links]
    number = {name: i for i, name in enumerate(links)}
    # Links are made symmetric by being undirected; those to dropped panoramas go with them.
    edges = [(number[name], number[other]) for name in links for other in links[name] if other in number]
    lat, lng = np.array(places).T
    return PanoramaGraph(list(number), lat, lng, np.array(edges, np.int64).reshape(-1, 2))


class PanoramaReader:
    """The panoramas of a dataset, by the numbers of a city's nodes."""

    def __init__(self, path: Path, city: CityGraph) -> None:
        """Find the panorama of each node.

        Raises:
            CityError: if the city is not the one of this dataset.
        """
        self.path = path
        with _open(path) as database:
            graph = _read_graph(path, database)
        # As `make_city` does: the largest part is the city.
        labels = connected_parts(len(graph.names), graph.edges[graph.edges[:, 0] != graph.edges[:, 1]])
        kept = np.flatnonzero(labels == np.bincount(labels).argmax())
        self.names = [graph.names[i] for i in kept]
        if not (np.array_equal(graph.lat[kept], city.lat) and np.array_equal(graph.lng[kept], city.lng)):
            raise CityError(f"{path}: holds other panoramas than the nodes of {city.name}")

    def read_many(self, nodes: Sequence[int]) -> list[tuple[bytes, float]]:
        """Each node's image file, and the bearing in degrees that its centre column looks along.

        The dataset is opened once, and only for the time of the call: a LevelDB admits one process at a time.

        Raises:
            CityError: if the dataset has no image of a node, or its record is damaged.
        """
        with _open(self.path) as database:
            return [_from_record(self.path, database, self.names[i], "image", _picture) for i in nodes]
