"""The StreetLearn dataset: its street graph from a LevelDB, through plyvel.

Its protocol buffers are read by hand: two dozen lines here, against a runtime and generated code.
"""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from rapidtask.cities.city_graph import CityError, CityGraph, import_optional, make_city, one_line

CONNECTIVITY = b"panos_connectivity"
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


def _place_in_record(path: Path, database: Any, name: str) -> tuple[float, float]:
    """Coordinates of a panorama by its own record."""
    record = database.get(name.encode(), verify_checksums=True)
    if record is None:
        raise CityError(f"{path}: panorama {name!r} has no coordinates and no record")
    try:
        found = _place(read_fields(record))
    except WireError as error:
        raise CityError(f"{path}: the record of panorama {name!r} is damaged ({error})") from error
    if found is None:
        raise CityError(f"{path}: the record of panorama {name!r} has no coordinates")
    return found


def read_leveldb(path: Path) -> CityGraph:
    """Read the street graph of a StreetLearn dataset (a LevelDB directory).

    To open one is to write to it, so a copy is opened; tables, the bulk of it, never change and are linked.
    """
    plyvel = import_optional("plyvel", "streetlearn", f"{path}: the StreetLearn dataset")
    with tempfile.TemporaryDirectory() as folder:
        try:
            for file in filter(Path.is_file, path.iterdir()):
                copy = os.symlink if file.suffix in (".ldb", ".sst") else shutil.copyfile
                copy(file.resolve(), Path(folder, file.name))
            with plyvel.DB(folder, create_if_missing=False, paranoid_checks=True) as database:
                message = database.get(CONNECTIVITY, verify_checksums=True)
                if message is None:
                    raise CityError(f"{path}: no key {CONNECTIVITY.decode()!r}: not a StreetLearn dataset")
                places, edges = _parse_graph(path, message, database)
        except (plyvel.Error, OSError) as error:
            problem = one_line(error).replace(folder, path.name)
            raise CityError(f"{path}: cannot be read as a LevelDB ({problem})") from error
        except WireError as error:
            raise CityError(f"{path}: record {CONNECTIVITY.decode()!r} is damaged ({error})") from error
    lat, lng = places.T
    licence = "StreetLearn's terms of use"
    return make_city(str(path), lat, lng, edges, source="StreetLearn", licence=licence)


def _parse_graph(
    path: Path, message: bytes, database: Any
) -> tuple[Float[np.ndarray, "N 2"], Int[np.ndarray, "E 2"]]:
    """Latitudes and longitudes, and links one way or both, of all subgraphs that are large enough.

    Panoramas without coordinates in the StreetLearnGraph message are looked up.
    """
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
    places = [found.get(name) or _place_in_record(path, database, name) for name in links]
    number = {name: i for i, name in enumerate(links)}
    # Links are made symmetric by being undirected; those to dropped panoramas go with them.
    edges = [(number[name], number[other]) for name in links for other in links[name] if other in number]
    return np.array(places), np.array(edges, np.int64).reshape(-1, 2)
