"""The pixels of walls: which house, storey and bay a ray meets, and what is drawn there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from rapidtask.views.camera import EYE, PIXEL, UP, WallHits
from rapidtask.views.facades import make_cells
from rapidtask.views.hashing import share
from rapidtask.views.materials import MATERIAL_METRES, make_materials

if TYPE_CHECKING:
    from rapidtask.views.scene import Scene


def shade_facades(
    scene: Scene, hits: WallHits, picture: Float[np.ndarray, "S S 3"], depth: Float[np.ndarray, "S S"]
) -> None:
    """Paint the walls into the picture and their distances into the depth."""
    houses = scene.buildings
    columns = np.flatnonzero(np.isfinite(hits.depth))
    if len(columns) == 0:
        return
    distance = hits.depth[columns]
    house = np.searchsorted(houses.begins, hits.along[columns], side="right") - 1
    within = (hits.along[columns] - houses.begins[house]).astype(np.float32)
    bays = houses.num_bays[house]
    bay_width = (houses.width[house] / bays).astype(np.float32)
    bay = np.clip((within / bay_width).astype(np.int64), 0, bays - 1)
    bay_hash = share(houses.hash[house], 100, bay)
    top = (houses.wall_height + houses.roof_height)[house].astype(np.float32)
    lit = _sunlight(scene, hits.outward[columns])
    # Metres per sample, across (slanting walls are squeezed) and up: the level of detail is between both.
    footprint = np.sqrt(np.minimum(hits.stretch[columns], 4.0) * distance * PIXEL)

    height = EYE + UP[:, None] * distance
    rows, which = np.nonzero((height >= 0) & (height < top))
    height = height[rows, which]
    house, bay_width, within, bay = house[which], bay_width[which], within[which], bay[which]
    footprint, distance = footprint[which], distance[which]

    ground = houses.ground_height[house].astype(np.float32)
    storey_height = houses.floor_height[house].astype(np.float32)
    wall_top = houses.wall_height[house].astype(np.float32)
    storey = np.floor((height - ground) / storey_height).astype(np.int64)
    in_roof, in_ground = height >= wall_top, height < ground
    in_cornice = ~in_roof & (storey >= houses.num_floors[house])
    cell = np.where(storey == houses.special_floor[house], houses.special[house], houses.window[house])
    # On the ground floor one bay in a few is the door; the others are shops or windows.
    is_door = bay == (houses.hash[house] % houses.num_bays[house].astype(np.uint64)).astype(np.int64)
    shop = houses.shops[house]
    below = np.where(is_door, houses.door[house], np.where(shop >= 0, shop, houses.ground[house]))
    atlas, kinds = make_cells()
    cell = np.where(in_ground, below, cell)
    cell = np.where(in_cornice, kinds.blank, cell)
    cell = np.where(in_roof, houses.roof[house], cell)
    # Now and then a bay has no window.
    cell = np.where((bay_hash[which] < 0.06) & ~in_ground & ~in_roof, kinds.blank, cell)
    up = np.where(in_ground, height / ground, (height - ground) / storey_height)
    up = np.where(in_roof, (height - wall_top) / np.maximum(houses.roof_height[house], 1.6), up)
    texels_per_metre = atlas.size / np.minimum(bay_width, 3.2)
    level = np.log2(np.maximum(footprint * texels_per_metre, 1e-3))
    drawn = atlas.look_up(cell, within / bay_width, up, level + 0.5)

    materials = make_materials()
    level = np.log2(np.maximum(footprint * materials.size / MATERIAL_METRES, 1e-3)) + 0.5
    grain = materials.look_up(
        houses.material[house], within / MATERIAL_METRES, height / MATERIAL_METRES, level
    )[:, 0]
    wall = np.where(in_roof[:, None], houses.roof_colour[house], houses.colour[house]).astype(np.float32)
    # A dark plinth, bands between storeys, a light cornice, a line between neighbours.
    tone = np.where(in_roof, 1.0, grain)
    tone *= np.where((height < 0.5) & in_ground, 0.72, 1.0)
    band = (up - np.floor(up) < 0.07) & ~in_ground & ~in_roof
    tone = tone * (1 + 0.16 * houses.courses[house] * band)
    tone = tone * np.where(in_cornice, 1.12, 1.0)
    eaves = (height > wall_top - 0.12) & ~in_roof
    tone = tone * np.where(eaves, 0.7, 1.0)
    edge = np.minimum(within, houses.width[house].astype(np.float32) - within) < 0.10
    tone = tone * np.where(edge, 0.72, 1.0)
    colour = drawn[:, :3] + drawn[:, 3:] * wall * tone[:, None].astype(np.float32)
    # Less sky is seen from low down in a street.
    closed = (0.74 + 0.26 * np.minimum(height / 9.0, 1.0)).astype(np.float32)
    picture[rows, columns[which]] = colour * lit[which] * closed[:, None]
    depth[rows, columns[which]] = distance


def _sunlight(scene: Scene, outward: Float[np.ndarray, "C 2"]) -> Float[np.ndarray, "C 3"]:
    """Colour of the light on walls, by where they face."""
    light = scene.light
    facing = np.maximum(outward @ light.to_sun[:2], 0.0)
    return (light.ambient + light.sun * facing[:, None]).astype(np.float32)
