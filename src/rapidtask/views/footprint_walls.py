"""Buildings whose footprints a file has: their walls stand where they are, in place of generated ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from rapidtask.cities.city_graph import CityGraph
from rapidtask.cities.footprints import Footprints
from rapidtask.views.buildings import Buildings, furnish
from rapidtask.views.facades import CellKinds
from rapidtask.views.hashing import mix, place_hash
from rapidtask.views.plan import StreetPlan, to_metres
from rapidtask.views.walls import Walls, inside_shares, remaining

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
    city: CityGraph, plan: StreetPlan, walls: Walls, houses: Buildings, kinds: CellKinds
) -> tuple[Walls, Buildings, Float[np.ndarray, " H"], Float[np.ndarray, " K"]]:
    """Put a city's buildings into its scene.

    Args:
        city: has buildings.
        plan: its streets.
        walls: generated walls.
        houses: generated houses.
        kinds: what can be drawn on walls.

    Returns:
        All walls; all houses: every wall of a footprint is one on the axis of frontages, behind the generated
        ones; for each house, the height of what throws a shadow from its place; the top of each wall of a
        footprint, 0 for generated walls.
    """
    assert city.buildings is not None
    start, end, building = _outlines(city, city.buildings)
    size = np.hypot(*(end - start).T)
    axis = houses.begins[-1] + houses.width[-1] + np.cumsum(size) - size
    added = _describe(city.buildings, building, axis, size, plan, start, kinds)
    top = added.wall_height + added.roof_height

    wall, low, high = _pieces(start, end, size, plan)
    step = (end - start)[wall]
    unit = step / size[wall][:, None]
    theirs = Walls(
        start=start[wall] + step * low[:, None],
        end=start[wall] + step * high[:, None],
        along=axis[wall][:, None] + size[wall][:, None] * np.stack([low, high], axis=1),
        # Outlines run counter-clockwise: outside is to the right.
        outward=np.stack([unit[:, 1], -unit[:, 0]], axis=1),
    )
    ours, shade = _replace(walls, theirs, top[wall], houses)
    both = _join(ours, theirs)
    return (
        both,
        _join(houses, added),
        np.concatenate([shade, top]),
        np.concatenate([np.zeros(len(ours.start)), top[wall]]),
    )


def _join(one, other):
    """Two dataclasses of arrays, laid end to end."""
    names = [field.name for field in dataclasses.fields(one)]
    return type(one)(**{name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in names})


def _outlines(city: CityGraph, footprints: Footprints):
    """The sides of all footprints, counter-clockwise: starts, ends, and whose they are."""
    points = to_metres(city, footprints.lat, footprints.lng)
    counts = np.diff(footprints.offsets)
    building = np.repeat(np.arange(len(footprints)), counts)
    follows = np.arange(1, len(points) + 1)
    follows[footprints.offsets[1:] - 1] = footprints.offsets[:-1]
    start, end = points, points[follows]
    # Measured from a corner of its own: far from the origin, products would lose the small differences.
    a, b = start - points[footprints.offsets[:-1]][building], end - points[footprints.offsets[:-1]][building]
    area = np.bincount(building, weights=a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    clockwise = (area < 0)[building][:, None]
    start, end = np.where(clockwise, end, start), np.where(clockwise, start, end)
    long = np.hypot(*(end - start).T) > 0.05
    return start[long], end[long], building[long]


def _describe(
    footprints: Footprints, building, axis, size, plan: StreetPlan, start, kinds: CellKinds
) -> Buildings:
    """What the walls of footprints look like: all walls of a building alike, as high as the file says."""
    counts = np.diff(footprints.offsets)
    first = footprints.offsets[:-1]
    lat, lng = (np.add.reduceat(part, first) / counts for part in (footprints.lat, footprints.lng))
    own = place_hash(lat, lng)[building]
    place = np.stack([np.bincount(building, weights=part) for part in start.T], axis=1)
    place = (place / np.maximum(np.bincount(building), 1)[:, None])[building]
    _, nearest = KDTree(plan.nodes[plan.piece_ends].mean(axis=1)).query(place)
    street = plan.street[nearest]
    grand = np.clip((plan.avenue[street] - 200) / 1500, 0, 1)
    made = furnish(axis, size, mix(own, 50), plan.street_hash[street], place, grand, kinds)

    told = footprints.height[building]
    known = np.isfinite(told)
    height = np.where(known, told, made.wall_height + made.roof_height)
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
        window=np.where(narrow, kinds.blank, made.window),
        special=np.where(narrow, kinds.blank, made.special),
        special_floor=np.minimum(made.special_floor, floors - 1),
        shops=np.where(narrow, -1, made.shops),
        door=np.where(narrow, kinds.blank, made.door),
        ground=np.where(narrow, kinds.blank, made.ground),
        roof=np.where(steep & ~narrow, made.roof, kinds.blank),
    )


def _pieces(start, end, size, plan: StreetPlan):
    """Walls in pieces of at most `LONGEST`, open where streets lead through: whose, from share to share."""
    counts = np.maximum(1, np.ceil(size / LONGEST)).astype(np.int64)
    wall = np.repeat(np.arange(len(size)), counts)
    number = np.arange(len(wall)) - np.repeat(np.cumsum(counts) - counts, counts)
    low, high = number / counts[wall], (number + 1) / counts[wall]
    step = (end - start)[wall]
    piece_start, piece_end = start[wall] + step * low[:, None], start[wall] + step * high[:, None]
    direction = plan.direction
    # A metre more at both ends, so that nothing is left between two pieces of street.
    origin, length = plan.nodes[plan.piece_ends[:, 0]] - direction, plan.length + 2.0
    far = float(length.max()) / 2 + PASSAGE
    tree = KDTree(origin + direction * length[:, None] / 2)
    cuts: list[list[tuple[float, float]]] = [[] for _ in range(len(wall))]
    for one, street in _near(piece_start, piece_end, tree, far):
        enters, leaves = inside_shares(
            piece_start[one], piece_end[one], origin[street], direction[street], length[street],
            np.full(len(street), PASSAGE),
        )  # fmt: skip
        _note(cuts, one, enters, leaves)
    index, a, b = remaining(cuts)
    span = high[index] - low[index]
    return wall[index], low[index] + a * span, low[index] + b * span


def _replace(walls: Walls, theirs: Walls, top: np.ndarray, houses: Buildings):
    """What is left of generated walls, and how high the shadows from their houses' places are."""
    step = walls.end - walls.start
    length = np.maximum(np.hypot(*step.T), 1e-9)
    direction = step / length[:, None]
    # A rectangle around each wall, of which more is behind it than before it.
    origin = walls.start - walls.outward * ((BEHIND - BEFORE) / 2) - direction * GAP
    tree = KDTree((theirs.start + theirs.end) / 2)
    cuts: list[list[tuple[float, float]]] = [[] for _ in range(len(length))]
    shade = houses.wall_height + houses.roof_height
    middle = houses.begins + houses.width / 2
    found = np.zeros(len(shade))
    for one, other in _near(walls.start, walls.end, tree, LONGEST / 2 + BEHIND):
        begin, side = theirs.start[other], (theirs.end - theirs.start)[other]
        enters, leaves = inside_shares(
            begin, begin + side, origin[one], direction[one], length[one] + 2 * GAP,
            np.full(len(one), (BEHIND + BEFORE) / 2),
        )  # fmt: skip
        one, other, begin, side, enters, leaves = (
            part[leaves > enters] for part in (one, other, begin, side, enters, leaves)
        )
        at = [
            ((begin + side * share[:, None] - walls.start[one]) * direction[one]).sum(1)
            for share in (enters, leaves)
        ]
        low = np.clip((np.minimum(*at) - GAP) / length[one], 0, 1)
        high = np.clip((np.maximum(*at) + GAP) / length[one], 0, 1)
        _note(cuts, one, low, high)
        span = walls.along[one, 1] - walls.along[one, 0]
        ends = np.sort(walls.along[one, :1] + span[:, None] * np.stack([low, high], axis=1), axis=1)
        for a, b, metres in zip(*np.searchsorted(middle, ends).T.tolist(), top[other].tolist(), strict=True):
            found[a:b] = np.maximum(found[a:b], metres)
    index, low, high = remaining(cuts)
    along = walls.along[index, :1] + (walls.along[index, 1:] - walls.along[index, :1]) * np.stack(
        [low, high], axis=1
    )
    left = Walls(
        start=walls.start[index] + step[index] * low[:, None],
        end=walls.start[index] + step[index] * high[:, None],
        along=along,
        outward=walls.outward[index],
    )
    return left, np.where(found > 0, found, shade)


def _near(start, end, tree: KDTree, far: float, batch: int = 4096) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs (wall, other) that may touch: middles nearer than `far` and half of the wall; in batches."""
    middle, reach = (start + end) / 2, np.hypot(*(end - start).T) / 2
    for first in range(0, len(middle), batch):
        part = slice(first, first + batch)
        near = tree.query_ball_point(middle[part], reach[part] + far, return_sorted=True)
        counts = np.array([len(one) for one in near])
        if counts.sum():
            wall = first + np.repeat(np.arange(len(near)), counts)
            yield wall, np.concatenate([np.asarray(one, np.int64) for one in near])


def _note(cuts: list[list[tuple[float, float]]], which, low, high) -> None:
    """Add the intervals that are not empty."""
    there = high > low
    for i, a, b in zip(which[there].tolist(), low[there].tolist(), high[there].tolist(), strict=True):
        cuts[i].append((a, b))
