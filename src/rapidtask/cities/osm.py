"""OpenStreetMap: .osm and .osm.pbf files through pyosmium, GraphML as OSMnx saves it, place names."""

from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from networkx.readwrite.graphml import GraphMLReader

from rapidtask.cities.city_graph import CityError, CityGraph, check_size, import_optional, make_city, one_line
from rapidtask.cities.gexf import place_of, read_maybe_gzip
from rapidtask.cities.spacing import city_from_lines, space_evenly

MAIN = ("motorway", "trunk", "primary", "secondary", "tertiary")
OTHER = ("unclassified", "residential", "living_street", "pedestrian", "road")
STREETS = frozenset([*MAIN, *(f"{road}_link" for road in MAIN), *OTHER])
"""Values of the tag `highway` that are streets: where a car with a camera may go, and pedestrian streets."""

LICENCE = "ODbL, © OpenStreetMap contributors"


def read_osm(path: Path) -> CityGraph:
    """Read the streets of an OpenStreetMap extract (.osm, .osm.gz, .osm.bz2, .osm.pbf)."""
    osmium = import_optional("osmium", "osm", f"{path}: an OpenStreetMap file")
    place: dict[int, tuple[float, float]] = {}
    # Editors number new objects from -1 down; osmium keeps no locations of those.
    new: dict[int, tuple[float, float]] = {}
    lines: list[list[int]] = []
    try:
        for item in osmium.FileProcessor(str(path)).with_locations():
            if item.is_node() and item.id < 0 and item.location.valid():
                if item.id in new:
                    raise CityError(f"{path}: node {item.id} occurs twice")
                new[item.id] = (item.location.lat, item.location.lon)
            if not item.is_way() or item.tags.get("highway") not in STREETS or item.tags.get("area") == "yes":
                continue
            # An extract cuts streets at its border: nodes beyond it have no location.
            nodes = list(item.nodes)
            place |= {n.ref: (n.location.lat, n.location.lon) for n in nodes if n.location.valid()}
            place |= {n.ref: new[n.ref] for n in nodes if n.ref in new}
            parts = itertools.groupby((n.ref for n in nodes), place.__contains__)
            lines += [list(part) for is_inside, part in parts if is_inside]
            check_size(str(path), len(place))
    except CityError:
        raise
    # pyosmium raises RuntimeError, InvalidLocationError, … : whatever is wrong is in the file.
    except Exception as error:
        raise CityError(f"{path}: cannot be read as OpenStreetMap data ({one_line(error)})") from error
    lines = [line for line in lines if len(line) > 1]
    if not lines:
        raise CityError(f"{path}: no streets (no way with a highway tag of a street)")
    number = {node: i for i, node in enumerate(place)}
    lat, lng = np.array(list(place.values())).T
    edges = [(number[a], number[b]) for line in lines for a, b in itertools.pairwise(line)]
    return space_evenly(
        make_city(str(path), lat, lng, np.array(edges), source="OpenStreetMap", licence=LICENCE)
    )


def read_graphml(path: Path) -> CityGraph:
    """Read GraphML, plain or gzip, with node attributes x and y (OSMnx) or lat and lon."""
    # Some files leave the name space out.
    data = read_maybe_gzip(path).replace(b"<graphml>", f'<graphml xmlns="{_Reader.NS_GRAPHML}">'.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            graph = next(_Reader()(string=data), None)
        # networkx has no error of its own here: KeyError, AttributeError, ParseError, … all mean the file.
        except Exception as error:
            raise CityError(f"{path}: cannot be read as GraphML ({one_line(error)})") from error
    if graph is None:
        raise CityError(f"{path}: cannot be read as GraphML (it has no graph)")
    return city_from_networkx(graph, str(path))


class _Reader(GraphMLReader):
    """networkx's, which makes one node of two with the same id, here refused."""

    def add_node(self, G: Any, node_xml: Any, *rest: Any) -> None:
        if (node := str(node_xml.get("id"))) in G:
            raise CityError(f"node {node!r} occurs twice")
        check_size("graph", len(G))
        super().add_node(G, node_xml, *rest)


def city_from_networkx(graph: Any, name: str, *, source: str = "", licence: str = "") -> CityGraph:
    """A city from a networkx graph whose nodes have x and y, or lat and lon, in degrees.

    An edge's attribute `geometry` (a LINESTRING in well-known text, or a shape that prints as one), which
    OSMnx adds when it simplifies, gives the line of its street.
    """
    number = {node: i for i, node in enumerate(graph)}
    places = np.array([place_of(name, node, data) for node, data in graph.nodes(data=True)]).reshape(-1, 2)
    ends, lines, seen = [], [], set()
    for a, b, data in graph.edges(data=True):
        start, end = number[a], number[b]
        points = _line(name, data.get("geometry"))
        if points is None:
            points = places[[start, end]]
        # Directed graphs have most streets twice; the same points mean the same street.
        key = (min(start, end), max(start, end), frozenset(map(tuple, points.round(7).tolist())))
        if key not in seen and (start != end or len(points) > 2):
            seen.add(key)
            ends.append((start, end))
            lines.append(points)
    # Checked before distances are taken along the lines.
    if not np.isfinite(np.concatenate([places, *lines])).all():
        raise CityError(f"{name}: a coordinate is not a finite number")
    return space_evenly(city_from_lines(name, places, ends, lines, source=source, licence=licence))


def _line(name: str, geometry: Any) -> np.ndarray | None:
    """`[P, 2]` latitudes and longitudes of a LINESTRING, if there is one."""
    if geometry is None:
        return None
    match = re.fullmatch(r"\s*LINESTRING\s*\(([^()]*)\)\s*", str(geometry), re.IGNORECASE)
    try:
        points = np.array([[float(v) for v in point.split()[:2]] for point in match[1].split(",")])  # type: ignore[index]
        return points.reshape(-1, 2)[:, ::-1] if len(points) > 1 else None
    except (TypeError, ValueError):
        raise CityError(f"{name}: an edge has geometry {str(geometry)[:40]!r}, not a LINESTRING") from None


def fetch_place(place: str) -> CityGraph:
    """Look a place name up and download its streets through OSMnx; needs a network."""
    osmnx = import_optional("osmnx", "places", f"{place}: no such file; as a place name it")
    try:
        graph = osmnx.graph_from_place(place, network_type="drive", simplify=False)
    except Exception as error:
        raise CityError(
            f"{place}: no such file, and as a place name it could not be fetched "
            f"(is there a network? {type(error).__name__}: {one_line(error)})"
        ) from error
    return city_from_networkx(graph, place, source="OpenStreetMap", licence=LICENCE)
