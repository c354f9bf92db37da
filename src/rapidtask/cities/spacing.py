"""Even spacing: the nodes along streets placed about every 20 m, as in the graphs of StreetLearn."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from rapidtask.cities.city_graph import CityGraph, great_circle_distance, make_city
from rapidtask.cities.streets import follow_street

SPACING = 20.0
"""Metres between neighbouring nodes."""


def space_evenly(city: CityGraph) -> CityGraph:
    """Replace the nodes along each street by evenly spaced ones; junctions and dead ends stay.

    Growing a neighbourhood counts nodes, so a city drawn with few nodes on straight streets and many on
    bends would be sampled unevenly.
    """
    tails, heads = (part[city.degree[city.tails] != 2].tolist() for part in (city.tails, city.neighbours))
    paths = [follow_street(city, tail, head) for tail, head in zip(tails, heads, strict=True)]
    if not paths:
        return city
    # Each street is met from both ends, a loop from both of its.
    paths = [path for path in paths if (path[0], path[1]) <= (path[-1], path[-2])]
    kept = city.degree != 2
    number = np.cumsum(kept) - 1
    ends = [(int(number[path[0]]), int(number[path[-1]])) for path in paths]
    lines = [(city.lat[path], city.lng[path]) for path in paths]
    about = {"source": city.source, "licence": city.licence}
    spaced = city_from_lines(city.name, city.lat[kept], city.lng[kept], ends, lines, **about)
    return dataclasses.replace(spaced, notes=city.notes)


def city_from_lines(
    name: str,
    lat: np.ndarray,
    lng: np.ndarray,
    ends: Sequence[tuple[int, int]],
    lines: Sequence[tuple[np.ndarray, np.ndarray]],
    **about: str,
) -> CityGraph:
    """Build a city from its junctions `[J]` and the lines of the streets between them.

    Each street has the numbers of its two `ends` (equal for a loop), and a line: the latitudes and longitudes
    of its points, both ends included. Source and licence of the streets go to `make_city`.
    """
    all_lat, all_lng = [np.asarray(lat, float)], [np.asarray(lng, float)]
    edges: list[tuple[int, int]] = []
    count = len(lat)
    direct: set[tuple[int, int]] = set()
    for (start, end), (line_lat, line_lng), pieces in zip(ends, lines, _pieces(lines), strict=True):
        along = np.zeros(len(line_lat))
        np.cumsum(pieces, out=along[1:])
        # A loop needs two nodes of its own, a second street between two junctions one, or it would vanish.
        least = 3 if start == end else 2 if (min(start, end), max(start, end)) in direct else 1
        num_pieces = max(least, round(along[-1] / SPACING)) if np.isfinite(along[-1]) else least
        if num_pieces == 1:
            direct.add((min(start, end), max(start, end)))
        at = along[-1] * np.arange(1, num_pieces) / num_pieces
        all_lat.append(np.interp(at, along, line_lat))
        all_lng.append(np.interp(at, along, line_lng))
        edges += itertools.pairwise([start, *range(count, count + num_pieces - 1), end])
        count += num_pieces - 1
    joined = np.array(edges, np.int64).reshape(-1, 2)
    return make_city(name, np.concatenate(all_lat), np.concatenate(all_lng), joined, **about)


def _pieces(lines: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """Metres between the points of each line, measured all at once: lines are many and short."""
    if not lines:
        return []
    lat, lng = (np.concatenate(parts) for parts in zip(*lines, strict=True))
    starts = np.cumsum([0] + [len(line_lat) for line_lat, _ in lines])
    metres = great_circle_distance(lat[:-1], lng[:-1], lat[1:], lng[1:])
    return [metres[start : end - 1] for start, end in itertools.pairwise(starts.tolist())]
