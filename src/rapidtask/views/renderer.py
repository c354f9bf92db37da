"""The renderer: what one sees in a city, by casting a ray per column of the picture.

Walls are vertical and the ground is flat, so a picture is a row of columns: one ray each against the walls
around, which gives a distance; above and below the wall's ends are sky and ground. Every step is a NumPy
operation over all rays or pixels of a view.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8

from rapidtask.cities.city_graph import CityGraph
from rapidtask.views.camera import ACROSS, HAZE, PIXEL, SAMPLES, SIDE, SLOPE, UP, Camera, WallHits
from rapidtask.views.ground import shade_ground
from rapidtask.views.houses import shade_facades
from rapidtask.views.objects import paint_objects
from rapidtask.views.scene import HOUR, Light, Scene, make_scene
from rapidtask.views.textures import load_texels
from rapidtask.worlds.frame_store import FRAME_SIZE, FrameStore, half_edges_of
from rapidtask.worlds.streets import StreetPlaces

VERSION = "street renderer 1"
"""Changes whenever the pixels of a view do; frame stores carry it."""

REACH = 320.0
"""Metres beyond which walls are lost in the haze."""
RISE = UP[:, None] / np.sqrt(1 + ACROSS**2)
"""Metres up per metre along the ground, for each ray."""
SKY_HEIGHT = (np.clip(RISE / 0.75, 0, 1) ** 0.7)[..., None]
"""0 at the horizon to 1 where the sky has the zenith's colour."""


@dataclass(frozen=True, eq=False)
class RenderedFrames:
    """The views of a city. Small, to be sent to processes, until used."""

    city: CityGraph
    hour: float = HOUR
    """Hour of the day, 5 to 21."""

    @cached_property
    def scene(self) -> Scene:
        """The city in three dimensions; built when it is first looked at."""
        return make_scene(self.city, self.hour)

    def make(self, half_edges: Int[np.ndarray, " F"]) -> UInt8[np.ndarray, "F 84 84 3"]:
        """The views at the tails of half-edges toward their heads."""
        frames = np.empty((len(half_edges), FRAME_SIZE, FRAME_SIZE, 3), np.uint8)
        ends = np.stack([self.city.tails, self.city.neighbours], axis=1)[half_edges]
        for frame, (node, towards) in zip(frames, ends, strict=True):
            frame[:] = render_view(self.scene, self.scene.camera(node, towards))
        return frames


def see_states(
    places: StreetPlaces,
    world: int,
    states: Int[np.ndarray, " V"],
    frames: str | Path | None = None,
    hour: float = HOUR,
) -> UInt8[np.ndarray, "V 84 84 3"]:
    """What states of a street world look like: read from a directory of frame stores, or else rendered."""
    city = places.cities[places.city[world]]
    nodes, first = places.tail[world, states], places.first[world, states]
    if frames is None:
        return RenderedFrames(city, hour).make(half_edges_of(city, nodes, first))
    store = FrameStore(Path(frames) / city.name)
    return store.read(store.find(city, nodes, first))


def render_view(scene: Scene, camera: Camera) -> UInt8[np.ndarray, "84 84 3"]:
    """What a camera sees of a scene."""
    hits = cast_rays(scene, camera)
    picture = paint_sky(scene.light, camera)
    depth = np.full((SIDE, SIDE), np.inf, np.float32)
    shade_ground(scene, camera, hits, picture, depth)
    shade_facades(scene, hits, picture, depth)
    haze = 1 - np.exp(-np.minimum(depth, 1e6) / HAZE)
    haze[np.isinf(depth)] = 0
    picture += (scene.light.horizon.astype(np.float32) - picture) * haze[..., None]
    paint_objects(scene, camera, hits, picture)
    small = picture.reshape(FRAME_SIZE, SAMPLES, FRAME_SIZE, SAMPLES, 3).mean(axis=(1, 3))
    return np.clip(small * 255 + 0.5, 0, 255).astype(np.uint8)


def cast_rays(scene: Scene, camera: Camera) -> WallHits:
    """The nearest wall in every column: houses are about as high as each other, so it hides the rest."""
    walls = scene.walls[camera.within(scene.walls.tree, REACH, float(scene.walls.size.max()) / 2)]
    ends = np.stack([*camera.local(walls.start), *camera.local(walls.end)])
    depth0, right0, depth1, right1 = ends
    # Leave out what lies behind, or beyond an edge of the picture with both ends.
    seen = (np.maximum(depth0, depth1) > 0.1) & ~(
        ((right0 > SLOPE * depth0) & (right1 > SLOPE * depth1))
        | ((right0 < -SLOPE * depth0) & (right1 < -SLOPE * depth1))
    )
    walls, (depth0, right0, depth1, right1) = walls[seen], ends[:, seen]
    if not seen.any():
        nothing = np.full(SIDE, np.inf, np.float32)
        return WallHits(nothing, np.zeros(SIDE), np.ones(SIDE, np.float32), np.zeros((SIDE, 2)))
    step_depth, step_right = depth1 - depth0, right1 - right0
    x = ACROSS[:, None]
    slant = step_right - x * step_depth
    slant = np.where(np.abs(slant) < 1e-6, 1e-6, slant)
    share = (x * depth0 - right0) / slant
    depth = depth0 + share * step_depth
    depth = np.where((share >= 0) & (share <= 1) & (depth > 0.1), depth, np.inf)
    wall = depth.argmin(axis=1)
    nearest = (np.arange(SIDE), wall)
    size = np.hypot(step_depth, step_right)[wall]
    turn = np.abs(depth0 * step_right - right0 * step_depth)[wall]
    start, end = walls.along[wall].T
    return WallHits(
        depth=depth[nearest],
        along=start + share[nearest].astype(float) * (end - start),
        stretch=size * turn / slant[nearest] ** 2 * PIXEL,
        outward=walls.outward[wall],
    )


def paint_sky(light: Light, camera: Camera) -> Float[np.ndarray, "S S 3"]:
    """The sky behind everything: a gradient with clouds, float32."""
    azimuth = np.arctan2(camera.ahead[0], camera.ahead[1]) + np.arctan(ACROSS)
    clouds = load_texels("clouds")
    row = np.clip(np.arctan(RISE) / (np.pi / 2) * len(clouds), 0, len(clouds) - 1).astype(int)
    column = (azimuth / (2 * np.pi) * clouds.shape[1]).astype(int) % clouds.shape[1]
    white = (clouds[row, column[None, :]] * np.clip(RISE * 5, 0, 1))[..., None]
    zenith, horizon = light.zenith.astype(np.float32), light.horizon.astype(np.float32)
    sky = horizon + (zenith - horizon) * SKY_HEIGHT
    return (sky + (np.float32(0.96) - sky) * 0.7 * white).astype(np.float32)
