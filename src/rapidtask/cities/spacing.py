"""Even spacing: the nodes along streets placed about every 20 m, as in the graphs of StreetLearn."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from rapidtask.cities.city_graph import CityGraph, check_places, check_size, make_city
from rapidtask.cities.streets import piece_lengths, trace_streets

SPACING = 20.0
"""Metres between neighbouring nodes."""
Places = Float[np.ndarray, "P 2"]
"""Latitudes and longitudes in degrees."""


def space_evenly(city: CityGraph) -> CityGraph:
    """Replace the nodes along each street by evenly spaced ones; junctions and dead ends stay.

    Growing a neighbourhood counts nodes, so a city drawn with few nodes on straight streets and many on
    bends would be sampled unevenly.
    """
    paths, _ = trace_streets(city)
    if not paths:
        return city
    # Each street is met from both ends, a loop from both of its.
    paths = [path for path in paths if (path[0], path[1]) <= (path[-1], path[-2])]
    kept = city.degree != 2
    number = np.cumsum(kept) - 1
    ends = [(int(number[path[0]]), int(number[path[-1]])) for path in paths]
    places = np.stack([city.lat, city.lng], axis=1)
    about = {"source": city.source, "licence": city.licence}
    spaced = city_from_lines(city.name, places[kept], ends, [places[path] for path in paths], **about)
    return dataclasses.replace(spaced, notes=city.notes)


def city_from_lines(
    name: str, places: Places, ends: Sequence[tuple[int, int]], lines: Sequence[Places], **about: str
) -> CityGraph:
    """Build a city from the places of its junctions and the lines of the streets between them.

    Each street has the numbers of its two `ends` (equal for a loop), and a line from one to the other. Source
    and licence of the streets go to `make_city`.
    """
    check_places(name, *places.T)
    points, count = [places], len(places)
    edges: list[tuple[int, int]] = []
    direct: set[tuple[int, int]] = set()
    for (start, end), line, pieces in zip(ends, lines, piece_lengths(lines), strict=True):
        along = np.concatenate([[0.0], np.cumsum(pieces)])
        check_size(name, count, along[-1])
        between = (min(start, end), max(start, end))
        # A loop needs two nodes of its own, a second street between two junctions one, or it would vanish.
        least = 3 if start == end else 2 if between in direct else 1
        num_pieces = max(least, round(along[-1] / SPACING))
        if num_pieces == 1:
            direct.add(between)
        at = along[-1] * np.arange(1, num_pieces) / num_pieces
        points.append(np.stack([np.interp(at, along, degrees) for degrees in line.T], axis=1))
        edges += itertools.pairwise([start, *range(count, count + num_pieces - 1), end])
        count += num_pieces - 1
    lat, lng = np.concatenate(points).T
    return make_city(name, lat, lng, np.array(edges, np.int64).reshape(-1, 2), **about)
