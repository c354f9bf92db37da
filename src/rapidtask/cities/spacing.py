"""Even spacing: the nodes along streets placed about every 20 m, as in the graphs of StreetLearn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rapidtask.cities.city_graph import CityGraph, great_circle_distance, make_city
from rapidtask.cities.streets import trace_streets

SPACING = 20.0
"""Metres between neighbouring nodes."""


def space_evenly(city: CityGraph, spacing: float = SPACING) -> CityGraph:
    """Replace the nodes along each street by evenly spaced ones; junctions and dead ends stay.

    Growing a neighbourhood counts nodes, so a city drawn with few nodes on straight streets and many on
    bends would be sampled unevenly.
    """
    streets = trace_streets(city)
    starts = np.flatnonzero((city.degree[city.tails] != 2) & (streets.end >= 0))
    if len(starts) == 0:
        return city
    heads, tails, offsets, degree = city.neighbours, city.tails, city.offsets, city.degree
    paths = []
    for half_edge in starts.tolist():
        path = [int(tails[half_edge]), int(heads[half_edge])]
        while degree[path[-1]] == 2:
            one, other = heads[offsets[path[-1]] : offsets[path[-1]] + 2].tolist()
            path.append(other if one == path[-2] else one)
        # Each street is met from both ends, a loop from both of its.
        if (path[0], path[1]) <= (path[-1], path[-2]):
            paths.append(path)
    kept = np.flatnonzero(degree != 2)
    number = np.full(city.num_nodes, -1)
    number[kept] = np.arange(len(kept))
    lines = [(city.lat[path], city.lng[path]) for path in paths]
    ends = [(int(number[path[0]]), int(number[path[-1]])) for path in paths]
    return dataclasses.replace(
        city_from_lines(
            city.name, city.lat[kept], city.lng[kept], ends, lines, spacing=spacing,
            source=city.source, licence=city.licence,
        ),
        notes=city.notes,
    )  # fmt: skip


def city_from_lines(
    name: str,
    lat: np.ndarray,
    lng: np.ndarray,
    ends: Sequence[tuple[int, int]],
    lines: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    spacing: float = SPACING,
    source: str = "",
    licence: str = "",
) -> CityGraph:
    """Build a city from its junctions and the lines of the streets between them.

    Args:
        name: the city's name.
        lat: `[J]` latitude of each junction or dead end.
        lng: `[J]` longitude.
        ends: for each street the numbers of its two ends (equal for a loop).
        lines: for each street the latitudes and longitudes of its points, both ends included.
        spacing: metres between the nodes placed along each street.
        source: where the streets come from.
        licence: licence of the street data.
    """
    all_lat, all_lng, edges = [np.asarray(lat, float)], [np.asarray(lng, float)], []
    count = len(lat)
    direct: set[tuple[int, int]] = set()
    for (start, end), (line_lat, line_lng) in zip(ends, lines, strict=True):
        pieces = great_circle_distance(line_lat[:-1], line_lng[:-1], line_lat[1:], line_lng[1:])
        along = np.concatenate([[0.0], np.cumsum(pieces)])
        # A loop needs two nodes of its own, a second street between two junctions one, or it would vanish.
        least = 3 if start == end else 2 if (min(start, end), max(start, end)) in direct else 1
        num_pieces = max(least, round(along[-1] / spacing)) if np.isfinite(along[-1]) else least
        if num_pieces == 1:
            direct.add((min(start, end), max(start, end)))
        at = along[-1] * np.arange(1, num_pieces) / num_pieces
        all_lat.append(np.interp(at, along, line_lat))
        all_lng.append(np.interp(at, along, line_lng))
        chain = np.concatenate([[start], np.arange(count, count + num_pieces - 1), [end]])
        edges.append(np.stack([chain[:-1], chain[1:]], axis=1))
        count += num_pieces - 1
    joined = np.concatenate(edges).astype(np.int64) if edges else np.zeros((0, 2), np.int64)
    return make_city(
        name, np.concatenate(all_lat), np.concatenate(all_lng), joined, source=source, licence=licence
    )
