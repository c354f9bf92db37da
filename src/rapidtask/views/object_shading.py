"""The pixels of trees, lamps and cars: upright rectangles painted over the picture, the farthest first."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from rapidtask.views.camera import ACROSS, EYE, PIXEL, SIDE, SLOPE, UP, Camera, WallHits
from rapidtask.views.object_textures import make_object_textures
from rapidtask.views.objects import CAR
from rapidtask.views.scene import Scene

REACH = 110.0
"""Metres beyond which objects are left out."""


def paint_objects(
    scene: Scene, camera: Camera, hits: WallHits, picture: Float[np.ndarray, "S S 3"], haze: float
) -> None:
    """Paint what stands between the walls; `haze` is the distance over which colours fade."""
    objects = scene.objects
    middle = camera.place + camera.ahead * (REACH / 2)
    near = np.array(objects.tree.query_ball_point(middle, 0.62 * REACH, return_sorted=True), np.int64)
    if len(near) == 0:
        return
    depth, right = camera.local(objects.place[near])
    half = objects.size[near].max(axis=1) / 2
    # An object right before the eye would fill the picture.
    seen = (depth > 3.0) & (np.abs(right) - half < depth * SLOPE)
    near, depth = near[seen], depth[seen]
    light = scene.light
    for i in near[np.argsort(-depth, kind="stable")].tolist():
        height = float(objects.size[i, 2])
        if objects.kind[i] != CAR:
            centre = camera.local(objects.place[i : i + 1])
            z, x, half_width = float(centre[0][0]), float(centre[1][0]), float(objects.size[i, 1]) / 2
            shade = light.ambient + 0.55 * light.sun
            _paint((z, x - half_width), (z, x + half_width), height, int(objects.textures[i, 0]),
                   objects.colour[i] * shade, shade, hits, picture, light.horizon, haze)  # fmt: skip
            continue
        for start, end, texture, outward in _faces(scene, i):
            # Only the faces turned to the eye.
            if (camera.place - start) @ outward <= 0.05:
                continue
            shade = light.ambient + light.sun * max(0.0, float(outward @ light.to_sun[:2]))
            (z0, z1), (x0, x1) = camera.local(np.stack([start, end]))
            _paint((float(z0), float(x0)), (float(z1), float(x1)), height, texture,
                   objects.colour[i] * shade, shade, hits, picture, light.horizon, haze)  # fmt: skip


def _faces(scene: Scene, i: int):
    """The four upright faces of a car: left and right end as seen from outside, texture, normal."""
    objects = scene.objects
    front = objects.direction[i]
    left = np.array([-front[1], front[0]])
    length, width = objects.size[i, 0] / 2 * front, objects.size[i, 1] / 2 * left
    place = objects.place[i]
    side, back, nose = objects.textures[i].tolist()
    # The side's texture has the front on its right; on the car's left side that is mirrored.
    yield place - length - width, place + length - width, side, -left
    yield place - length + width, place + length + width, side, left
    yield place - length + width, place - length - width, back, -front
    yield place + length - width, place + length + width, nose, front


def _paint(start, end, height, texture, colour, shade, hits: WallHits, picture, fog, haze) -> None:
    """Paint one upright rectangle from (depth, right) to (depth, right), standing on the ground."""
    (z0, x0), (z1, x1) = start, end
    if min(z0, z1) < 1.2:
        return
    low, high = sorted((x0 / z0, x1 / z1))
    first = max(0, int(np.ceil((low + SLOPE) / PIXEL - 0.5)))
    last = min(SIDE, int(np.floor((high + SLOPE) / PIXEL - 0.5)) + 1)
    if last <= first:
        return
    slope = ACROSS[first:last]
    share = np.clip((slope * z0 - x0) / ((x1 - x0) - slope * (z1 - z0) + 1e-9), 0, 1)
    depth = z0 + share * (z1 - z0)
    visible = depth < hits.depth[first:last]
    if not visible.any():
        return
    nearest = float(depth.min())
    top = max(0, int((SLOPE - (height - EYE) / nearest) / PIXEL))
    bottom = min(SIDE, int((SLOPE + EYE / nearest) / PIXEL) + 1)
    if bottom <= top:
        return
    up = (EYE + UP[top:bottom, None] * depth) / height
    atlas = make_object_textures()
    across = np.broadcast_to(share, up.shape)
    size = max(height, float(np.hypot(z1 - z0, x1 - x0)) if abs(x1 - x0) > 1e-6 else height)
    level = np.full(up.shape, np.log2(max(nearest * PIXEL * atlas.size / size, 1e-3)) + 0.5)
    drawn = atlas.look_up(
        np.full(up.shape, texture), np.minimum(across, 0.9999), np.clip(up, 0, 0.9999), level
    )
    cover = drawn[..., 4] * ((up >= 0) & (up < 1) & visible)
    solid = drawn[..., :3] * shade.astype(np.float32) + drawn[..., 3:4] * colour.astype(np.float32)
    fade = np.exp(-depth / haze).astype(np.float32)[:, None]
    solid = solid * fade + fog.astype(np.float32) * (1 - fade) * drawn[..., 4:5]
    part = picture[top:bottom, first:last]
    mask = (cover > 0)[..., None]
    part += np.where(mask, solid - part * drawn[..., 4:5], 0)
