"""The scene of a city: everything that can be seen in it, ready to be looked at from any place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from rapidtask.cities.city_graph import CityGraph
from rapidtask.views.footprint_walls import add_footprints
from rapidtask.views.houses import Houses, make_houses
from rapidtask.views.light import Light, make_light
from rapidtask.views.objects import Objects, make_objects
from rapidtask.views.plan import StreetPlan, make_plan
from rapidtask.views.walls import Walls, make_walls

HOUR = 10.5
"""Hour of the day unless another is asked for."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A city in three dimensions."""

    plan: StreetPlan
    walls: Walls
    houses: Houses
    objects: Objects
    light: Light
    shade_height: Float[np.ndarray, " H"]
    """Metres of the house that throws a shadow from the place of each house."""
    wall_top: Float[np.ndarray, " K"]
    """Metres to the top of walls that are seen above others before them; 0 for all others."""
    wall_tree: KDTree
    """The middles of the walls."""
    wall_reach: float
    """Half the length of the longest wall."""
    piece_tree: KDTree
    """The middles of the pieces of street."""
    piece_reach: float
    """Half the length of the longest piece."""
    object_tree: KDTree
    """The places of the objects."""


def make_scene(city: CityGraph, hour: float = HOUR) -> Scene:
    """Build the scene of a city at an hour of the day."""
    light = make_light(hour)
    plan = make_plan(city)
    walls, houses, objects = make_walls(plan), make_houses(plan), make_objects(plan)
    shade_height, wall_top = houses.wall_height + houses.roof_height, np.zeros(len(walls.start))
    if city.buildings is not None:
        walls, houses, shade_height, wall_top = add_footprints(city, city.buildings, plan, walls, houses)
    return Scene(
        plan=plan,
        walls=walls,
        houses=houses,
        objects=objects,
        light=light,
        shade_height=shade_height,
        wall_top=wall_top,
        wall_tree=KDTree(walls.middle),
        wall_reach=float(walls.size.max()) / 2,
        piece_tree=KDTree(plan.middle),
        piece_reach=float(plan.length.max()) / 2,
        object_tree=KDTree(objects.place),
    )


def heading_between(scene: Scene, node: int, towards: int) -> Float[np.ndarray, " 2"]:
    """Unit vector (east, north) from a node to another."""
    step = scene.plan.nodes[towards] - scene.plan.nodes[node]
    size = float(np.hypot(*step))
    return step / size if size > 1e-6 else np.array([0.0, 1.0])
