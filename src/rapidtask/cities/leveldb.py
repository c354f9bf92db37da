"""The StreetLearn dataset: its street graph and panoramas from a LevelDB, through plyvel (DOMAINS.md).

Its protocol buffers are read by hand: two dozen lines here, against a runtime and generated code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from rapidtask.cities.city_graph import CityError, CityGraph, connected_parts, import_optional, make_city

CONNECTIVITY = b"panos_connectivity"
SOURCE = "StreetLearn"
"""What a city read from the dataset says its source is."""
SMALLEST_SUBGRAPH = 10
"""Connections of smaller subgraphs are dropped, as the dataset's own code does."""


class WireError(ValueError):
    """Bytes that are not a message of the expected kind."""


def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The (field number, value) pairs of a protocol buffer: an int for varints, else the raw bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind, field = tag & 7, tag >> 3
        if field == 0:
            raise WireError("field number 0")
        if kind == 0:
            value, at = _varint(message, at)
            yield field, value
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise WireError(f"wire type {kind}")
        if at + size > len(message):
            raise WireError("ends in the middle of a field")
        yield field, message[at : at + size]
        at += size


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


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise WireError("a number where text or a message should be")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise WireError("text that is not UTF-8") from None


def _double(value: int | bytes) -> float:
    if isinstance(value, int) or len(value) != 8:
        raise WireError("a coordinate or angle that is not a double")
    return struct.unpack("<d", value)[0]


def _lat_lng(message: bytes) -> tuple[float, float]:
    found = {field: _double(value) for field, value in read_fields(message) if field in (1, 2)}
    # proto2: a field left out has its default.
    return found.get(1, 0.0), found.get(2, 0.0)


def _pano_place(message: bytes) -> tuple[str, tuple[float, float] | None]:
    """Id and coordinates of a Pano."""
    name, place = "", None
    for field, value in read_fields(message):
        if field == 1:
            name = _text(value)
        elif field == 9:
            place = _lat_lng(_bytes(value))
    return name, place


def _connection(message: bytes) -> tuple[str, int, list[str]]:
    name, size, neighbours = "", 0, []
    for field, value in read_fields(message):
        if field == 1:
            name = _text(value)
        elif field == 2:
            if not isinstance(value, int):
                raise WireError("a subgraph size that is not a number")
            size = value
        elif field == 3:
            neighbours.append(_text(value))
    return name, size, neighbours


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """An open database; its errors become ours."""
    plyvel = import_optional("plyvel", "streetlearn", f"{path}: the StreetLearn dataset")
    try:
        with plyvel.DB(str(path), create_if_missing=False, paranoid_checks=True) as database:
            yield database
    except plyvel.Error as error:
        raise CityError(
            f"{path}: cannot be read as a LevelDB ({' '.join(str(error).split())[:200]})"
        ) from error


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
    return _city(path, graph)


def _city(path: Path, graph: PanoramaGraph) -> CityGraph:
    return make_city(
        str(path), graph.lat, graph.lng, graph.edges, source=SOURCE, licence="StreetLearn's terms of use"
    )


def _parse_graph(path: Path, message: bytes, database: Any) -> PanoramaGraph:
    """The graph of a StreetLearnGraph message; panoramas without coordinates in it are looked up."""
    places: dict[str, tuple[float, float]] = {}
    links: list[tuple[str, list[str]]] = []
    for field, value in read_fields(message):
        if field == 3:
            name, size, neighbours = _connection(_bytes(value))
            if size >= SMALLEST_SUBGRAPH:
                links.append((name, neighbours))
        elif field == 5:
            name, place = _pano_place(_bytes(value))
            if place is not None:
                places[name] = place
    if not links:
        raise CityError(f"{path}: no connections of subgraphs of {SMALLEST_SUBGRAPH} nodes or more")
    number = {name: i for i, (name, _) in enumerate(links)}
    for name in number:
        if name not in places:
            places[name] = _look_up(path, name, database)
    # Links are made symmetric by being undirected; those to dropped panoramas go with them.
    edges = [(number[name], number[other]) for name, others in links for other in others if other in number]
    lat, lng = np.array([places[name] for name in number]).T
    return PanoramaGraph(list(number), lat, lng, np.array(edges, np.int64).reshape(-1, 2))


def _look_up(path: Path, name: str, database) -> tuple[float, float]:
    record = database.get(name.encode(), verify_checksums=True)
    if record is None:
        raise CityError(f"{path}: panorama {name!r} has no coordinates and no record")
    try:
        place = _pano_place(record)[1]
    except WireError as error:
        raise CityError(f"{path}: the record of panorama {name!r} is damaged ({error})") from error
    if place is None:
        raise CityError(f"{path}: the record of panorama {name!r} has no coordinates")
    return place


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

    def read(self, node: int) -> tuple[bytes, float]:
        """The image file of a node's panorama, and the bearing in degrees that its centre column looks along.

        Raises:
            CityError: if the dataset has no image of it, or its record is damaged.
        """
        return self.read_many([node])[0]

    def read_many(self, nodes: Sequence[int]) -> list[tuple[bytes, float]]:
        """The same for several nodes; the dataset is opened once, and only for the time of the call.

        A LevelDB admits one process at a time, so that it must not stay open.
        """
        with _open(self.path) as database:
            return [self._read(database, node) for node in nodes]

    def _read(self, database: Any, node: int) -> tuple[bytes, float]:
        name = self.names[node]
        record = database.get(name.encode(), verify_checksums=True)
        if record is None:
            raise CityError(f"{self.path}: panorama {name!r} has no record")
        image, heading = b"", 0.0
        try:
            for field, value in read_fields(record):
                if field == 13:
                    heading = _double(value)
                elif field == 16:
                    image = _bytes(value)
        except WireError as error:
            raise CityError(f"{self.path}: the record of panorama {name!r} is damaged ({error})") from error
        if not image:
            raise CityError(f"{self.path}: panorama {name!r} has no image")
        return image, heading
