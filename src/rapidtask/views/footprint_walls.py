"""Buildings whose footprints a file has: their walls stand where they are, in place of generated ones."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from rapidtask.cities.city_graph import CityGraph
from rapidtask.cities.footprints import Footprints
from rapidtask.views.geometry import Strips, near_pairs, spread
from rapidtask.views.hashing import mix, place_hash
from rapidtask.views.houses import BLANK, Houses, furnish
from rapidtask.views.plan import StreetPlan, to_metres
from rapidtask.views.walls import Walls, remaining

BEHIND, BEFORE = 20.0, 6.0
"""Metres from a generated facade, away from its street and into it, within which a footprint replaces it."""
GAP = 1.5
"""Metres of generated facade removed on either side too: no slivers between neighbouring buildings."""
PASSAGE = 2.0
"""Metres on both sides of the middle of a street that stay open where it leads through a building."""
LONGEST = 20.0
"""Metres: longer walls are made of several pieces, so that looking for near ones finds few others."""
NARROW = 2.0
"""Metres of wall below which there is no window and no door."""


def add_footprints(
    city: CityGraph, footprints: Footprints, plan: StreetPlan, walls: Walls, houses: Houses
) -> tuple[Walls, Houses, Float[np.ndarray, " H"], Float[np.ndarray, " K"]]:
    """Put a city's buildings among its generated walls and houses.

    Returns all walls; all houses: every wall of a footprint is one on the axis of frontages, behind the
    generated ones; for each house, the height of what throws a shadow from its place; the top of each wall of
    a footprint, 0 for generated walls.
    """
    sides, building = _sides(city, footprints, float(houses.begins[-1] + houses.width[-1]))
    added = _describe(footprints, building, sides, plan)
    theirs, side = _open_passages(sides, plan)
    ours, shade = _replace(walls, theirs, added.top[side], houses)
    tops = np.concatenate([np.zeros(len(ours.start)), added.top[side]])
    return ours.join(theirs), houses.join(added), np.concatenate([shade, added.top]), tops


def _sides(city: CityGraph, footprints: Footprints, axis: float) -> tuple[Walls, Int[np.ndarray, " K"]]:
    """The sides of all footprints, on the axis of frontages from `axis` on, and whose they are."""
    start = to_metres(city, footprints.lat, footprints.lng)
    first = footprints.offsets[:-1]
    building = np.repeat(np.arange(len(footprints)), np.diff(footprints.offsets))
    follows = np.arange(1, len(start) + 1)
    follows[footprints.offsets[1:] - 1] = first
    end = start[follows]
    # Measured from a corner of its own: far from the origin, products would lose the small differences.
    a, b = start - start[first][building], end - start[first][building]
    area = np.bincount(building, weights=a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    # Counter-clockwise, so that outside is to the right.
    clockwise = (area < 0)[building][:, None]
    start, end = np.where(clockwise, end, start), np.where(clockwise, start, end)
    long = np.hypot(*(end - start).T) > 0.05
    start, end = start[long], end[long]
    size = np.hypot(*(end - start).T)
    along = axis + np.cumsum(size) - size
    unit = (end - start) / size[:, None]
    outward = np.stack([unit[:, 1], -unit[:, 0]], axis=1)
    return Walls(start, end, np.stack([along, along + size], axis=1), outward), building[long]


def _describe(footprints: Footprints, building: np.ndarray, sides: Walls, plan: StreetPlan) -> Houses:
    """What the walls of footprints look like: all walls of a building alike, as high as the file says."""
    counts = np.diff(footprints.offsets)
    first = footprints.offsets[:-1]
    lat, lng = (np.add.reduceat(part, first) / counts for part in (footprints.lat, footprints.lng))
    own = place_hash(lat, lng)[building]
    place = np.stack([np.bincount(building, weights=part) for part in sides.start.T], axis=1)
    place = (place / np.maximum(np.bincount(building), 1)[:, None])[building]
    street = plan.street[plan.tree.query(place)[1]]
    size = sides.size
    made = furnish(sides.along[:, 0], size, mix(own, 50), plan.street_hash[street], place, plan.grand[street])

    told = footprints.height[building]
    height = np.where(np.isfinite(told), told, made.top)
    # A low building has no roof to be seen above its eaves.
    steep = (made.roof_height > 1.0) & (height > 8.0)
    roof = np.where(steep, made.roof_height, np.minimum(0.35, 0.1 * height))
    wall = height - roof
    ground = np.minimum(made.ground_height, wall)
    room = np.maximum(wall - ground - 0.4, 0.0)
    floors = np.round(room / made.floor_height).astype(np.int64)
    narrow = size < NARROW
    return dataclasses.replace(
        made,
        num_floors=floors,
        ground_height=ground,
        floor_height=np.where(floors > 0, room / np.maximum(floors, 1), made.floor_height),
        wall_height=wall,
        roof_height=roof,
        balcony_floor=np.where(narrow, -1, np.minimum(made.balcony_floor, floors - 1)),
        window=np.where(narrow, BLANK, made.window),
        ground=np.where(narrow, BLANK, made.ground),
        door=np.where(narrow, BLANK, made.door),
        roof=np.where(steep & ~narrow, made.roof, BLANK),
    )


def _open_passages(sides: Walls, plan: StreetPlan) -> tuple[Walls, Int[np.ndarray, " K"]]:
    """Walls in pieces of at most `LONGEST`, open where streets lead through; and which side each is of."""
    counts = np.maximum(1, np.ceil(sides.size / LONGEST)).astype(np.int64)
    side, number = spread(counts)
    pieces = sides.between(side, number / counts[side], (number + 1) / counts[side])
    # A metre more at both ends, so that nothing is left between two pieces of street.
    streets = Strips(
        origin=plan.nodes[plan.piece_ends[:, 0]] - plan.direction,
        direction=plan.direction,
        length=plan.length + 2.0,
        half_width=np.full(len(plan.length), PASSAGE),
    )
    piece, low, high = remaining(len(side), pieces.cuts(streets))
    return pieces.between(piece, low, high), side[piece]


def _replace(
    walls: Walls, theirs: Walls, top: Float[np.ndarray, " K"], houses: Houses
) -> tuple[Walls, Float[np.ndarray, " H"]]:
    """What is left of generated walls, and how high the shadows from their houses' places are."""
    length = np.maximum(walls.size, 1e-9)
    direction = (walls.end - walls.start) / length[:, None]
    # A rectangle around each wall, of which more is behind it than before it.
    around = Strips(
        origin=walls.start - walls.outward * ((BEHIND - BEFORE) / 2) - direction * GAP,
        direction=direction,
        length=length + 2 * GAP,
        half_width=np.full(len(length), (BEHIND + BEFORE) / 2),
    )
    middle = houses.begins + houses.width / 2
    found = np.zeros(len(middle))
    cuts = []
    for one, other in near_pairs(walls.middle, walls.size / 2 + LONGEST / 2 + BEHIND, theirs.tree):
        begin, end = theirs.start[other], theirs.end[other]
        enters, leaves = around[one].shares_inside(begin, end)
        one, other, begin, end, enters, leaves = (
            part[leaves > enters] for part in (one, other, begin, end, enters, leaves)
        )
        at = [
            ((begin + (end - begin) * share[:, None] - walls.start[one]) * direction[one]).sum(1)
            for share in (enters, leaves)
        ]
        low = np.clip((np.minimum(*at) - GAP) / length[one], 0, 1)
        high = np.clip((np.maximum(*at) + GAP) / length[one], 0, 1)
        cuts.append((one, low, high))
        ends = np.sort(walls.between(one, low, high).along, axis=1)
        for a, b, metres in zip(*np.searchsorted(middle, ends).T.tolist(), top[other].tolist(), strict=True):
            found[a:b] = np.maximum(found[a:b], metres)
    left = walls.between(*remaining(len(length), cuts))
    return left, np.where(found > 0, found, houses.top)
