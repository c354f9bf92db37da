"""GEXF, plain or gzip: the format of the released graphs, and the one imported cities are saved in."""

from __future__ import annotations

import gzip
import io
import json
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from rapidtask.cities.city_graph import CityError, CityGraph, make_city
from rapidtask.files import write_atomically

LATITUDE = ("lat", "latitude", "y")
LONGITUDE = ("lng", "lon", "long", "longitude", "x")


MOST_BYTES, MOST_TAGS = 2**28, 20_000_000
"""Of a file, unpacked: a few kilobytes of gzip can hold more than memory does."""


def read_maybe_gzip(path: Path) -> bytes:
    """The content of a file, unpacked if it begins like gzip; unreadable and huge ones raise CityError."""
    try:
        with open(path, "rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            with gzip.open(file) if packed else file as unpacked:
                data = unpacked.read(MOST_BYTES + 1)
    except EOFError as error:
        raise CityError(f"{path}: the gzip file is truncated") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise CityError(f"{path}: the gzip file is damaged ({error})") from error
    except OSError as error:
        raise CityError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(data) > MOST_BYTES or data.count(b"<") > MOST_TAGS:
        raise CityError(f"{path}: over {MOST_BYTES >> 20} MB or {MOST_TAGS:,} tags, too large for a city")
    return data


def read_gexf(path: Path) -> CityGraph:
    """Read a street graph with node attributes `lat` and `lng`; directed edges are taken both ways.

    networkx reads GEXF too, at half the speed; it makes one node of two with the same id, and up nodes that
    an edge names in vain.
    """
    titles: dict[str, str] = {}
    places: dict[str, tuple[float, float]] = {}
    edges: list[tuple[str, str]] = []
    about: dict[str, str] = {}
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(read_maybe_gzip(path))):
            tag = element.tag.rpartition("}")[2]
            if tag == "attribute":
                titles[element.get("id", "")] = element.get("title", "").lower()
            elif tag == "description":
                about = _read_about(element.text)
            elif tag == "node":
                node = element.get("id", "")
                if node in places:
                    raise CityError(f"{path}: node {node!r} occurs twice")
                # GEXF 1.1 called the reference "id".
                found = [value for value in element.iter() if value.tag.endswith("attvalue")]
                keys = [value.get("for") or value.get("id") or "" for value in found]
                named = {titles.get(k, k): v.get("value", "") for k, v in zip(keys, found, strict=True)}
                places[node] = place_of(str(path), node, named)
                element.clear()
            elif tag == "edge":
                edges.append((element.get("source", ""), element.get("target", "")))
                element.clear()
    except CityError:
        raise
    # The last two are about the encoding that the first line declares.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise CityError(f"{path}: not well-formed XML ({error})") from error
    if not places:
        raise CityError(f"{path}: no nodes: not a GEXF file, or an empty graph")
    number = {node: i for i, node in enumerate(places)}
    try:
        joined = np.array([(number[a], number[b]) for a, b in edges], np.int64).reshape(-1, 2)
    except KeyError as error:
        raise CityError(f"{path}: there is no node {error}, where an edge ends") from None
    lat, lng = np.array(list(places.values())).T
    return make_city(str(path), lat, lng, joined, **about)


def place_of(name: str, node: object, values: Mapping[str, Any]) -> tuple[float, float]:
    """Latitude and longitude by the attributes of a node of the city with that name."""
    found = []
    for names in (LATITUDE, LONGITUDE):
        value = next((values[key] for key in names if key in values), None)
        if value is None:
            raise CityError(
                f"{name}: node {node!r} has no attribute {names[0]!r} (or {', '.join(names[1:])})"
            )
        try:
            found.append(float(value))
        except (TypeError, ValueError):
            raise CityError(f"{name}: node {node!r} has {names[0]} {value!r}, not a number") from None
    return found[0], found[1]


def _read_about(text: str | None) -> dict[str, str]:
    """Source and licence, if the description is one that `save_city` wrote."""
    try:
        about = json.loads(text or "")
        return {name: str(about[name]) for name in ("source", "licence")}
    except (ValueError, RecursionError, TypeError, LookupError):
        return {}


def save_city(city: CityGraph, path: Path) -> Path:
    """Save a city as .gexf.gz, at once or not at all; networkx and the released environment read it too."""
    about = json.dumps({"source": city.source, "licence": city.licence})
    lines = [
        "<?xml version='1.0' encoding='utf-8'?>",
        '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">',
        f"<meta><creator>rapidtask</creator><description>{escape(about)}</description></meta>",
        f'<graph defaultedgetype="undirected" mode="static" name={quoteattr(city.name)}>',
        '<attributes mode="static" class="node">',
        '<attribute id="0" title="lat" type="double" /><attribute id="1" title="lng" type="double" />',
        "</attributes>",
        "<nodes>",
    ]
    for i, (lat, lng) in enumerate(zip(city.lat.tolist(), city.lng.tolist(), strict=True)):
        values = f'<attvalue for="0" value="{lat!r}" /><attvalue for="1" value="{lng!r}" />'
        lines.append(f'<node id="{i}" label="{i}"><attvalues>{values}</attvalues></node>')
    lines += ["</nodes>", "<edges>"]
    lines += [f'<edge id="{i}" source="{a}" target="{b}" />' for i, (a, b) in enumerate(city.edges.tolist())]
    lines += ["</edges>", "</graph>", "</gexf>", ""]
    # No time stamp and no name inside, so that the same city is the same file.
    write_atomically(path, gzip.compress("\n".join(lines).encode(), mtime=0))
    return path
