"""Generated cities: thirteen of different character come with the package, so that nothing needs a download.

`generated.npz` holds them as `tools/generate_cities` makes them: a run goes on only in the very same streets,
and random generators and triangulations may change with a version of NumPy or SciPy. Their statistics lie
among those of real cities (docs/cities.md has both).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from rapidtask.cities.city_graph import CityError, CityGraph, make_city

CHARACTERS = {
    "gridport": "a grid of long blocks with two turns of its axes",
    "quarterfield": "gridded quarters, each turned its own way",
    "oldmarket": "organic: an old town",
    "winding_hill": "organic: winding streets on hills",
    "starcross": "radial: rays and rings",
    "ringwall": "radial, with an old core and dead ends",
    "grand_avenues": "boulevards cut through an organic town",
    "twinbridge": "a river with few bridges",
    "deltamouth": "two rivers with few bridges",
    "cul_de_sac": "a suburb of dead ends",
    "millquarter": "rows of terraces with dead ends",
    "patchwork": "old core, grids around it, suburbs beyond",
    "seinebank": "boulevards and a river, like the quarters of Paris",
}
"""What each city is like, by its name."""
HELD_OUT = "seinebank"
"""The one that is never trained on: it stands in for the held-out Paris SE."""


@cache
def generated_city(name: str) -> CityGraph:
    """One of the generated cities; kept in memory."""
    if name not in CHARACTERS:
        raise CityError(f"{name}: no such generated city; there are {', '.join(CHARACTERS)}")
    with np.load(Path(__file__).with_name("generated.npz")) as file:
        (lat, lng), edges = file[f"{name}_places"], file[f"{name}_edges"]
    source = f"generated: {CHARACTERS[name]}"
    return make_city(name, lat, lng, edges, source=source, licence="CC0-1.0")
