"""What stands in the streets: trees and lamps on the pavements, cars parked at the kerb; and its pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from rapidtask.views.camera import ACROSS, EYE, HAZE, PIXEL, SIDE, SLOPE, UP, Camera, WallHits
from rapidtask.views.geometry import Table, spread
from rapidtask.views.hashing import mix, pick, share
from rapidtask.views.plan import StreetPlan
from rapidtask.views.textures import load_atlas

if TYPE_CHECKING:
    from rapidtask.views.scene import Scene

TREE, LAMP, CAR = range(3)
"""Kinds of objects."""
NUM_TREES, LAMP_TEXTURE, CAR_TEXTURES, VAN_TEXTURES = 4, 4, (5, 6, 7), (8, 9, 9)
"""Numbers of the textures: trees come first; of cars and vans the side, the back and the front."""
LEAVES = ((0.30, 0.42, 0.16), (0.22, 0.36, 0.16), (0.40, 0.46, 0.18), (0.50, 0.40, 0.16))
PAINT = (
    (0.82, 0.83, 0.84), (0.16, 0.17, 0.19), (0.52, 0.54, 0.56), (0.55, 0.10, 0.10), (0.14, 0.24, 0.46),
    (0.70, 0.66, 0.56), (0.14, 0.32, 0.24), (0.86, 0.66, 0.12),
)  # fmt: skip
"""Colours of cars."""
REACH = 110.0
"""Metres beyond which objects are left out."""


@dataclass(frozen=True, eq=False)
class Objects(Table):
    """Objects O in a city."""

    place: Float[np.ndarray, "O 2"]
    """Where each stands, metres."""
    kind: Int[np.ndarray, " O"]
    """TREE, LAMP or CAR."""
    direction: Float[np.ndarray, "O 2"]
    """Where a car's front points."""
    size: Float[np.ndarray, "O 3"]
    """Length, width, height in metres; trees and lamps face whoever looks at them with their width."""
    colour: Float[np.ndarray, "O 3"]
    textures: Int[np.ndarray, "O 3"]
    """Of the side, the back and the front; the first one only for trees and lamps."""

    @cached_property
    def tree(self) -> KDTree:
        """The places, to look for near ones."""
        return KDTree(self.place)


def make_objects(plan: StreetPlan) -> Objects:
    """Furnish all streets; where and what follows from the hashes of the streets."""
    rows = [_row(plan, kind) for kind in (TREE, LAMP, CAR)]
    street, side, number, chain, kind = (np.concatenate(part) for part in zip(*rows, strict=True))
    salt = plan.street_hash[street]
    one = mix(salt, 200 + kind, side, number)
    # The piece of its street that each object is beside: pieces of a street are in order.
    total = plan.chainage + 1e6 * plan.street
    first, last = (np.searchsorted(plan.street, street, end) for end in ("left", "right"))
    piece = np.clip(np.searchsorted(total, chain + 1e6 * street, side="right") - 1, first, last - 1)
    away = plan.road[street] + np.array([0.9, 0.5, -1.05])[kind]
    left = np.where(side == 0, 1.0, -1.0)[:, None]
    direction, normal = plan.direction[piece], plan.normal[piece]
    along = (chain - plan.chainage[piece])[:, None]
    place = plan.nodes[plan.piece_ends[piece, 0]] + direction * along + normal * (left * away[:, None])

    van = (kind == CAR) & (share(one, 2) < 0.12)
    kinds = [kind == TREE, kind == LAMP, van]
    grown = 8.2 * (np.where(plan.half_width[street] > 7.7, 1.0, 0.62) * (0.8 + 0.4 * share(one, 1)))
    length = np.where(van, 5.0, 3.8 + 0.7 * share(one, 4))
    width = np.select(kinds, [grown, 5.4, 1.95], 1.75)
    height = np.select(kinds, [grown, 5.4, 2.15], 1.42 + 0.16 * share(one, 3))
    leaves = np.array(LEAVES)[pick(len(LEAVES), salt, 210)] * (0.85 + 0.3 * share(one, 5))[:, None]
    flat = np.where(kind == TREE, pick(NUM_TREES, salt, 211), LAMP_TEXTURE)
    on_wheels = np.where(van[:, None], VAN_TEXTURES, CAR_TEXTURES)
    is_car = (kind == CAR)[:, None]
    objects = Objects(
        place=place,
        kind=kind,
        # Cars stand as they drive: on the right-hand side of the road.
        direction=direction * -left,
        size=np.stack([length, width, height], axis=1),
        colour=np.where(is_car, np.array(PAINT)[pick(len(PAINT), one, 6)], leaves),
        textures=np.where(is_car, on_wheels, flat[:, None]),
    )
    # None stands on the road of another street.
    free = np.ones(len(place), bool)
    for which, piece in plan.strips(plan.road + 0.8, 1.0, 1.0).holding(place):
        free[which[plan.street[piece] != street[which]]] = False
    return objects[free]


def _row(plan: StreetPlan, kind: int) -> tuple[np.ndarray, ...]:
    """Candidate places of one kind along all streets: street, side, number, chainage, kind."""
    salt = plan.street_hash
    spacing, chance = (
        (8.5 + 5 * share(salt, 220), np.where(share(salt, 221) < np.where(plan.wide, 0.7, 0.22), 0.85, 0.0)),
        (np.full(len(salt), 26.0), np.full(len(salt), 1.0)),
        (np.full(len(salt), 6.2), np.where(share(salt, 222) < 0.8, 0.12 + 0.6 * share(salt, 223), 0.0)),
    )[kind]
    # Keep clear of junctions and their crossings.
    start = plan.clear[:, 0] + 5.0
    room = plan.street_length - plan.clear[:, 1] - 5.0 - start
    counts = np.maximum(0, np.floor(room / spacing)).astype(np.int64)
    street, number = np.tile(spread(counts), 2)
    side = np.repeat([0, 1], len(street) // 2)
    one = mix(salt[street], 230 + kind, side, number)
    there = share(one, 1) < chance[street]
    if kind == LAMP:
        there &= number % 2 == side
    chain = start[street] + (number + 0.5 + 0.25 * (share(one, 2) - 0.5)) * spacing[street]
    return street[there], side[there], number[there], chain[there], np.full(int(there.sum()), kind)


def paint_objects(scene: Scene, camera: Camera, hits: WallHits, picture: Float[np.ndarray, "S S 3"]) -> None:
    """Paint what stands between the walls over the picture, the farthest first."""
    objects = scene.objects[camera.within(scene.objects.tree, REACH)]
    depth, right = camera.local(objects.place)
    # An object right before the eye would fill the picture.
    seen = (depth > 3.0) & (np.abs(right) - objects.size.max(axis=1) / 2 < depth * SLOPE)
    order = np.flatnonzero(seen)[np.argsort(-depth[seen], kind="stable")]
    for i in order.tolist():
        height = float(objects.size[i, 2])
        for start, end, texture, shade in _faces(scene, camera, objects, i):
            colour = objects.colour[i] * shade
            _paint(start, end, height, texture, colour, shade, hits, picture, scene.light.horizon)


def _faces(scene: Scene, camera: Camera, objects: Objects, i: int) -> Iterator[tuple]:
    """The upright rectangles an object is seen as: from (depth, right) to (depth, right), texture, light."""
    light, place = scene.light, objects.place[i]
    textures = objects.textures[i].tolist()
    if objects.kind[i] != CAR:
        (z,), (x,) = (part.tolist() for part in camera.local(place[None]))
        half_width = float(objects.size[i, 1]) / 2
        yield (z, x - half_width), (z, x + half_width), textures[0], light.ambient + 0.55 * light.sun
        return
    front = objects.direction[i]
    left = np.array([-front[1], front[0]])
    length, width = objects.size[i, 0] / 2 * front, objects.size[i, 1] / 2 * left
    side, back, nose = textures
    # The side's texture has the front on its right; on the car's left side that is mirrored.
    for start, end, texture, outward in (
        (place - length - width, place + length - width, side, -left),
        (place - length + width, place + length + width, side, left),
        (place - length + width, place - length - width, back, -front),
        (place + length - width, place + length + width, nose, front),
    ):
        # Only the faces turned to the eye.
        if (camera.place - start) @ outward > 0.05:
            shade = light.ambient + light.sun * max(0.0, float(outward @ light.to_sun[:2]))
            yield *np.stack(camera.local(np.stack([start, end])), axis=1).tolist(), texture, shade


def _paint(start, end, height, texture, colour, shade, hits: WallHits, picture, fog) -> None:
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
    nearest = float(depth.min())
    top = max(0, int((SLOPE - (height - EYE) / nearest) / PIXEL))
    bottom = min(SIDE, int((SLOPE + EYE / nearest) / PIXEL) + 1)
    if bottom <= top or not visible.any():
        return
    up = (EYE + UP[top:bottom, None] * depth) / height
    atlas = load_atlas("objects")
    size = max(height, float(np.hypot(z1 - z0, x1 - x0)) if abs(x1 - x0) > 1e-6 else 0.0)
    step = nearest * PIXEL * atlas.size / size
    drawn = atlas.look_up(texture, np.minimum(share, 0.9999), np.clip(up, 0, 0.9999), step)
    cover = drawn[..., 4:5]
    solid = drawn[..., :3] * shade.astype(np.float32) + drawn[..., 3:4] * colour.astype(np.float32)
    fade = np.exp(-depth / HAZE).astype(np.float32)[:, None]
    solid = solid * fade + fog.astype(np.float32) * (1 - fade) * cover
    part = picture[top:bottom, first:last]
    there = ((up >= 0) & (up < 1) & visible)[..., None] & (cover > 0)
    part += np.where(there, solid - part * cover, 0)
