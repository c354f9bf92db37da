"""Statistics of a city's streets, as the literature on street networks reports them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rapidtask.cities.city_graph import CityGraph, great_circle_bearing, great_circle_distance
from rapidtask.cities.streets import trace_streets

NUM_BINS = 36
"""Bins of the compass for the orientation entropy: 10° each, so at most log 36 = 3.58 nats."""


@dataclass(frozen=True)
class CityStatistics:
    """What tells one city's street network from another's.

    Shares are of the nodes that are not of degree 2 (junctions and dead ends); streets run between those.
    """

    num_nodes: int
    num_intersections: int
    """Nodes of degree above 2."""
    num_streets: int
    dead_ends: float
    """Share of nodes of degree 1."""
    degree_3: float
    degree_4: float
    street_length_quartiles: tuple[float, float, float]
    """Metres."""
    circuity: float
    """Length of all streets over the straight distances between their ends (loops left out)."""
    orientation_entropy: float
    """Entropy in nats of the compass directions of streets, both ways, in 36 bins centred on north."""


def compute_statistics(city: CityGraph) -> CityStatistics:
    """Measure a city."""
    degree, (paths, length) = city.degree[city.degree != 2], trace_streets(city)
    start, end = np.array([(path[0], path[-1]) for path in paths], np.int64).reshape(-1, 2).T
    ends = (city.lat[start], city.lng[start], city.lat[end], city.lng[end])
    straight, proper = great_circle_distance(*ends), start != end
    bearing = great_circle_bearing(*ends)[proper]
    bins = np.floor(bearing / (2 * np.pi) * NUM_BINS + 0.5).astype(int) % NUM_BINS
    share = np.bincount(bins, minlength=NUM_BINS) / max(1, len(bins))
    share = share[share > 0]
    quartiles = np.percentile(length, [25, 50, 75]) if len(length) else np.full(3, np.nan)
    return CityStatistics(
        num_nodes=city.num_nodes,
        num_intersections=city.num_intersections,
        num_streets=len(start) // 2,
        dead_ends=float((degree == 1).mean()),
        degree_3=float((degree == 3).mean()),
        degree_4=float((degree == 4).mean()),
        street_length_quartiles=(float(quartiles[0]), float(quartiles[1]), float(quartiles[2])),
        circuity=float(length[proper].sum() / max(straight[proper].sum(), 1e-9)),
        orientation_entropy=float(-(share * np.log(share)).sum()),
    )
