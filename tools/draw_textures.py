"""Draws the textures of rendered street views: facades, walls, grounds, trees, lamps, cars, clouds.

    python tools/draw_textures.py src/rapidtask/views/textures.npz

Run it after a change here, and raise `VERSION` in `views/renderer.py`: frames will differ. What each array
holds is said in `views/textures.py`; the numbers of textures are constants of `houses.py`, `ground.py` and
`objects.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Colour = tuple[float, float, float]

FINE = 2
"""Textures are drawn this many times finer, then averaged."""
SIGNS: tuple[Colour, ...] = (
    (0.62, 0.10, 0.12), (0.08, 0.30, 0.22), (0.10, 0.20, 0.46), (0.86, 0.62, 0.12),
    (0.16, 0.16, 0.18), (0.80, 0.78, 0.72), (0.45, 0.16, 0.36), (0.82, 0.36, 0.10),
)  # fmt: skip
"""Colours of shop fronts."""
DOORS: tuple[Colour, ...] = (
    (0.10, 0.26, 0.18), (0.12, 0.18, 0.36), (0.42, 0.12, 0.10), (0.34, 0.22, 0.12), (0.20, 0.20, 0.22),
)  # fmt: skip
SHUTTERS: tuple[Colour, ...] = (
    (0.24, 0.38, 0.30), (0.45, 0.50, 0.56), (0.48, 0.28, 0.18), (0.85, 0.85, 0.82),
)  # fmt: skip
FRAME, IRON, STONE = (0.88, 0.87, 0.84), (0.10, 0.10, 0.12), (0.74, 0.71, 0.65)
PANE, TYRE, UNDERSIDE = (0.13, 0.16, 0.20), (0.07, 0.07, 0.08), (0.05, 0.05, 0.06)


class Drawing:
    """A texture being drawn; coordinates in shares, upwards from the bottom left."""

    def __init__(self, size: int, channels: int) -> None:
        self.size = size
        self.values = np.zeros((size * FINE, size * FINE, channels))
        axis = (np.arange(size * FINE) + 0.5) / (size * FINE)
        self.y, self.x = np.meshgrid(axis, axis, indexing="ij")

    def box(self, left: float, right: float, bottom: float, top: float) -> np.ndarray:
        """Mask of a rectangle."""
        return (self.x >= left) & (self.x < right) & (self.y >= bottom) & (self.y < top)

    def disc(self, x: float, y: float, radius: float, squash: float = 1.0) -> np.ndarray:
        """Mask of a disc, or of an ellipse `squash` times as high as wide."""
        return (self.x - x) ** 2 + ((self.y - y) / squash) ** 2 < radius**2

    def done(self) -> Float[np.ndarray, "S S C"]:
        """The finished texture."""
        return self.values.reshape(self.size, FINE, self.size, FINE, -1).mean(axis=(1, 3))


class Cell(Drawing):
    """A part of a facade: colour times cover, and how much of the wall shows."""

    def __init__(self) -> None:
        super().__init__(32, 4)
        self.values[..., 3] = 1

    def fill(self, mask: np.ndarray, colour: np.ndarray | Colour, cover: float = 1.0) -> None:
        """Paint where the mask is true."""
        painted = np.broadcast_to(colour, (*mask.shape, 3))[mask]
        self.values[mask, :3] = self.values[mask, :3] * (1 - cover) + painted * cover
        self.values[mask, 3] *= 1 - cover

    def glass(self, mask: np.ndarray, tone: float) -> None:
        """Paint glass: dark, with the sky's reflection growing upwards and slanting."""
        shine = np.clip(0.25 + 0.5 * self.y + 0.25 * np.sin(5 * (self.x + self.y) + 6 * tone), 0, 1)
        dark, sky = np.array([0.09, 0.11, 0.14]), np.array([0.42, 0.52, 0.62])
        self.fill(mask, dark + (sky - dark) * shine[..., None] * (0.35 + 0.5 * tone))

    def window(self, left, right, bottom, top, tone: float, bars: int, cross: bool) -> None:
        """A window with frame, bars and a sill."""
        self.fill(self.box(left - 0.05, right + 0.05, bottom - 0.06, bottom - 0.02), STONE)
        self.fill(self.box(left, right, bottom - 0.02, top), FRAME)
        self.glass(self.box(left + 0.025, right - 0.025, bottom, top - 0.025), tone)
        for i in range(1, bars):
            middle = left + (right - left) * i / bars
            self.fill(self.box(middle - 0.014, middle + 0.014, bottom, top), FRAME)
        if cross:
            middle = bottom + (top - bottom) * 0.66
            self.fill(self.box(left, right, middle - 0.014, middle + 0.014), FRAME)


def draw_windows(generator: np.random.Generator) -> list[np.ndarray]:
    """Eleven windows (the sixth has a balcony) and two of modern houses."""

    def pair(c: Cell, t: float) -> None:
        c.window(0.14, 0.42, 0.25, 0.85, t, 1, True)
        c.window(0.58, 0.86, 0.25, 0.85, t, 1, True)

    def arched(c: Cell, t: float) -> None:
        c.window(0.30, 0.70, 0.22, 0.70, t, 2, False)
        c.fill(c.disc(0.5, 0.70, 0.25) & (c.y >= 0.70), STONE)
        c.glass(c.disc(0.5, 0.70, 0.2) & (c.y >= 0.70), t)

    def balcony(c: Cell, t: float) -> None:
        c.window(0.26, 0.74, 0.06, 0.86, t, 2, True)
        c.fill(c.box(0.14, 0.86, 0.02, 0.07), STONE)
        c.fill(c.box(0.14, 0.86, 0.32, 0.35), IRON)
        c.fill(c.box(0.14, 0.86, 0.07, 0.34) & ((c.x * 32).astype(int) % 2 == 0), IRON)

    def shutters(c: Cell, t: float, colour: Colour) -> None:
        c.window(0.32, 0.68, 0.22, 0.84, t, 2, True)
        slats = 0.82 + 0.18 * ((c.y * 32).astype(int) % 2)[..., None]
        for box in (c.box(0.15, 0.31, 0.2, 0.86), c.box(0.69, 0.85, 0.2, 0.86)):
            c.fill(box, np.array(colour) * slats)

    def lintel(c: Cell, t: float) -> None:
        c.fill(c.box(0.22, 0.78, 0.16, 0.94), STONE)
        c.window(0.29, 0.71, 0.23, 0.83, t, 2, True)
        c.fill(c.box(0.18, 0.82, 0.87, 0.95), STONE)

    def curtain_wall(c: Cell, t: float) -> None:
        c.glass(c.box(0, 1, 0.22, 1), 0.4 + 0.6 * t)
        c.fill(c.box(0, 1, 0.0, 0.22), (0.34, 0.37, 0.40), 0.6)
        for x in (0.0, 0.48):
            c.fill(c.box(x, x + 0.04, 0, 1), (0.55, 0.57, 0.60))

    def ribbon(c: Cell, t: float) -> None:
        c.glass(c.box(0, 1, 0.38, 0.86), t)
        c.fill(c.box(0.0, 0.03, 0.38, 0.86) | c.box(0.5, 0.53, 0.38, 0.86), FRAME)
        c.fill(c.box(0, 1, 0.35, 0.38), STONE)

    painters: list[Callable[[Cell, float], None]] = [
        lambda c, t: c.window(0.28, 0.72, 0.25, 0.85, t, 2, True),
        lambda c, t: c.window(0.18, 0.82, 0.28, 0.80, t, 3, False),
        lambda c, t: c.window(0.08, 0.92, 0.32, 0.82, t, 4, False),
        pair,
        arched,
        balcony,
        *(lambda c, t, colour=colour: shutters(c, t, colour) for colour in SHUTTERS),
        lintel,
        curtain_wall,
        ribbon,
    ]
    cells = []
    for paint in painters:
        paint(cell := Cell(), float(generator.random()))
        cells.append(cell.done())
    return cells


def draw_shop(generator: np.random.Generator, colour: Colour, awning: bool, striped: bool) -> np.ndarray:
    """A shop front."""
    c = Cell()
    c.fill(c.box(0, 1, 0, 1), np.array(colour) * 0.75)
    c.glass(c.box(0.05, 0.95, 0.16, 0.70), 0.15)
    # Goods behind the glass: blocks of light and colour.
    for _ in range(7):
        x, width, height = (generator.uniform(*span) for span in ((0.07, 0.85), (0.05, 0.14), (0.08, 0.3)))
        box = c.box(x, min(x + width, 0.94), 0.17, 0.17 + height)
        c.fill(box, generator.uniform(0.15, 0.75, 3), 0.75)
    c.fill(c.box(0.05, 0.95, 0.60, 0.70), (0.80, 0.72, 0.50), 0.35)
    c.fill(c.box(0.47, 0.50, 0.05, 0.72), np.array(colour) * 0.6)
    c.fill(c.box(0, 1, 0.76, 0.92), colour)
    light = (0.93, 0.92, 0.88) if sum(colour) < 1.9 else (0.15, 0.15, 0.18)
    # Lettering: strokes that read as a name from afar.
    at = 0.12
    while at < 0.85:
        width = generator.uniform(0.03, 0.07)
        c.fill(c.box(at, at + width, 0.80, 0.80 + generator.uniform(0.05, 0.09)), light)
        at += width + generator.uniform(0.015, 0.03)
    c.fill(c.box(0, 1, 0.92, 1.0), STONE, 0.8)
    if awning:
        area = c.box(0, 1, 0.56, 0.76)
        c.fill(area, (0.92, 0.90, 0.85))
        c.fill(area & ((c.x * 8).astype(int) % 2 == 0) if striped else area, colour)
        c.fill(c.box(0, 1, 0.56, 0.59) & ((c.x * 16).astype(int) % 2 == 0), np.array(colour) * 0.7)
        c.fill(c.box(0, 1, 0.46, 0.56), (0.04, 0.04, 0.05), 0.5)
    return c.done()


def draw_doors() -> list[np.ndarray]:
    """Five doors, and a carriage entrance."""
    cells = []
    for colour in DOORS:
        c = Cell()
        c.fill(c.box(0.22, 0.78, 0, 0.86), STONE)
        c.fill(c.box(0.29, 0.71, 0, 0.66), colour)
        c.glass(c.box(0.30, 0.70, 0.69, 0.80), 0.5)
        for x in (0.34, 0.53):
            for y in (0.08, 0.38):
                c.fill(c.box(x, x + 0.13, y, y + 0.22), np.array(colour) * 0.72)
        c.fill(c.box(0.66, 0.69, 0.30, 0.34), (0.8, 0.7, 0.4))
        c.fill(c.box(0.16, 0.84, 0.0, 0.03), STONE)
        cells.append(c.done())
    c = Cell()
    arch = ((c.x - 0.5) ** 2 + (c.y - 0.62) ** 2 < 0.36**2 * 0.5) & (c.y > 0.6)
    c.fill(c.box(0.08, 0.92, 0, 0.9), STONE)
    c.fill(c.box(0.14, 0.86, 0, 0.62) | arch, (0.16, 0.22, 0.20))
    c.fill(c.box(0.49, 0.51, 0, 0.86), IRON)
    return [*cells, c.done()]


def draw_ground_floors_and_roofs(generator: np.random.Generator) -> list[np.ndarray]:
    """A barred window, a wide one, a garage, lit offices; a bare wall, a dormer, a window in the slope."""
    barred, wide, garage, offices, _, dormer, skylight = cells = [Cell() for _ in range(7)]
    c = barred
    c.window(0.26, 0.74, 0.30, 0.82, float(generator.random()), 2, True)
    c.fill(c.box(0.26, 0.74, 0.30, 0.82) & ((c.x * 30).astype(int) % 3 == 0), IRON)
    wide.window(0.16, 0.84, 0.28, 0.80, float(generator.random()), 3, False)
    door = garage.box(0.1, 0.9, 0, 0.72)
    garage.fill(door, (0.52, 0.53, 0.55))
    garage.fill(door & ((garage.y * 40).astype(int) % 4 == 0), (0.40, 0.41, 0.43))
    offices.glass(offices.box(0.06, 0.94, 0.1, 0.86), 0.2)
    offices.fill(offices.box(0.06, 0.94, 0.1, 0.86), (0.70, 0.66, 0.52), 0.28)
    offices.fill(offices.box(0.48, 0.52, 0.1, 0.86), (0.35, 0.36, 0.38))
    dormer.fill(dormer.box(0.30, 0.70, 0.18, 0.86), FRAME)
    dormer.glass(dormer.box(0.35, 0.65, 0.22, 0.76), float(generator.random()))
    dormer.fill(dormer.box(0.26, 0.74, 0.84, 0.92), (0.30, 0.32, 0.36))
    skylight.fill(skylight.box(0.34, 0.66, 0.34, 0.70), IRON)
    skylight.glass(skylight.box(0.37, 0.63, 0.37, 0.67), 0.9)
    return [cell.done() for cell in cells]


def draw_cells() -> np.ndarray:
    """All parts of facades."""
    generator = np.random.default_rng(7)
    windows = draw_windows(generator)
    shops = [
        draw_shop(generator, colour, awning, striped=number % 2 == 1)
        for number, colour in enumerate(SIGNS)
        for awning in (False, True)
    ]
    return np.stack([*windows, *shops, *draw_doors(), *draw_ground_floors_and_roofs(generator)])


class Sprite(Drawing):
    """What stands in a street: colour times cover, how much of its own colour shows, cover."""

    def __init__(self) -> None:
        super().__init__(64, 5)

    def tint(self, mask: np.ndarray, amount: np.ndarray | float = 1.0) -> None:
        """Cover with the object's own colour, darker or lighter by `amount`."""
        self.values[mask] = 0
        self.values[mask, 3] = np.broadcast_to(amount, mask.shape)[mask]
        self.values[mask, 4] = 1

    def fill(self, mask: np.ndarray, colour: Colour) -> None:
        """Cover with a colour."""
        self.values[mask] = (*colour, 0.0, 1.0)

    def wheels(self, centres: tuple[float, ...], radius: float, squash: float) -> None:
        """Two wheels on the ground."""
        for x in centres:
            self.fill(self.disc(x, radius * squash, radius, squash), TYRE)
            self.fill(self.disc(x, radius * squash, radius * 0.55, squash), (0.55, 0.56, 0.58))


def draw_tree(generator: np.random.Generator, slender: float) -> np.ndarray:
    """A trunk and a crown of leaves with light from above."""
    d = Sprite()
    d.fill(d.box(0.475, 0.525, 0, 0.5), (0.26, 0.20, 0.15))
    crown = np.zeros_like(d.x, bool)
    for _ in range(26):
        angle, away = generator.uniform(0, 2 * np.pi), np.sqrt(generator.uniform(0, 1))
        x, y = 0.5 + 0.30 * slender * away * np.cos(angle), 0.66 + 0.22 * away * np.sin(angle)
        crown |= d.disc(x, y, generator.uniform(0.07, 0.13))
    leaves = smooth_noise(generator, len(d.x), 22) + 0.7 * smooth_noise(generator, len(d.x), 50)
    crown &= leaves > -0.95
    d.tint(crown, np.clip(0.50 + 0.75 * (d.y - 0.4) + 0.28 * leaves, 0.15, 1.5))
    return d.done()


def draw_lamp() -> np.ndarray:
    """A street lamp."""
    d = Sprite()
    d.fill(d.box(0.485, 0.515, 0, 0.9), (0.16, 0.18, 0.19))
    d.fill(d.box(0.47, 0.53, 0, 0.1), (0.14, 0.16, 0.17))
    d.fill(d.box(0.44, 0.56, 0.88, 0.98), (0.88, 0.87, 0.78))
    d.fill(d.box(0.43, 0.57, 0.96, 1.0), (0.14, 0.16, 0.17))
    return d.done()


def draw_car_side() -> np.ndarray:
    """A car, its front on the right; the cabin narrows upwards."""
    d = Sprite()
    slant = d.y - 0.6
    cabin = (d.y >= 0.6) & (d.y < 0.99) & (d.x > 0.08 + 0.35 * slant) & (d.x < 0.78 - 0.5 * slant)
    glass = (d.y >= 0.64) & (d.y < 0.92) & (d.x > 0.14 + 0.35 * slant) & (d.x < 0.73 - 0.5 * slant)
    d.fill(d.box(0.05, 0.95, 0.05, 0.2), UNDERSIDE)
    d.tint(d.box(0.01, 0.99, 0.16, 0.62), 0.72 + 0.45 * d.y)
    d.tint(cabin, 1.08)
    d.fill(glass, PANE)
    d.tint(d.box(0.42, 0.45, 0.6, 0.95), 1.0)
    d.tint(d.box(0.43, 0.44, 0.2, 0.62), 0.5)
    d.wheels((0.19, 0.80), 0.085, 2.8)
    return d.done()


def draw_car_end(lights: Colour) -> np.ndarray:
    """A car from behind or before."""
    d = Sprite()
    cabin = (d.y >= 0.62) & (d.y < 0.99) & (np.abs(d.x - 0.5) < 0.47 - 0.30 * (d.y - 0.62))
    glass = (d.y >= 0.66) & (d.y < 0.92) & (np.abs(d.x - 0.5) < 0.41 - 0.30 * (d.y - 0.62))
    d.fill(d.box(0.06, 0.94, 0.0, 0.25), UNDERSIDE)
    d.fill(d.box(0.04, 0.2, 0.0, 0.25) | d.box(0.8, 0.96, 0.0, 0.25), TYRE)
    d.tint(d.box(0.0, 1.0, 0.17, 0.64), 0.70 + 0.45 * d.y)
    d.tint(cabin, 1.05)
    d.fill(glass, PANE)
    d.fill(d.box(0.03, 0.2, 0.46, 0.58) | d.box(0.8, 0.97, 0.46, 0.58), lights)
    d.fill(d.box(0.36, 0.64, 0.28, 0.37), (0.86, 0.86, 0.80))
    return d.done()


def draw_van_side() -> np.ndarray:
    """A van, its front on the right."""
    d = Sprite()
    body = (d.y >= 0.12) & (d.y < 0.98) & (d.x < 0.99 - 0.28 * np.maximum(d.y - 0.5, 0)) & (d.x > 0.01)
    d.fill(d.box(0.04, 0.96, 0.04, 0.15), UNDERSIDE)
    d.tint(body, 0.75 + 0.3 * d.y)
    d.fill((d.y >= 0.58) & (d.y < 0.88) & (d.x > 0.72) & (d.x < 0.95 - 0.28 * (d.y - 0.5)), PANE)
    d.tint(d.box(0.69, 0.70, 0.15, 0.95), 0.5)
    d.wheels((0.18, 0.80), 0.075, 2.4)
    return d.done()


def draw_van_end() -> np.ndarray:
    """A van from behind; its front looks the same."""
    d = Sprite()
    d.fill(d.box(0.06, 0.94, 0.0, 0.2), TYRE)
    d.tint(d.box(0.01, 0.99, 0.12, 0.98), 0.72 + 0.3 * d.y)
    d.fill(d.box(0.1, 0.47, 0.56, 0.86) | d.box(0.53, 0.9, 0.56, 0.86), PANE)
    d.fill(d.box(0.02, 0.09, 0.3, 0.5) | d.box(0.91, 0.98, 0.3, 0.5), (0.62, 0.10, 0.08))
    return d.done()


def draw_objects() -> np.ndarray:
    """Four trees, a lamp, a car (side, back, front), a van (side, end)."""
    generator = np.random.default_rng(13)
    trees = [draw_tree(generator, slender) for slender in (1.0, 0.72, 1.15, 0.9)]
    cars = [draw_car_side(), draw_car_end((0.66, 0.10, 0.08)), draw_car_end((0.92, 0.91, 0.84))]
    return np.stack([*trees, draw_lamp(), *cars, draw_van_side(), draw_van_end()])


def draw_materials() -> np.ndarray:
    """Brick, plaster, stone, concrete panels and boards."""
    size = 64
    generator = np.random.default_rng(11)
    row, column = np.mgrid[:size, :size]
    grain = lambda amount: 1 + amount * generator.standard_normal((size, size))  # noqa: E731

    def blocks(height: int, width: int, mortar: float, spread: float) -> np.ndarray:
        course = row // height
        shifted = (column + (course % 2) * (width // 2)) % size
        tone = generator.uniform(1 - spread, 1 + spread, (size // height + 1, size // width + 1))
        return np.where((row % height == 0) | (shifted % width == 0), mortar, tone[course, shifted // width])

    stains = 0.06 * smooth_noise(generator, size, 4) + 0.03 * smooth_noise(generator, size, 9)
    textures = [
        blocks(4, 8, 1.22, 0.20) * grain(0.04),
        (1 + stains) * grain(0.02),
        blocks(16, 32, 0.74, 0.07) * grain(0.03),
        blocks(32, 32, 0.80, 0.04) * (1 + stains),
        np.where(row % 5 == 0, 0.72, 1.04) * grain(0.03),
    ]
    return np.stack(textures)[..., None]


def draw_grounds() -> np.ndarray:
    """Asphalt, cobbles, paving slabs and grass."""
    size = 64
    generator = np.random.default_rng(3)
    row, column = np.mgrid[:size, :size]
    blotches = 0.10 * smooth_noise(generator, size, 3) + 0.06 * smooth_noise(generator, size, 8)
    grain = generator.standard_normal((size, size))
    shifted = (column + (row // 4 % 2) * 2) % size
    stones = generator.uniform(0.8, 1.2, (16, 16))[row // 4, shifted // 4]
    slabs = generator.uniform(0.93, 1.07, (8, 8))[row // 8, (column + (row // 8 % 2) * 4) % size // 8]
    textures = [
        1 + blotches + 0.07 * grain,
        np.where((row % 4 == 0) | (shifted % 4 == 0), 0.62, stones) + 0.5 * blotches,
        np.where((row % 8 == 0) | ((column + (row // 8 % 2) * 4) % 8 == 0), 0.76, slabs) + 0.3 * blotches,
        1 + 2 * blotches + 0.16 * grain,
    ]
    return np.stack(textures)[..., None]


def draw_clouds() -> np.ndarray:
    """How cloudy the sky is; stretched along the horizon."""
    generator = np.random.default_rng(5)
    noise = sum(smooth_noise(generator, 256, cells) / (cells / 8.0) for cells in (8, 16, 32))
    return np.clip(0.9 * np.asarray(noise)[::4] - 0.1, 0, 1)


def smooth_noise(generator: np.random.Generator, size: int, cells: int) -> Float[np.ndarray, "S S"]:
    """Noise in -1..1 that repeats at the edges, with about so many bumps a side."""
    coarse = generator.uniform(-1, 1, (cells, cells))
    at = np.arange(size) / size * cells
    low = at.astype(int)
    part = at - low
    part = part * part * (3 - 2 * part)
    rows = coarse[low] * (1 - part)[:, None] + coarse[(low + 1) % cells] * part[:, None]
    return rows[:, low] * (1 - part) + rows[:, (low + 1) % cells] * part


def draw_textures() -> dict[str, Float[np.ndarray, " ..."]]:
    """All textures by name, float32."""
    drawn = {
        "cells": draw_cells(),
        "materials": draw_materials(),
        "grounds": draw_grounds(),
        "objects": draw_objects(),
        "clouds": draw_clouds(),
    }
    return {name: array.astype(np.float32) for name, array in drawn.items()}


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **draw_textures())
