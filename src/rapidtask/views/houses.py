"""Houses: how the frontage of each street is divided into them, what each is like; and their pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int, UInt64

from rapidtask.views.camera import EYE, PIXEL, UP, WallHits
from rapidtask.views.geometry import Table, spread
from rapidtask.views.hashing import mix, pick, share
from rapidtask.views.plan import StreetPlan
from rapidtask.views.textures import load_atlas

if TYPE_CHECKING:
    from rapidtask.views.scene import Scene

PALETTES: tuple[tuple[tuple[float, float, float], ...], ...] = (
    # Brick.
    ((0.55, 0.29, 0.22), (0.62, 0.37, 0.27), (0.45, 0.26, 0.22), (0.70, 0.52, 0.38), (0.50, 0.40, 0.34)),
    # Plaster.
    (
        (0.86, 0.80, 0.68), (0.88, 0.84, 0.78), (0.83, 0.68, 0.48), (0.76, 0.52, 0.40), (0.68, 0.73, 0.70),
        (0.87, 0.74, 0.66), (0.72, 0.76, 0.82), (0.80, 0.76, 0.52), (0.62, 0.42, 0.38), (0.58, 0.66, 0.58),
    ),
    # Stone.
    ((0.80, 0.74, 0.62), (0.74, 0.70, 0.64), (0.66, 0.62, 0.56), (0.84, 0.79, 0.70)),
    # Concrete panels.
    ((0.64, 0.64, 0.62), (0.56, 0.58, 0.60), (0.72, 0.70, 0.66), (0.46, 0.48, 0.50)),
    # Boards.
    ((0.76, 0.78, 0.78), (0.54, 0.62, 0.66), (0.70, 0.62, 0.48), (0.60, 0.32, 0.26)),
)  # fmt: skip
"""Wall colours by material, in the order of the materials' textures."""
MATERIAL_METRES = 2.4
"""Side of a material's texture in metres."""
ROOF_COLOURS = ((0.32, 0.34, 0.39), (0.48, 0.27, 0.20), (0.40, 0.32, 0.27), (0.28, 0.29, 0.31))
"""Slate, tiles, brown tiles, bitumen."""
DISTRICT = 420.0
"""Metres over which the character of a quarter changes."""

WINDOWS, MODERN_WINDOWS = range(11), range(11, 13)
SHOPS, DOORS, GROUND_FLOORS, ROOFS = range(13, 29), range(29, 35), range(35, 39), range(39, 42)
"""Numbers of the facade cells (one bay wide, one storey high) by what they are for."""
BALCONY, BLANK = WINDOWS[5], ROOFS[0]
"""A window with a balcony; nothing but wall."""


@dataclass(frozen=True, eq=False)
class Houses(Table):
    """Houses H along the axis of all frontages (see `StreetPlan.frontages`), in order."""

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
    courses: Float[np.ndarray, " H"]
    """How strongly the storeys are divided by bands, 0 to 1."""
    balcony_floor: Int[np.ndarray, " H"]
    """The storey that has balconies, or -1."""
    window: Int[np.ndarray, " H"]
    ground: Int[np.ndarray, " H"]
    door: Int[np.ndarray, " H"]
    roof: Int[np.ndarray, " H"]
    """Cells of the other storeys; of the ground floor, which is a shop or not; of the door; of the roof."""

    @property
    def top(self) -> Float[np.ndarray, " H"]:
        """Metres up to the top of the roof."""
        return self.wall_height + self.roof_height


def make_houses(plan: StreetPlan) -> Houses:
    """Divide all frontages into houses; everything about a house follows from the hash of its street."""
    offsets = plan.frontages.ravel()
    lengths = np.repeat(plan.street_length + 2.0, 2)
    frontage_hash = mix(np.repeat(plan.street_hash, 2), np.tile([1, 2], len(plan.street_length)))
    typical = 9.0 + 9.0 * share(frontage_hash, 1)
    counts = np.maximum(1, np.round(lengths / typical)).astype(np.int64)
    frontage, number = spread(counts)
    house = mix(frontage_hash[frontage], 3, number)
    jitter = np.where(number == 0, 0.0, 0.5 * (share(house, 4) - 0.5))
    begins = offsets[frontage] + (number + jitter) * (lengths / counts)[frontage]
    width = np.diff(np.append(begins, offsets[-1] + lengths[-1]))
    street = frontage // 2
    place = plan.nodes[plan.piece_ends[np.searchsorted(plan.street, street), 0]]
    # 0 for a lane to 1 for a long avenue.
    grand = np.clip((plan.avenue - 200) / 1500, 0, 1)[street]

    # The quarter's character varies slowly over the map: how high, which materials, how many shops.
    height_here, style_here, shops_here = (_slow_noise(place, salt) for salt in (1, 2, 3))
    floors = np.round(1.2 + 3.4 * height_here + 1.6 * grand + 2.4 * (share(house, 5) - 0.5)).astype(np.int64)
    floors = np.clip(floors, 1, 7)
    floors = np.where(share(house, 6) < 0.04, floors + 3, floors)
    material_bias = style_here + 0.5 * (share(house, 7) - 0.5)
    material = np.select([material_bias < 0.22, material_bias < 0.55, material_bias < 0.78], [0, 1, 2], 1)
    odd = share(house, 8)
    material = np.select([odd < 0.06, odd < 0.10, odd < 0.24], [3, 4, pick(3, house, 9)], material)
    chosen = [np.array(palette)[pick(len(palette), house, 10)] for palette in PALETTES]
    colour = np.choose(material[:, None], chosen) * (0.88 + 0.24 * share(house, 11))[:, None]
    modern = material == 3
    has_shop = share(house, 12) < 0.18 + 0.5 * grand + 0.3 * shops_here
    ground = np.where(has_shop, _one_of(SHOPS, house, 24), _one_of(GROUND_FLOORS, house, 26))
    # Each frontage prefers one kind of window, so that a street has a character of its own.
    window = _one_of(WINDOWS, np.where(share(house, 13) < 0.35, frontage_hash[frontage], house), 14)
    floor_height = 2.9 + 0.7 * share(house, 16)
    ground_height = np.where(has_shop, 3.9, 3.2) + 0.7 * share(house, 17)
    mansard = (share(house, 18) < 0.55) & ~modern
    return Houses(
        begins=begins,
        width=width,
        hash=house,
        num_bays=np.maximum(1, np.round(width / (2.5 + 1.3 * share(house, 20)))).astype(np.int64),
        num_floors=floors,
        ground_height=ground_height,
        floor_height=floor_height,
        wall_height=ground_height + floors * floor_height + 0.4,
        roof_height=np.where(mansard, 2.2 + 1.2 * share(house, 19), 0.35),
        material=material,
        colour=np.clip(colour, 0, 0.95),
        roof_colour=np.array(ROOF_COLOURS)[np.where(mansard, pick(3, house, 21), 3)],
        courses=np.where(modern, 0.0, share(house, 28)),
        balcony_floor=np.where(share(house, 22) < 0.4, pick(2, house, 23) * (floors - 1), -1),
        window=np.where(modern, _one_of(MODERN_WINDOWS, house, 15), window),
        ground=ground,
        door=_one_of(DOORS, house, 25),
        roof=np.where(mansard, _one_of(ROOFS, house, 27), BLANK),
    )


def _one_of(cells: range, *parts: np.ndarray | int) -> Int[np.ndarray, " H"]:
    """A cell by a hash."""
    return cells.start + pick(len(cells), *parts)


def _slow_noise(place: Float[np.ndarray, "H 2"], salt: int) -> Float[np.ndarray, " H"]:
    """Numbers in 0..1 that change slowly over the map: hashes of a lattice, interpolated."""
    at = place / DISTRICT
    low = np.floor(at).astype(np.int64)
    part = at - low
    part = part * part * (3 - 2 * part)
    value = np.zeros(len(place))
    for dx, dy in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = np.abs(1 - dx - part[:, 0]) * np.abs(1 - dy - part[:, 1])
        value += weight * share(low[:, 0] + dx, low[:, 1] + dy, salt)
    return value


def shade_facades(
    scene: Scene, hits: WallHits, picture: Float[np.ndarray, "S S 3"], depth: Float[np.ndarray, "S S"]
) -> None:
    """Paint the walls that rays meet into the picture, and their distances into the depth."""
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
    top = houses.top.astype(np.float32)

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
