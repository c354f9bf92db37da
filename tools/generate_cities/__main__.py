"""Generates the cities that come with the package: seeded, of different character.

    python tools/generate_cities src/rapidtask/cities/generated.npz

Run it after a change here. Runs and frames of a city that it changes do not go on: its checksum differs.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from point_patterns import PATTERNS, river_line
from rapidtask.cities.city_graph import METRES_PER_DEGREE, CityGraph, largest_part
from rapidtask.cities.spacing import city_from_lines
from rapidtask.cities.statistics import compute_statistics
from street_mesh import (
    Edges,
    Points,
    add_dead_ends,
    cross_river,
    edge_lengths,
    join_neighbours,
    merge_close,
    thin_out,
)


@dataclass(frozen=True)
class CityPlan:
    """What a generated city is like."""

    pattern: str
    """Where its junctions are scattered: a name of PATTERNS."""
    degree_4: float
    """Share of crossings wanted."""
    dead_ends: float
    """Share of dead ends wanted."""
    bend: float = 0.06
    """How much streets bend: standard deviation of the bulge, per length."""
    median_street: float = 70.0
    """Metres."""
    num_rivers: int = 0
    num_bridges: int = 6
    """Bridges of each river."""


PLANS = {
    "gridport": CityPlan("manhattan", 0.52, 0.03, 0.04, 78),
    "quarterfield": CityPlan("quarters", 0.34, 0.06, 0.06, 72),
    "oldmarket": CityPlan("organic", 0.27, 0.05, 0.08, 62),
    "winding_hill": CityPlan("organic", 0.19, 0.14, 0.14, 70),
    "starcross": CityPlan("radial", 0.33, 0.03, 0.05, 72),
    "ringwall": CityPlan("radial_old", 0.25, 0.10, 0.07, 68),
    "grand_avenues": CityPlan("boulevards", 0.31, 0.025, 0.04, 74),
    "twinbridge": CityPlan("quarters", 0.28, 0.07, 0.06, 70, num_rivers=1),
    "deltamouth": CityPlan("organic", 0.25, 0.08, 0.08, 66, num_rivers=2, num_bridges=4),
    "cul_de_sac": CityPlan("organic", 0.13, 0.26, 0.12, 62),
    "millquarter": CityPlan("terraces", 0.22, 0.16, 0.06, 60),
    "patchwork": CityPlan("patchwork", 0.24, 0.12, 0.08, 66),
    "seinebank": CityPlan("boulevards", 0.31, 0.014, 0.05, 75, num_rivers=1),
}
"""The cities by name; `rapidtask.cities.generated` says in words what each is like."""


def build_city(name: str, plan: CityPlan, seed: int) -> CityGraph:
    """Generate a city after a plan; a function of the plan and the seed."""
    generator = np.random.default_rng(seed)
    points = PATTERNS[plan.pattern](generator)
    rivers = [river_line(generator, i) for i in range(plan.num_rivers)]
    width = 90.0
    for river in rivers:
        points = points[KDTree(river).query(points)[0] > width / 2 + 15]
    edges = join_neighbours(points)
    for river in rivers:
        edges = cross_river(points, edges, river, width, plan.num_bridges, generator)
    edges = edges[edge_lengths(points, edges) < 420]
    _, keep, edges = largest_part(len(points), edges)
    points = points[keep]
    # Each dead end will bring a T-junction, which lowers the share of crossings.
    degree_4 = plan.degree_4 / (1 - 2 * plan.dead_ends)
    edges = thin_out(points, edges, degree_4, generator)
    points, edges = merge_close(points, edges, degree_4, shortest=14.0)
    points, edges = add_dead_ends(points, edges, plan.dead_ends, generator)
    # Its place on the globe matters for nothing but the map.
    lat, lng = 42.0 + seed % 97 / 10, seed % 173 / 10
    degree = METRES_PER_DEGREE * np.array([1.0, np.cos(np.radians(lat))])
    lines = bend_streets(points, edges, plan.bend, np.random.default_rng(seed + 1))

    def draw(scale: float) -> CityGraph:
        places, drawn = ([lat, lng] + (scale * metres)[..., ::-1] / degree for metres in (points, lines))
        return city_from_lines(name, places, edges.tolist(), list(drawn))

    # Drawn once to measure, once to scale: lengths are what the patterns do not control.
    scale = plan.median_street / compute_statistics(draw(1.0)).street_length_quartiles[1]
    return draw(scale)


def bend_streets(
    points: Points, edges: Edges, bend: float, generator: np.random.Generator
) -> Float[np.ndarray, "E 13 2"]:
    """The line of each edge: half a sine wave, its height about `bend` times its length."""
    height = generator.normal(0, bend, (len(edges), 1, 1)).clip(-0.3, 0.3)
    along = np.linspace(0, 1, 13)[:, None]
    start = points[edges[:, :1]]
    step = points[edges[:, 1:]] - start
    across = step[..., ::-1] * [-1, 1]
    return start + along * step + np.sin(np.pi * along) * height * across


def generate_city(name: str) -> dict[str, np.ndarray]:
    """The arrays of a city in the file: latitudes and longitudes of its nodes, and its streets."""
    city = build_city(name, PLANS[name], seed=zlib.crc32(name.encode()))
    return {f"{name}_places": np.stack([city.lat, city.lng]), f"{name}_edges": city.edges}


if __name__ == "__main__":
    cities = [generate_city(name) for name in PLANS]
    np.savez_compressed(sys.argv[1], **{key: array for city in cities for key, array in city.items()})
