"""The pixels of walls: which house, storey and bay a ray meets, and what is drawn there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from rapidtask.views.camera import EYE, PIXEL, UP, WallHits
from rapidtask.views.hashing import share
from rapidtask.views.houses import BALCONY, BLANK
from rapidtask.views.textures import load_atlas

if TYPE_CHECKING:
    from rapidtask.views.scene import Scene

MATERIAL_METRES = 2.4
"""Side of a material's texture in metres."""


def shade_facades(
    scene: Scene, hits: WallHits, picture: Float[np.ndarray, "S S 3"], depth: Float[np.ndarray, "S S"]
) -> None:
    """Paint the walls into the picture and their distances into the depth."""
    columns = np.flatnonzero(np.isfinite(hits.depth))
    hits = hits[columns]
    houses = scene.houses[np.searchsorted(scene.houses.begins, hits.along, side="right") - 1]
    within = (hits.along - houses.begins).astype(np.float32)
    bay_width = (houses.width / houses.num_bays).astype(np.float32)
    bay = np.clip((within / bay_width).astype(np.int64), 0, houses.num_bays - 1)
    # On the ground floor one bay is the door; elsewhere now and then one has no window.
    is_door = bay == (houses.hash % houses.num_bays.astype(np.uint64)).astype(np.int64)
    bare = share(houses.hash, 100, bay) < 0.06
    edge = np.minimum(within, houses.width.astype(np.float32) - within) < 0.10
    below = np.where(is_door, houses.door, houses.ground)
    # Colour of the light, by where walls face.
    facing = np.maximum(hits.outward @ scene.light.to_sun[:2], 0.0)
    lit = (scene.light.ambient + scene.light.sun * facing[:, None]).astype(np.float32)
    # Metres per sample, across (slanting walls are squeezed) and up: the level of detail is between both.
    footprint = np.sqrt(np.minimum(hits.stretch, 4.0) * hits.depth * PIXEL)
    top = (houses.wall_height + houses.roof_height).astype(np.float32)

    # From here on one row per pixel instead of one per column.
    height = EYE + UP[:, None] * hits.depth
    rows, which = np.nonzero((height >= 0) & (height < top))
    height = height[rows, which]
    within, bay_width, footprint = within[which], bay_width[which], footprint[which]
    ground, storey_height, wall_top = (
        part.astype(np.float32)[which]
        for part in (houses.ground_height, houses.floor_height, houses.wall_height)
    )
    storey = np.floor((height - ground) / storey_height).astype(np.int64)
    in_roof, in_ground = height >= wall_top, height < ground
    in_cornice = ~in_roof & (storey >= houses.num_floors[which])
    cell = np.where(storey == houses.balcony_floor[which], BALCONY, houses.window[which])
    cell = np.where(in_ground, below[which], cell)
    cell = np.where(in_cornice | (bare[which] & ~in_ground), BLANK, cell)
    cell = np.where(in_roof, houses.roof[which], cell)
    up = np.where(in_ground, height / ground, (height - ground) / storey_height)
    up = np.where(in_roof, (height - wall_top) / np.maximum(houses.roof_height[which], 1.6), up)
    cells, materials = load_atlas("cells"), load_atlas("materials")
    texels_per_metre = cells.size / np.minimum(bay_width, 3.2)
    drawn = cells.look_up(cell, within / bay_width, up, footprint * texels_per_metre)
    grain = materials.look_up(
        houses.material[which],
        within / MATERIAL_METRES,
        height / MATERIAL_METRES,
        footprint * materials.size / MATERIAL_METRES,
    )[:, 0]

    # A dark plinth, bands between storeys, a light cornice, dark eaves, a line between neighbours.
    tone = np.where(in_roof, 1.0, grain)
    tone *= np.where((height < 0.5) & in_ground, 0.72, 1.0)
    band = (up - np.floor(up) < 0.07) & ~in_ground & ~in_roof
    tone = tone * (1 + 0.16 * houses.courses[which] * band)
    tone = tone * np.where(in_cornice, 1.12, 1.0)
    tone = tone * np.where((height > wall_top - 0.12) & ~in_roof, 0.7, 1.0)
    tone = tone * np.where(edge[which], 0.72, 1.0)
    wall = np.where(in_roof[:, None], houses.roof_colour[which], houses.colour[which]).astype(np.float32)
    colour = drawn[:, :3] + drawn[:, 3:] * wall * tone[:, None].astype(np.float32)
    # Less sky is seen from low down in a street.
    closed = (0.74 + 0.26 * np.minimum(height / 9.0, 1.0)).astype(np.float32)
    picture[rows, columns[which]] = colour * lit[which] * closed[:, None]
    depth[rows, columns[which]] = hits.depth[which]
