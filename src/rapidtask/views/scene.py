"""The scene of a city: everything that can be seen in it, ready to be looked at from any place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from rapidtask.cities.city_graph import CityGraph
from rapidtask.errors import InputError
from rapidtask.views.camera import Camera
from rapidtask.views.houses import Houses, make_houses
from rapidtask.views.objects import Objects, make_objects
from rapidtask.views.plan import StreetPlan, make_plan
from rapidtask.views.walls import Walls, make_walls

HOUR = 10.5
"""Hour of the day unless another is asked for."""


@dataclass(frozen=True, eq=False)
class Light:
    """The light of an hour of the day."""

    to_sun: Float[np.ndarray, " 3"]
    """Unit vector to the sun: east, north, up."""
    sun: Float[np.ndarray, " 3"]
    """Colour of direct light."""
    ambient: Float[np.ndarray, " 3"]
    """Colour of the light from the sky."""
    zenith: Float[np.ndarray, " 3"]
    """Colour of the sky high up."""
    horizon: Float[np.ndarray, " 3"]
    """Colour of the sky low down, and of haze."""


def make_light(hour: float) -> Light:
    """The light at an hour of a summer's day."""
    if not 5 <= hour <= 21:
        raise InputError(f"hour is {hour:g}, expected 5 to 21: at night there is nothing to see")
    elevation = np.radians(4.0 + 50.0 * np.sin(np.pi * (hour - 4.5) / 17.0))
    azimuth = np.radians(60.0 + 240.0 * (hour - 4.0) / 18.0)
    level = np.cos(elevation)
    # 0 when the sun is low, 1 when it is high.
    day = np.clip((np.sin(elevation) - 0.1) / 0.5, 0, 1)
    mix = lambda low, high: np.array(low) + (np.array(high) - np.array(low)) * day  # noqa: E731
    return Light(
        to_sun=np.array([level * np.sin(azimuth), level * np.cos(azimuth), np.sin(elevation)]),
        sun=mix([0.62, 0.36, 0.20], [0.72, 0.66, 0.56]),
        ambient=mix([0.42, 0.42, 0.52], [0.56, 0.59, 0.65]),
        zenith=mix([0.34, 0.42, 0.60], [0.30, 0.50, 0.80]),
        horizon=mix([0.92, 0.70, 0.52], [0.80, 0.87, 0.93]),
    )


@dataclass(frozen=True, eq=False)
class Scene:
    """A city in three dimensions."""

    plan: StreetPlan
    walls: Walls
    houses: Houses
    objects: Objects
    light: Light

    def camera(self, node: int, towards: int) -> Camera:
        """The camera at a node that looks towards another."""
        place = self.plan.nodes[node]
        step = self.plan.nodes[towards] - place
        size = float(np.hypot(*step))
        return Camera(place, step / size if size > 1e-6 else np.array([0.0, 1.0]))


def make_scene(city: CityGraph, hour: float = HOUR) -> Scene:
    """Build the scene of a city at an hour of the day."""
    light, plan = make_light(hour), make_plan(city)
    return Scene(plan, make_walls(plan), make_houses(plan), make_objects(plan), light)
