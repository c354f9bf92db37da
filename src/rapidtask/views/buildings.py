"""Buildings: how the frontage of each street is divided into houses, and what each house is like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt64

from rapidtask.views.facades import CellKinds
from rapidtask.views.hashing import mix, pick, share
from rapidtask.views.materials import MATERIALS
from rapidtask.views.plan import StreetPlan
from rapidtask.views.walls import frontage_offsets

# Wall colours by material; the first few are the commonest.
PALETTES: dict[str, tuple[tuple[float, float, float], ...]] = {
    "brick": (
        (0.55, 0.29, 0.22), (0.62, 0.37, 0.27), (0.45, 0.26, 0.22), (0.70, 0.52, 0.38), (0.50, 0.40, 0.34),
    ),
    "plaster": (
        (0.86, 0.80, 0.68), (0.88, 0.84, 0.78), (0.83, 0.68, 0.48), (0.76, 0.52, 0.40), (0.68, 0.73, 0.70),
        (0.87, 0.74, 0.66), (0.72, 0.76, 0.82), (0.80, 0.76, 0.52), (0.62, 0.42, 0.38), (0.58, 0.66, 0.58),
    ),
    "stone": ((0.80, 0.74, 0.62), (0.74, 0.70, 0.64), (0.66, 0.62, 0.56), (0.84, 0.79, 0.70)),
    "panel": ((0.64, 0.64, 0.62), (0.56, 0.58, 0.60), (0.72, 0.70, 0.66), (0.46, 0.48, 0.50)),
    "boards": ((0.76, 0.78, 0.78), (0.54, 0.62, 0.66), (0.70, 0.62, 0.48), (0.60, 0.32, 0.26)),
}  # fmt: skip
ROOFS = ((0.32, 0.34, 0.39), (0.48, 0.27, 0.20), (0.40, 0.32, 0.27), (0.28, 0.29, 0.31))
"""Slate, tiles, brown tiles, bitumen."""
DISTRICT = 420.0
"""Metres over which the character of a quarter changes."""


@dataclass(frozen=True, eq=False)
class Buildings:
    """Houses H along the axis of all frontages (see `frontage_offsets`), in order."""

    begins: Float[np.ndarray, " H"]
    """Where each house begins on the axis."""
    width: Float[np.ndarray, " H"]
    """Metres of frontage."""
    hash: UInt64[np.ndarray, " H"]
    num_bays: Int[np.ndarray, " H"]
    """Columns of windows."""
    num_floors: Int[np.ndarray, " H"]
    """Storeys above the ground floor."""
    ground_height: Float[np.ndarray, " H"]
    floor_height: Float[np.ndarray, " H"]
    wall_height: Float[np.ndarray, " H"]
    """Metres up to the eaves."""
    roof_height: Float[np.ndarray, " H"]
    """Metres of visible roof above the eaves."""
    material: Int[np.ndarray, " H"]
    colour: Float[np.ndarray, "H 3"]
    roof_colour: Float[np.ndarray, "H 3"]
    window: Int[np.ndarray, " H"]
    """Cell of an ordinary storey."""
    special: Int[np.ndarray, " H"]
    """Cell of the storeys that differ (balconies)."""
    special_floor: Int[np.ndarray, " H"]
    """The storey that differs, or -1."""
    shops: Int[np.ndarray, " H"]
    """Cell of the shop on the ground floor, or -1."""
    door: Int[np.ndarray, " H"]
    """Cell of the door."""
    ground: Int[np.ndarray, " H"]
    """Cell of a ground floor without a shop."""
    roof: Int[np.ndarray, " H"]
    """Cell of the roof."""
    courses: Float[np.ndarray, " H"]
    """How strongly the storeys are divided by bands, 0 to 1."""


def make_buildings(plan: StreetPlan, kinds: CellKinds) -> Buildings:
    """Divide all frontages into houses; everything about a house follows from the hash of its street."""
    offsets = frontage_offsets(plan).ravel()
    lengths = np.repeat(plan.street_length + 2.0, 2)
    frontage_hash = mix(np.repeat(plan.street_hash, 2), np.tile([1, 2], len(plan.street_length)))
    typical = 9.0 + 9.0 * share(frontage_hash, 1)
    counts = np.maximum(1, np.round(lengths / typical)).astype(np.int64)
    frontage = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(frontage)) - np.repeat(np.cumsum(counts) - counts, counts)
    house = mix(frontage_hash[frontage], 3, number)
    jitter = np.where(number == 0, 0.0, 0.5 * (share(house, 4) - 0.5))
    begins = offsets[frontage] + (number + jitter) * (lengths / counts)[frontage]
    width = np.diff(np.append(begins, offsets[-1] + lengths[-1]))

    first = np.cumsum(np.bincount(plan.street)) - np.bincount(plan.street)
    place = plan.nodes[plan.piece_ends[first, 0]][frontage // 2]
    grand = np.clip((plan.avenue[frontage // 2] - 200) / 1500, 0, 1)
    return furnish(begins, width, house, frontage_hash[frontage], place, grand, kinds)


def furnish(
    begins: Float[np.ndarray, " H"],
    width: Float[np.ndarray, " H"],
    house: UInt64[np.ndarray, " H"],
    group: UInt64[np.ndarray, " H"],
    place: Float[np.ndarray, "H 2"],
    grand: Float[np.ndarray, " H"],
    kinds: CellKinds,
) -> Buildings:
    """Decide what houses are like.

    Args:
        begins: see `Buildings`.
        width: see `Buildings`.
        house: hash of each house.
        group: hash of what it belongs to (its frontage), whose houses have something in common.
        place: metres, in the plan's coordinates: the quarter it stands in.
        grand: 0 in a lane to 1 on a long avenue.
        kinds: what can be drawn.
    """
    # The quarter's character varies slowly over the map: how high, which materials, how many shops.
    height_here, style_here, shops_here = (_slow_noise(place, salt) for salt in (1, 2, 3))
    floors = np.round(1.2 + 3.4 * height_here + 1.6 * grand + 2.4 * (share(house, 5) - 0.5)).astype(np.int64)
    floors = np.clip(floors, 1, 7)
    floors = np.where(share(house, 6) < 0.04, floors + 3, floors)
    material_bias = style_here + 0.5 * (share(house, 7) - 0.5)
    material = np.select([material_bias < 0.22, material_bias < 0.55, material_bias < 0.78], [0, 1, 2], 1)
    odd = share(house, 8)
    material = np.select([odd < 0.06, odd < 0.10, odd < 0.24], [3, 4, pick(3, house, 9)], material)
    colour = np.zeros((len(house), 3))
    for i, name in enumerate(MATERIALS):
        palette = np.array(PALETTES[name])
        chosen = palette[pick(len(palette), house, 10)]
        colour = np.where((material == i)[:, None], chosen, colour)
    colour = np.clip(colour * (0.88 + 0.24 * share(house, 11))[:, None], 0, 0.95)
    has_shop = share(house, 12) < 0.18 + 0.5 * grand + 0.3 * shops_here
    windows = np.array(kinds.windows)
    # Each frontage prefers one kind of window, so that a street has a character of its own.
    window = np.where(
        share(house, 13) < 0.35,
        windows[pick(len(windows) - 2, group, 14)],
        windows[pick(len(windows) - 2, house, 14)],
    )
    modern = material == 3
    window = np.where(modern, windows[-2 + pick(2, house, 15)], window)
    floor_height = 2.9 + 0.7 * share(house, 16)
    ground_height = np.where(has_shop, 3.9, 3.2) + 0.7 * share(house, 17)
    mansard = (share(house, 18) < 0.55) & ~modern
    roof_height = np.where(mansard, 2.2 + 1.2 * share(house, 19), 0.35)
    return Buildings(
        begins=begins,
        width=width,
        hash=house,
        num_bays=np.maximum(1, np.round(width / (2.5 + 1.3 * share(house, 20)))).astype(np.int64),
        num_floors=floors,
        ground_height=ground_height,
        floor_height=floor_height,
        wall_height=ground_height + floors * floor_height + 0.4,
        roof_height=roof_height,
        material=material,
        colour=colour,
        roof_colour=np.array(ROOFS)[np.where(mansard, pick(3, house, 21), 3)],
        window=window,
        special=np.full(len(house), kinds.windows[5]),
        special_floor=np.where(share(house, 22) < 0.4, pick(2, house, 23) * (floors - 1), -1),
        shops=np.where(has_shop, np.array(kinds.shops)[pick(len(kinds.shops), house, 24)], -1),
        door=np.array(kinds.doors)[pick(len(kinds.doors), house, 25)],
        ground=np.array(kinds.ground)[pick(len(kinds.ground), house, 26)],
        roof=np.where(mansard, np.array(kinds.roofs)[pick(3, house, 27)], kinds.blank),
        courses=np.where(modern, 0.0, share(house, 28)),
    )


def _slow_noise(place: Float[np.ndarray, "H 2"], salt: int) -> Float[np.ndarray, " H"]:
    """Numbers in 0..1 that change slowly over the map: hashes of a lattice, interpolated."""
    at = place / DISTRICT
    low = np.floor(at).astype(np.int64)
    part = at - low
    part = part * part * (3 - 2 * part)
    value = np.zeros(len(place))
    for dx in (0, 1):
        for dy in (0, 1):
            weight = np.abs(1 - dx - part[:, 0]) * np.abs(1 - dy - part[:, 1])
            value += weight * share(low[:, 0] + dx, low[:, 1] + dy, salt)
    return value
