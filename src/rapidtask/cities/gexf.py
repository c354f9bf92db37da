"""GEXF, plain or gzip: the format of the released graphs, and the one imported cities are saved in."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from xml.sax.saxutils import quoteattr

import numpy as np

from rapidtask.cities.city_graph import CityError, CityGraph, make_city

LATITUDE = ("lat", "latitude", "y")
LONGITUDE = ("lng", "lon", "long", "longitude", "x")


@contextmanager
def open_maybe_gzip(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacked if it begins like gzip; unreadable ones raise CityError."""
    try:
        with open(path, "rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            if not packed:
                yield file
                return
            with gzip.open(file) as unpacked:
                yield unpacked  # type: ignore[misc]
    except EOFError as error:
        raise CityError(f"{path}: the gzip file is truncated") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise CityError(f"{path}: the gzip file is damaged ({error})") from error
    except OSError as error:
        raise CityError(f"{path}: cannot be read ({error.strerror or error})") from error


def read_gexf(path: Path) -> CityGraph:
    """Read a street graph with node attributes `lat` and `lng`; directed edges are taken both ways."""
    titles: dict[str, str] = {}
    number: dict[str, int] = {}
    places: list[tuple[float, float]] = []
    edges: list[tuple[str, str]] = []
    about: dict[str, str] = {}
    with open_maybe_gzip(path) as file:
        try:
            for _, element in ElementTree.iterparse(file):
                tag = element.tag.rpartition("}")[2]
                if tag == "attribute":
                    titles[element.get("id", "")] = element.get("title", "").lower()
                elif tag == "description":
                    about = _read_about(element.text)
                elif tag == "node":
                    name = element.get("id", "")
                    if name in number:
                        raise CityError(f"{path}: node {name!r} occurs twice")
                    number[name] = len(places)
                    places.append(_place(path, element, titles))
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
    for edge in edges:
        for end in edge:
            if end not in number:
                raise CityError(
                    f"{path}: an edge joins {edge[0]!r} and {edge[1]!r}, but there is no node {end!r}"
                )
    lat, lng = np.array(places).T
    joined = np.array([(number[a], number[b]) for a, b in edges], np.int64).reshape(-1, 2)
    return make_city(
        str(path), lat, lng, joined, source=about.get("source", ""), licence=about.get("licence", "")
    )


def _place(path: Path, node: ElementTree.Element, titles: dict[str, str]) -> tuple[float, float]:
    """Latitude and longitude of a node element."""
    values = {}
    for child in node.iter():
        if child.tag.rpartition("}")[2] == "attvalue":
            # GEXF 1.1 called the reference "id".
            key = child.get("for") or child.get("id") or ""
            values[titles.get(key, key)] = child.get("value", "")
    found = []
    for names, title in ((LATITUDE, "lat"), (LONGITUDE, "lng")):
        text = next((values[name] for name in names if name in values), None)
        if text is None:
            raise CityError(f"{path}: node {node.get('id')!r} has no attribute {title!r}")
        try:
            found.append(float(text))
        except ValueError:
            raise CityError(f"{path}: node {node.get('id')!r} has {title} {text!r}, not a number") from None
    return found[0], found[1]


def _read_about(text: str | None) -> dict[str, str]:
    """Source and licence, if the description is one that `save_city` wrote."""
    try:
        about = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(about, dict):
        return {}
    return {key: value for key, value in about.items() if isinstance(value, str)}


def save_city(city: CityGraph, path: Path) -> Path:
    """Save a city as .gexf.gz, at once or not at all; networkx and the released environment read it too."""
    about = json.dumps({"source": city.source, "licence": city.licence})
    lines = [
        "<?xml version='1.0' encoding='utf-8'?>",
        '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">',
        f"<meta><creator>rapidtask</creator><description>{_escape(about)}</description></meta>",
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


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a city is not.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
