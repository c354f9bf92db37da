"""The scene of a city: everything that can be seen in it, ready to be looked at from any place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from rapidtask.cities.city_graph import CityGraph
from rapidtask.views.buildings import Buildings, make_buildings
from rapidtask.views.facades import make_cells
from rapidtask.views.footprint_walls import add_footprints
from rapidtask.views.light import Light, make_light
from rapidtask.views.objects import Objects, make_objects
from rapidtask.views.plan import StreetPlan, make_plan
from rapidtask.views.walls import Walls, frontage_offsets, make_walls

HOUR = 10.5
"""Hour of the day unless another is asked for."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A city in three dimensions."""

    plan: StreetPlan
    walls: Walls
    buildings: Buildings
    objects: Objects
    light: Light
    frontages: Float[np.ndarray, "R 2"]
    """Where the frontages of each street begin (see `frontage_offsets`)."""
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


def make_scene(city: CityGraph, hour: float = HOUR) -> Scene:
    """Build the scene of a city at an hour of the day."""
    light = make_light(hour)
    plan = make_plan(city)
    walls = make_walls(plan)
    kinds = make_cells()[1]
    buildings = make_buildings(plan, kinds)
    shade_height, wall_top = buildings.wall_height + buildings.roof_height, np.zeros(len(walls.start))
    if city.buildings is not None:
        walls, buildings, shade_height, wall_top = add_footprints(city, plan, walls, buildings, kinds)
    middle = plan.nodes[plan.piece_ends].mean(axis=1)
    return Scene(
        plan=plan,
        walls=walls,
        buildings=buildings,
        objects=make_objects(plan),
        light=light,
        frontages=frontage_offsets(plan),
        shade_height=shade_height,
        wall_top=wall_top,
        wall_tree=KDTree((walls.start + walls.end) / 2),
        wall_reach=float(np.hypot(*(walls.end - walls.start).T).max()) / 2,
        piece_tree=KDTree(middle),
        piece_reach=float(plan.length.max()) / 2,
    )


def heading_between(scene: Scene, node: int, towards: int) -> Float[np.ndarray, " 2"]:
    """Unit vector (east, north) from a node to another."""
    step = scene.plan.nodes[towards] - scene.plan.nodes[node]
    size = float(np.hypot(*step))
    return step / size if size > 1e-6 else np.array([0.0, 1.0])
