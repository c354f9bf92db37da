"""The pixels of the ground: roads with their markings, kerbs, pavements, and grass between carriageways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from rapidtask.views.camera import ACROSS, EYE, PIXEL, UP, Camera, WallHits
from rapidtask.views.grounds import ASPHALT, COBBLES, GRASS, GROUND_METRES, SLABS, make_grounds
from rapidtask.views.hashing import share

if TYPE_CHECKING:
    from rapidtask.views.scene import Scene

NEAR, FAR = 14.0, 130.0
"""Metres: streets are looked up in two rings, because most pixels of the ground are near."""
KERB = 0.22
"""Width of the kerb in metres."""


def shade_ground(
    scene: Scene,
    camera: Camera,
    hits: WallHits,
    picture: Float[np.ndarray, "S S 3"],
    depth: Float[np.ndarray, "S S"],
) -> None:
    """Paint the ground into the picture and its distances into the depth."""
    horizon = int(np.argmax(UP < 0))
    ahead = EYE / -UP[horizon:]
    for low, high in ((0.0, NEAR), (NEAR, FAR), (FAR, np.inf)):
        band = np.flatnonzero((ahead >= low) & (ahead < high))
        if len(band) == 0:
            continue
        visible = ahead[band][:, None] < hits.depth
        rows, columns = np.nonzero(visible)
        forward = ahead[band][rows]
        sideways = ACROSS[columns] * forward
        points = camera.place + forward[:, None] * camera.ahead + sideways[:, None] * camera.right
        if low >= FAR:
            colour = np.full((len(rows), 3), 0.34, np.float32) * scene.light.ambient.astype(np.float32)
        else:
            reach = (high if high < FAR else FAR) * 1.2
            colour = _colour(scene, camera, points, forward, sideways, reach)
        picture[horizon + band[rows], columns] = colour
        depth[horizon + band[rows], columns] = forward


def _colour(scene: Scene, camera: Camera, points, forward, sideways, reach: float) -> np.ndarray:
    """Colour of points on the ground."""
    plan = scene.plan
    # Half of the reach ahead is the middle of what is seen.
    middle = camera.place + camera.ahead * (reach / 2)
    pieces = np.array(
        scene.piece_tree.query_ball_point(middle, reach * 0.62 + 16 + scene.piece_reach, return_sorted=True),
        np.int64,
    )
    if len(pieces) == 0:
        return np.full((len(points), 3), 0.3, np.float32)
    along, across, piece, beyond = _nearest(scene, camera, pieces, forward, sideways)
    street = plan.street[piece]
    chain = plan.chainage[piece] + along
    half_road = plan.road[street].astype(np.float32)
    length = plan.street_length[street]

    # A junction belongs to none of its streets; markings keep clear of it, and begin with a zebra crossing.
    clear = plan.clear[street]
    inside = np.minimum(chain - clear[:, 0], length - clear[:, 1] - chain)
    tone = (0.29 + 0.09 * share(plan.street_hash, 40))[street].astype(np.float32)
    cobbled = ((share(plan.street_hash, 41) < 0.16) & (plan.avenue < 450))[street] & (inside > 0)
    tone = np.where(inside > 0, tone, 0.33)
    on_road, on_kerb = beyond < 0, (beyond >= 0) & (beyond < KERB)
    pavement = (plan.half_width - plan.road)[street] + 1.2
    on_grass = beyond > pavement
    texture = np.where(on_road, np.where(cobbled, COBBLES, ASPHALT), np.where(on_grass, GRASS, SLABS))
    warm = share(plan.street_hash, 42)[street]
    colour = np.empty((len(points), 3), np.float32)
    colour[:] = tone[:, None] * np.where(cobbled[:, None], [1.12, 1.04, 0.96], [1.0, 1.0, 1.03])
    slab = np.stack([0.56 + 0.08 * warm, 0.54 + 0.05 * warm, 0.52 - 0.02 * warm], 1)
    colour = np.where((on_road | on_kerb)[:, None], colour, slab)
    colour = np.where(on_kerb[:, None], 0.66, colour)
    colour = np.where(on_grass[:, None], [0.30, 0.40, 0.20], colour)
    atlas = make_grounds()
    footprint = np.sqrt(forward * PIXEL * forward**2 * PIXEL / EYE)
    level = np.log2(np.maximum(footprint * atlas.size / GROUND_METRES, 1e-3)) + 0.5
    grain = atlas.look_up(texture, points[:, 0] / GROUND_METRES, points[:, 1] / GROUND_METRES, level)
    colour = colour * grain

    has_zebra = (clear > 0).any(axis=1) & (share(plan.street_hash, 43) < 0.75)[street] & (length > 40)
    stripes = (across / 1.1 - np.floor(across / 1.1)) < 0.52
    zebra = on_road & has_zebra & (inside > 0) & (inside < 3.2) & stripes & (np.abs(across) < half_road - 0.4)
    wide = (plan.avenue > 450)[street] & ~cobbled
    dashes = (chain / 6.0 - np.floor(chain / 6.0)) < 0.55
    middle_line = wide & (np.abs(across) < 0.09) & dashes & (inside > 5)
    parking = ~wide & ~cobbled & (np.abs(np.abs(across) - (half_road - 2.0)) < 0.06) & (inside > 6)
    edge = wide & (np.abs(np.abs(across) - (half_road - 2.3)) < 0.07) & (inside > 5)
    # Thin lines far away cover a part of a pixel only.
    cover = np.minimum(1.0, 0.16 / np.maximum(forward * PIXEL, 1e-3))
    paint = np.where(
        zebra,
        0.9,
        np.where(on_road & (middle_line | edge), cover, np.where(on_road & parking, 0.6 * cover, 0.0)),
    )
    colour = colour + (0.86 - colour) * (0.85 * paint)[:, None]
    # The gutter is darker, and so is the ground at the foot of the walls.
    colour = colour * np.where((beyond < 0) & (beyond > -0.35), 0.82, 1.0)[:, None]
    light = scene.light
    sunny = np.where(_in_shadow(scene, piece, chain, across, inside), 0.0, 0.9 * light.to_sun[2])
    return (colour * (light.ambient + light.sun * sunny[:, None])).astype(np.float32)


def _in_shadow(scene: Scene, piece, chain, across, inside) -> np.ndarray:
    """Whether the houses on the sunny side of the street keep the sun from points on the ground."""
    plan, houses, to_sun = scene.plan, scene.buildings, scene.light.to_sun
    street = plan.street[piece]
    leftwards = (plan.normal @ to_sun[:2])[piece]
    forwards = (plan.direction @ to_sun[:2])[piece]
    left = leftwards > 0
    # Metres of level ground from the point to the wall, in the direction of the sun.
    steep = np.maximum(np.abs(leftwards), 0.05)
    away = np.maximum(plan.half_width[street] - np.where(left, across, -across), 0) / steep
    offsets = scene.frontages[street, np.where(left, 0, 1)]
    place = np.clip(chain + forwards * away, 0, plan.street_length[street])
    house = np.searchsorted(houses.begins, offsets + place, side="right") - 1
    high = scene.shade_height[house]
    # Over a junction there is no house.
    clear = plan.clear[street]
    over = (place > clear[:, 0] + 2) & (place < plan.street_length[street] - clear[:, 1] - 2)
    return (high > away * to_sun[2]) & over


def _nearest(scene: Scene, camera: Camera, pieces, forward, sideways):
    """For each point the piece of street it belongs to.

    Returns:
        Metres along the piece, metres to its left, its number, and metres beyond its kerb (below 0: road).
    """
    plan = scene.plan
    ends = plan.piece_ends[pieces]
    depth0, right0 = camera.local(plan.nodes[ends[:, 0]])
    depth1, right1 = camera.local(plan.nodes[ends[:, 1]])
    ahead = (plan.direction[pieces] @ camera.ahead).astype(np.float32)
    right = (plan.direction[pieces] @ camera.right).astype(np.float32)
    length, road = plan.length[pieces].astype(np.float32), plan.road[plan.street[pieces]].astype(np.float32)
    best = np.full(len(forward), np.inf, np.float32)
    along = np.zeros(len(forward), np.float32)
    across, piece = along.copy(), np.zeros(len(forward), np.int64)
    order = np.argsort(np.hypot((depth0 + depth1) / 2, (right0 + right1) / 2), kind="stable")
    for i in order.tolist():
        step_depth, step_right = forward - depth0[i], sideways - right0[i]
        t = step_depth * ahead[i] + step_right * right[i]
        clipped = np.clip(t, 0, length[i])
        off_depth, off_right = step_depth - clipped * ahead[i], step_right - clipped * right[i]
        beyond = np.sqrt(off_depth * off_depth + off_right * off_right) - road[i]
        closer = beyond < best
        best = np.where(closer, beyond, best)
        along = np.where(closer, t, along)
        across = np.where(closer, step_depth * right[i] - step_right * ahead[i], across)
        piece = np.where(closer, pieces[i], piece)
    return along, across, piece, best
