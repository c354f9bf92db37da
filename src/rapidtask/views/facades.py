"""Generated facades: the cells (one bay wide, one storey high) that buildings are put together from.

A cell has four channels: what is drawn on it (glass, frames, doors, signs; colour times how much it covers)
and how much of the building's own wall shows. So one window serves walls of every colour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from rapidtask.views.textures import Atlas, make_atlas

SIZE = 32
"""Texels a side of a cell."""
FINE = 2
"""Cells are drawn this many times finer, then averaged."""

Colour = tuple[float, float, float]

SIGNS: tuple[Colour, ...] = (
    (0.62, 0.10, 0.12), (0.08, 0.30, 0.22), (0.10, 0.20, 0.46), (0.86, 0.62, 0.12),
    (0.16, 0.16, 0.18), (0.80, 0.78, 0.72), (0.45, 0.16, 0.36), (0.82, 0.36, 0.10),
)  # fmt: skip
"""Colours of shop fronts."""
DOORS: tuple[Colour, ...] = (
    (0.10, 0.26, 0.18), (0.12, 0.18, 0.36), (0.42, 0.12, 0.10), (0.34, 0.22, 0.12), (0.20, 0.20, 0.22),
)  # fmt: skip
"""Colours of doors."""
SHUTTERS: tuple[Colour, ...] = (
    (0.24, 0.38, 0.30),
    (0.45, 0.50, 0.56),
    (0.48, 0.28, 0.18),
    (0.85, 0.85, 0.82),
)
"""Colours of shutters."""
FRAME: Colour = (0.88, 0.87, 0.84)
IRON: Colour = (0.10, 0.10, 0.12)
STONE: Colour = (0.74, 0.71, 0.65)


class Cell:
    """A cell being drawn; coordinates in shares of the cell, upwards from the bottom left."""

    def __init__(self) -> None:
        side = SIZE * FINE
        self.colour = np.zeros((side, side, 3))
        self.wall = np.ones((side, side))
        axis = (np.arange(side) + 0.5) / side
        self.y, self.x = np.meshgrid(axis, axis, indexing="ij")

    def fill(self, mask: np.ndarray, colour: np.ndarray | Colour, cover: float = 1.0) -> None:
        """Paint where the mask is true."""
        self.colour[mask] = (
            self.colour[mask] * (1 - cover) + np.broadcast_to(colour, self.colour.shape)[mask] * cover
        )
        self.wall[mask] *= 1 - cover

    def box(self, left: float, right: float, bottom: float, top: float) -> np.ndarray:
        """Mask of a rectangle."""
        return (self.x >= left) & (self.x < right) & (self.y >= bottom) & (self.y < top)

    def glass(self, mask: np.ndarray, tone: float) -> None:
        """Paint glass: dark, with the sky's reflection growing upwards and slanting."""
        shine = np.clip(0.25 + 0.5 * self.y + 0.25 * np.sin(5 * (self.x + self.y) + 6 * tone), 0, 1)[
            ..., None
        ]
        dark, sky = np.array([0.09, 0.11, 0.14]), np.array([0.42, 0.52, 0.62])
        self.fill(mask, dark + (sky - dark) * shine * (0.35 + 0.5 * tone))

    def window(
        self, left: float, right: float, bottom: float, top: float, tone: float, bars: int, cross: bool
    ) -> None:
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

    def done(self) -> Float[np.ndarray, "S S 4"]:
        """The finished texture."""
        whole = np.concatenate([self.colour, self.wall[..., None]], axis=2)
        return whole.reshape(SIZE, FINE, SIZE, FINE, 4).mean(axis=(1, 3))


@dataclass
class CellKinds:
    """Numbers of the cells by what they are for."""

    windows: list[int] = field(default_factory=list)
    shops: list[int] = field(default_factory=list)
    doors: list[int] = field(default_factory=list)
    ground: list[int] = field(default_factory=list)
    """Ground floors without shops."""
    roofs: list[int] = field(default_factory=list)
    """Roof with dormer windows."""
    blank: int = 0
    """Wall only."""


def _window_cells(generator: np.random.Generator) -> list[np.ndarray]:
    cells = []

    def add(draw) -> None:
        cell = Cell()
        draw(cell, float(generator.random()))
        cells.append(cell.done())

    add(lambda c, t: c.window(0.28, 0.72, 0.25, 0.85, t, 2, True))
    add(lambda c, t: c.window(0.18, 0.82, 0.28, 0.80, t, 3, False))
    add(lambda c, t: c.window(0.08, 0.92, 0.32, 0.82, t, 4, False))
    add(
        lambda c, t: (
            c.window(0.14, 0.42, 0.25, 0.85, t, 1, True),
            c.window(0.58, 0.86, 0.25, 0.85, t, 1, True),
        )
    )

    def arched(c: Cell, t: float) -> None:
        c.window(0.30, 0.70, 0.22, 0.70, t, 2, False)
        arch = ((c.x - 0.5) ** 2 + (c.y - 0.70) ** 2 < 0.2**2) & (c.y >= 0.70)
        rim = ((c.x - 0.5) ** 2 + (c.y - 0.70) ** 2 < 0.25**2) & (c.y >= 0.70)
        c.fill(rim, STONE)
        c.glass(arch, t)

    add(arched)

    def balcony(c: Cell, t: float) -> None:
        c.window(0.26, 0.74, 0.06, 0.86, t, 2, True)
        c.fill(c.box(0.14, 0.86, 0.02, 0.07), STONE)
        c.fill(c.box(0.14, 0.86, 0.32, 0.35), IRON)
        c.fill(c.box(0.14, 0.86, 0.07, 0.34) & ((c.x * 32).astype(int) % 2 == 0), IRON)

    add(balcony)
    for colour in SHUTTERS:

        def shutters(c: Cell, t: float, colour: Colour = colour) -> None:
            c.window(0.32, 0.68, 0.22, 0.84, t, 2, True)
            slats = 0.82 + 0.18 * ((c.y * 32).astype(int) % 2)[..., None]
            for box in (c.box(0.15, 0.31, 0.2, 0.86), c.box(0.69, 0.85, 0.2, 0.86)):
                c.fill(box, np.array(colour) * slats)

        add(shutters)

    def lintel(c: Cell, t: float) -> None:
        c.fill(c.box(0.22, 0.78, 0.16, 0.94), STONE)
        c.window(0.29, 0.71, 0.23, 0.83, t, 2, True)
        c.fill(c.box(0.18, 0.82, 0.87, 0.95), STONE)

    add(lintel)

    def curtain_wall(c: Cell, t: float) -> None:
        c.glass(c.box(0, 1, 0.22, 1), 0.4 + 0.6 * t)
        c.fill(c.box(0, 1, 0.0, 0.22), (0.34, 0.37, 0.40), 0.6)
        for x in (0.0, 0.48):
            c.fill(c.box(x, x + 0.04, 0, 1), (0.55, 0.57, 0.60))

    add(curtain_wall)

    def ribbon(c: Cell, t: float) -> None:
        c.glass(c.box(0, 1, 0.38, 0.86), t)
        c.fill(c.box(0.0, 0.03, 0.38, 0.86) | c.box(0.5, 0.53, 0.38, 0.86), FRAME)
        c.fill(c.box(0, 1, 0.35, 0.38), STONE)

    add(ribbon)
    return cells


def _shop_cells(generator: np.random.Generator) -> list[np.ndarray]:
    cells = []
    for number, colour in enumerate(SIGNS):
        for awning in (False, True):
            c = Cell()
            c.fill(c.box(0, 1, 0, 1), np.array(colour) * 0.75)
            c.glass(c.box(0.05, 0.95, 0.16, 0.70), 0.15)
            # Goods behind the glass: blocks of light and colour.
            for _ in range(7):
                x, width, height = (
                    generator.uniform(0.07, 0.85),
                    generator.uniform(0.05, 0.14),
                    generator.uniform(0.08, 0.3),
                )
                c.fill(
                    c.box(x, min(x + width, 0.94), 0.17, 0.17 + height),
                    tuple(generator.uniform(0.15, 0.75, 3)),
                    0.75,
                )
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
                stripes = ((c.x * 8).astype(int) % 2 == 0) if number % 2 else np.ones_like(c.x, bool)
                area = c.box(0, 1, 0.56, 0.76)
                c.fill(area, (0.92, 0.90, 0.85))
                c.fill(area & stripes, colour)
                c.fill(c.box(0, 1, 0.56, 0.59) & ((c.x * 16).astype(int) % 2 == 0), np.array(colour) * 0.7)
                c.fill(c.box(0, 1, 0.46, 0.56), (0.04, 0.04, 0.05), 0.5)
            cells.append(c.done())
    return cells


def _door_cells() -> list[np.ndarray]:
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
    # A carriage entrance.
    c = Cell()
    gate = c.box(0.14, 0.86, 0, 0.62) | (((c.x - 0.5) ** 2 + (c.y - 0.62) ** 2 < 0.36**2 * 0.5) & (c.y > 0.6))
    c.fill(c.box(0.08, 0.92, 0, 0.9), STONE)
    c.fill(gate, (0.16, 0.22, 0.20))
    c.fill(c.box(0.49, 0.51, 0, 0.86), IRON)
    cells.append(c.done())
    return cells


def _ground_cells(generator: np.random.Generator) -> list[np.ndarray]:
    cells = []
    c = Cell()
    c.window(0.26, 0.74, 0.30, 0.82, float(generator.random()), 2, True)
    c.fill(c.box(0.26, 0.74, 0.30, 0.82) & ((c.x * 30).astype(int) % 3 == 0), IRON)
    cells.append(c.done())
    c = Cell()
    c.window(0.16, 0.84, 0.28, 0.80, float(generator.random()), 3, False)
    cells.append(c.done())
    # A garage door.
    c = Cell()
    c.fill(c.box(0.1, 0.9, 0, 0.72), (0.52, 0.53, 0.55))
    c.fill(c.box(0.1, 0.9, 0, 0.72) & ((c.y * 40).astype(int) % 4 == 0), (0.40, 0.41, 0.43))
    cells.append(c.done())
    # Lit offices.
    c = Cell()
    c.glass(c.box(0.06, 0.94, 0.1, 0.86), 0.2)
    c.fill(c.box(0.06, 0.94, 0.1, 0.86), (0.70, 0.66, 0.52), 0.28)
    c.fill(c.box(0.48, 0.52, 0.1, 0.86), (0.35, 0.36, 0.38))
    cells.append(c.done())
    return cells


def _roof_cells(generator: np.random.Generator) -> list[np.ndarray]:
    cells = [Cell().done()]
    c = Cell()
    c.fill(c.box(0.30, 0.70, 0.18, 0.86), FRAME)
    c.glass(c.box(0.35, 0.65, 0.22, 0.76), float(generator.random()))
    c.fill(c.box(0.26, 0.74, 0.84, 0.92), (0.30, 0.32, 0.36))
    cells.append(c.done())
    # A window in the slope.
    c = Cell()
    c.fill(c.box(0.34, 0.66, 0.34, 0.70), IRON)
    c.glass(c.box(0.37, 0.63, 0.37, 0.67), 0.9)
    cells.append(c.done())
    return cells


@lru_cache(maxsize=1)
def make_cells() -> tuple[Atlas, CellKinds]:
    """All cells, and which are for what. The same on every machine: the seed is part of the renderer."""
    generator = np.random.default_rng(7)
    kinds, cells = CellKinds(), []
    for name, drawn in (
        ("windows", _window_cells(generator)),
        ("shops", _shop_cells(generator)),
        ("doors", _door_cells()),
        ("ground", _ground_cells(generator)),
        ("roofs", _roof_cells(generator)),
    ):
        getattr(kinds, name).extend(range(len(cells), len(cells) + len(drawn)))
        cells += drawn
    kinds.blank = kinds.roofs[0]
    return make_atlas(np.stack(cells)), kinds
