"""What stands in the streets: trees and lamps on the pavements, cars parked at the kerb."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from rapidtask.views.hashing import mix, pick, share
from rapidtask.views.object_textures import CAR_BACK, CAR_FRONT, CAR_SIDE, LAMP, TREES, VAN_END, VAN_SIDE
from rapidtask.views.plan import StreetPlan

TREE, LAMP_POST, CAR = range(3)
"""Kinds of objects."""

LEAVES = ((0.30, 0.42, 0.16), (0.22, 0.36, 0.16), (0.40, 0.46, 0.18), (0.50, 0.40, 0.16))
PAINT = (
    (0.82, 0.83, 0.84), (0.16, 0.17, 0.19), (0.52, 0.54, 0.56), (0.55, 0.10, 0.10), (0.14, 0.24, 0.46),
    (0.70, 0.66, 0.56), (0.14, 0.32, 0.24), (0.86, 0.66, 0.12),
)  # fmt: skip
"""Colours of cars."""


@dataclass(frozen=True, eq=False)
class Objects:
    """Objects O in a city."""

    place: Float[np.ndarray, "O 2"]
    """Where each stands, metres."""
    kind: Int[np.ndarray, " O"]
    """TREE, LAMP_POST or CAR."""
    direction: Float[np.ndarray, "O 2"]
    """Where a car's front points."""
    size: Float[np.ndarray, "O 3"]
    """Length, width, height in metres; trees and lamps face whoever looks at them with their width."""
    colour: Float[np.ndarray, "O 3"]
    textures: Int[np.ndarray, "O 3"]
    """Of the side, the back and the front; the first one only for trees and lamps."""
    tree: KDTree
    """Their places."""


def make_objects(plan: StreetPlan) -> Objects:
    """Furnish all streets; where and what follows from the hashes of the streets."""
    rows = [_row(plan, kind) for kind in (TREE, LAMP_POST, CAR)]
    street, side, number, chain, kind = (np.concatenate(part) for part in zip(*rows, strict=True))
    one = mix(plan.street_hash[street], 200 + kind, side, number)
    first = np.searchsorted(plan.street, street)
    count = np.bincount(plan.street, minlength=len(plan.street_length))[street]
    # The piece of its street that each object is beside: pieces of a street are in order.
    total = plan.chainage + 1e6 * plan.street
    piece = np.clip(np.searchsorted(total, chain + 1e6 * street, side="right") - 1, first, first + count - 1)
    road = plan.road[street]
    away = road + np.array([0.9, 0.5, -1.05])[kind]
    left = np.where(side == 0, 1.0, -1.0)
    direction, normal = plan.direction[piece], plan.normal[piece]
    along = (chain - plan.chainage[piece])[:, None]
    place = plan.nodes[plan.piece_ends[piece, 0]] + direction * along + normal * (left * away)[:, None]
    keep = ~_in_the_way(plan, place, street)

    grown = np.where(plan.half_width[street] > 7.7, 1.0, 0.62) * (0.8 + 0.4 * share(one, 1))
    is_tree, is_lamp = kind == TREE, kind == LAMP_POST
    van = (kind == CAR) & (share(one, 2) < 0.12)
    high = np.select([is_tree, is_lamp, van], [8.2 * grown, 5.4, 2.15], 1.42 + 0.16 * share(one, 3))
    size = np.stack(
        [
            np.where(van, 5.0, 3.8 + 0.7 * share(one, 4)),
            np.select([is_tree, is_lamp, van], [8.2 * grown, 5.4, 1.95], 1.75),
            high,
        ],
        axis=1,
    )
    leaf = (
        np.array(LEAVES)[pick(len(LEAVES), plan.street_hash[street], 210)]
        * (0.85 + 0.3 * share(one, 5))[:, None]
    )
    colour = np.where((kind == CAR)[:, None], np.array(PAINT)[pick(len(PAINT), one, 6)], leaf)
    species = np.array(TREES)[pick(len(TREES), plan.street_hash[street], 211)]
    flat = np.select([is_tree, is_lamp, van], [species, LAMP, VAN_SIDE], CAR_SIDE)
    textures = np.stack([flat, np.where(van, VAN_END, CAR_BACK), np.where(van, VAN_END, CAR_FRONT)], axis=1)
    # Cars stand as they drive: on the right-hand side of the road.
    facing = direction * np.where(side == 0, -1.0, 1.0)[:, None]
    parts = (place, kind, facing, size, colour, textures)
    return Objects(*(part[keep] for part in parts), tree=KDTree(place[keep]))


def _row(plan: StreetPlan, kind: int) -> tuple[np.ndarray, ...]:
    """Candidate places of one kind along all streets: street, side, number, chainage, kind."""
    salt = plan.street_hash
    wide = plan.avenue > 450
    spacing, chance = (
        (8.5 + 5 * share(salt, 220), np.where(share(salt, 221) < np.where(wide, 0.7, 0.22), 0.85, 0.0)),
        (26.0 + 0 * share(salt, 220), np.full(len(salt), 1.0)),
        (6.2 + 0 * share(salt, 220), np.where(share(salt, 222) < 0.8, 0.12 + 0.6 * share(salt, 223), 0.0)),
    )[kind]
    # Keep clear of junctions and their crossings.
    start = plan.clear[:, 0] + 5.0
    room = plan.street_length - plan.clear[:, 1] - 5.0 - start
    counts = np.maximum(0, np.floor(room / spacing)).astype(np.int64)
    street = np.repeat(np.arange(len(salt)), counts)
    number = np.arange(len(street)) - np.repeat(np.cumsum(counts) - counts, counts)
    street, number = np.tile(street, 2), np.tile(number, 2)
    side = np.repeat([0, 1], len(street) // 2)
    one = mix(salt[street], 230 + kind, side, number)
    there = share(one, 1) < chance[street]
    if kind == LAMP_POST:
        there &= number % 2 == side
    jitter = 0.25 * (share(one, 2) - 0.5)
    chain = start[street] + (number + 0.5 + jitter) * spacing[street]
    return street[there], side[there], number[there], chain[there], np.full(int(there.sum()), kind)


def _in_the_way(plan: StreetPlan, place: Float[np.ndarray, "O 2"], own: np.ndarray) -> np.ndarray:
    """Which objects would stand on the road of another street."""
    if len(place) == 0:
        return np.zeros(0, bool)
    middle = plan.nodes[plan.piece_ends].mean(axis=1)
    reach = float((plan.length / 2).max() + plan.road.max() + 1)
    near = KDTree(middle).query_ball_point(place, reach)
    which = np.repeat(np.arange(len(near)), [len(one) for one in near])
    piece = np.concatenate([np.asarray(one, np.int64) for one in near])
    step = place[which] - plan.nodes[plan.piece_ends[piece, 0]]
    along = (step * plan.direction[piece]).sum(1)
    across = np.abs((step * plan.normal[piece]).sum(1))
    street = plan.street[piece]
    inside = (along > -1) & (along < plan.length[piece] + 1) & (across < plan.road[street] + 0.8)
    inside &= street != own[which]
    return np.bincount(which[inside], minlength=len(place)) > 0
