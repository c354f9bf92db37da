"""The pixels of the ground: roads with their markings, kerbs, pavements, and grass between carriageways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from rapidtask.views.camera import ACROSS, EYE, PIXEL, UP, Camera, WallHits
from rapidtask.views.hashing import share
from rapidtask.views.textures import load_atlas

if TYPE_CHECKING:
    from rapidtask.views.scene import Scene

HORIZON = int(np.argmax(UP < 0))
"""First row below the horizon."""
DISTANCE = EYE / -UP[HORIZON:]
"""Metres ahead of the ground in the rows from there on."""
NEAR, FAR = 14.0, 130.0
"""Metres: streets are looked up in two rings, because most pixels of the ground are near."""
KERB = 0.22
"""Width of the kerb in metres."""
ASPHALT, COBBLES, SLABS, GRASS = range(4)
"""Numbers of the textures."""
GROUND_METRES = 4.0
"""Side of a ground texture in metres."""


def shade_ground(
    scene: Scene, camera: Camera, hits: WallHits, picture: Float[np.ndarray, "S S 3"], depth: np.ndarray
) -> None:
    """Paint the ground into the picture and its distances into the depth."""
    for low, high in ((0.0, NEAR), (NEAR, FAR), (FAR, np.inf)):
        first, last = np.searchsorted(-DISTANCE, [-high, -low], side="right")
        rows, columns = np.nonzero(DISTANCE[first:last, None] < hits.depth)
        rows += first
        forward = DISTANCE[rows]
        if low < FAR:
            colour = _colour(scene, camera, forward, ACROSS[columns] * forward, high)
        else:
            colour = np.full(3, 0.34, np.float32) * scene.light.ambient.astype(np.float32)
        picture[HORIZON + rows, columns] = colour
        depth[HORIZON + rows, columns] = forward


def _colour(scene: Scene, camera: Camera, forward, sideways, distance: float) -> np.ndarray:
    """Colour of points so many metres ahead and to the right, on the ground within a distance."""
    plan, light = scene.plan, scene.light
    pieces = camera.within(plan.tree, distance * 1.2, 16 + float(plan.length.max()) / 2)
    if len(pieces) == 0:
        return np.full((len(forward), 3), 0.3, np.float32)
    nearest, along, across, beyond = _nearest(scene, camera, pieces, forward, sideways)
    # What holds for whole streets is worked out for each piece, and then spread over its points.
    street = plan.street[pieces]
    hashes = plan.street_hash[street]
    chain = plan.chainage[pieces][nearest] + along
    half_road = plan.road[street].astype(np.float32)[nearest]
    length, clear = plan.street_length[street][nearest], plan.clear[street][nearest]

    # A junction belongs to none of its streets; markings keep clear of it, and begin with a zebra crossing.
    inside = np.minimum(chain - clear[:, 0], length - clear[:, 1] - chain)
    in_street = inside > 0
    tone = np.where(in_street, (0.29 + 0.09 * share(hashes, 40)).astype(np.float32)[nearest], 0.33)
    cobbled = ((share(hashes, 41) < 0.16) & (plan.avenue[street] < 450))[nearest] & in_street
    warm = share(hashes, 42)
    slab = np.stack([0.56 + 0.08 * warm, 0.54 + 0.05 * warm, 0.52 - 0.02 * warm])[:, nearest]
    on_road, on_kerb = beyond < 0, (beyond >= 0) & (beyond < KERB)
    on_grass = beyond > ((plan.half_width - plan.road)[street] + 1.2)[nearest]
    # Three rows, one for each channel of colour: NumPy works along the long axis.
    colour = tone * np.where(cobbled, [[1.12], [1.04], [0.96]], [[1.0], [1.0], [1.03]])
    colour = np.where(on_road | on_kerb, colour.astype(np.float32), slab)
    colour = np.where(on_kerb, 0.66, colour)
    colour = np.where(on_grass, [[0.30], [0.40], [0.20]], colour)
    texture = np.where(on_road, np.where(cobbled, COBBLES, ASPHALT), np.where(on_grass, GRASS, SLABS))
    atlas = load_atlas("grounds")
    points = camera.place + forward[:, None] * camera.ahead + sideways[:, None] * camera.right
    footprint = np.sqrt(forward * PIXEL * forward**2 * PIXEL / EYE)
    x, y = points.T / GROUND_METRES
    colour = colour * atlas.look_up(texture, x, y, footprint * atlas.size / GROUND_METRES)[:, 0]

    from_middle = np.abs(across)
    has_zebra = (share(hashes, 43) < 0.75)[nearest] & (clear > 0).any(axis=1) & (length > 40)
    stripes = (across / 1.1 - np.floor(across / 1.1)) < 0.52
    zebra = on_road & has_zebra & in_street & (inside < 3.2) & stripes & (from_middle < half_road - 0.4)
    wide = plan.wide[street][nearest] & ~cobbled
    dashes = (chain / 6.0 - np.floor(chain / 6.0)) < 0.55
    middle_line = wide & (from_middle < 0.09) & dashes & (inside > 5)
    edge = wide & (np.abs(from_middle - (half_road - 2.3)) < 0.07) & (inside > 5)
    parking = ~wide & ~cobbled & (np.abs(from_middle - (half_road - 2.0)) < 0.06) & (inside > 6)
    # Thin lines far away cover a part of a pixel only.
    cover = np.minimum(1.0, 0.16 / np.maximum(forward * PIXEL, 1e-3))
    lines = [zebra, on_road & (middle_line | edge), on_road & parking]
    paint = np.select(lines, [np.float32(0.9), cover, 0.6 * cover], np.float32(0.0))
    colour = colour + (0.86 - colour) * (0.85 * paint)
    # The gutter is darker.
    colour = colour * np.where(on_road & (beyond > -0.35), 0.82, 1.0)

    sunny = np.where(_in_shadow(scene, pieces, nearest, chain, across), 0.0, 0.9 * light.to_sun[2])
    return (colour * (light.ambient[:, None] + light.sun[:, None] * sunny)).T.astype(np.float32)


def _in_shadow(scene: Scene, pieces, nearest, chain, across) -> Bool[np.ndarray, " N"]:
    """Whether the houses on the sunny side of the street keep the sun from points on the ground."""
    plan, to_sun = scene.plan, scene.light.to_sun
    street = plan.street[pieces]
    leftwards, forwards = plan.normal[pieces] @ to_sun[:2], plan.direction[pieces] @ to_sun[:2]
    left = leftwards > 0
    # Metres of level ground from the point to the wall, in the direction of the sun.
    aside = plan.half_width[street][nearest] - np.where(left[nearest], across, -across)
    away = np.maximum(aside, 0) / np.maximum(np.abs(leftwards), 0.05)[nearest]
    length, clear = plan.street_length[street][nearest], plan.clear[street][nearest]
    place = np.clip(chain + forwards[nearest] * away, 0, length)
    frontage = plan.frontages[street, np.where(left, 0, 1)][nearest]
    house = np.searchsorted(scene.houses.begins, frontage + place, side="right") - 1
    # Over a junction there is no house.
    over = (place > clear[:, 0] + 2) & (place < length - clear[:, 1] - 2)
    return (scene.houses.top[house] > away * to_sun[2]) & over


def _nearest(scene: Scene, camera: Camera, pieces, forward, sideways):
    """Each point's piece of street, metres along it, to its left, and beyond its kerb (below 0: road)."""
    plan = scene.plan
    depth, right = camera.local(plan.nodes[plan.piece_ends[pieces, 0]])
    depth1, right1 = camera.local(plan.nodes[plan.piece_ends[pieces, 1]])
    step_ahead = (plan.direction[pieces] @ camera.ahead).astype(np.float32)
    step_right = (plan.direction[pieces] @ camera.right).astype(np.float32)
    length, road = plan.length[pieces].astype(np.float32), plan.road[plan.street[pieces]].astype(np.float32)
    beyond = np.full(len(forward), np.inf, np.float32)
    nearest = np.zeros(len(forward), np.int64)
    # The nearer first: where two pieces meet, points are as far from one as from the other.
    for i in np.argsort(np.hypot((depth + depth1) / 2, (right + right1) / 2), kind="stable").tolist():
        from_depth, from_right = forward - depth[i], sideways - right[i]
        t = np.clip(from_depth * step_ahead[i] + from_right * step_right[i], 0, length[i])
        from_depth -= t * step_ahead[i]
        from_right -= t * step_right[i]
        here = np.sqrt(from_depth * from_depth + from_right * from_right) - road[i]
        nearest[here < beyond] = i
        np.minimum(beyond, here, out=beyond)
    from_depth, from_right = forward - depth[nearest], sideways - right[nearest]
    along = from_depth * step_ahead[nearest] + from_right * step_right[nearest]
    across = from_depth * step_right[nearest] - from_right * step_ahead[nearest]
    return nearest, along, across, beyond
