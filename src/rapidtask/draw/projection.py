"""Where the places of a street world lie on a page: north up, as large as there is room."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from rapidtask.worlds.streets import StreetPlaces


@dataclass(frozen=True, eq=False)
class Projection:
    """From latitudes and longitudes to a page; the middle of the world is at the middle of the page."""

    middle: Float[np.ndarray, "2"]
    """Latitude and longitude of the middle."""
    scale: Float[np.ndarray, "2"]
    """Units of the page, down and to the right, that a degree of latitude and of longitude takes."""

    @classmethod
    def fit(cls, places: StreetPlaces, world: int, height: float, width: float) -> Projection:
        """The projection that fits the streets of a world into a height and a width."""
        points = np.concatenate(places.lines(world))
        middle = (points.min(0) + points.max(0)) / 2
        # Degrees of longitude are shorter than those of latitude.
        stretch = np.array([-1.0, math.cos(math.radians(middle[0]))])
        extent = np.maximum(np.ptp(points * stretch, axis=0), 1e-9)
        return cls(middle, stretch * (np.array([height, width]) / extent).min())

    def __call__(self, points: Float[np.ndarray, "*P 2"]) -> Float[np.ndarray, "*P 2"]:
        """How far down and to the right of the page's middle points are."""
        return (points - self.middle) * self.scale

    def around(self, places: StreetPlaces, world: int, reach: float) -> list[Float[np.ndarray, "2 2"]]:
        """The ends of the streets of the city around, as far from the page's middle as `reach`."""
        city = places.cities[places.city[world]]
        nodes = np.stack([city.lat, city.lng], axis=1)
        far = np.abs(self(nodes)).max(axis=1) >= reach
        return list(nodes[city.edges[~far[city.edges].all(axis=1)]])
