"""Textures of what stands in the streets: trees, lamps, and the sides and ends of parked cars.

Five channels: colour times cover, how much of the object's own colour shows, and how much is covered.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float

from rapidtask.views.textures import Atlas, make_atlas, smooth_noise

SIZE, FINE = 64, 2
TREES = (0, 1, 2, 3)
"""Numbers of the trees."""
LAMP, CAR_SIDE, CAR_BACK, CAR_FRONT, VAN_SIDE, VAN_END = 4, 5, 6, 7, 8, 9
"""Numbers of the other textures."""

GLASS = (0.13, 0.16, 0.20)
TYRE = (0.07, 0.07, 0.08)


class Drawing:
    """A texture being drawn; coordinates in shares, upwards from the bottom left."""

    def __init__(self) -> None:
        side = SIZE * FINE
        self.values = np.zeros((side, side, 5))
        axis = (np.arange(side) + 0.5) / side
        self.y, self.x = np.meshgrid(axis, axis, indexing="ij")

    def tint(self, mask: np.ndarray, amount: np.ndarray | float = 1.0) -> None:
        """Cover with the object's own colour, darker or lighter by `amount`."""
        self.values[mask] = 0
        self.values[mask, 3] = np.broadcast_to(amount, mask.shape)[mask]
        self.values[mask, 4] = 1

    def fill(self, mask: np.ndarray, colour: tuple[float, float, float]) -> None:
        """Cover with a colour."""
        self.values[mask] = (*colour, 0.0, 1.0)

    def box(self, left: float, right: float, bottom: float, top: float) -> np.ndarray:
        """Mask of a rectangle."""
        return (self.x >= left) & (self.x < right) & (self.y >= bottom) & (self.y < top)

    def disc(self, x: float, y: float, radius: float, squash: float = 1.0) -> np.ndarray:
        """Mask of a disc, or of an ellipse `squash` times as high as wide."""
        return (self.x - x) ** 2 + ((self.y - y) / squash) ** 2 < radius**2

    def done(self) -> Float[np.ndarray, "S S 5"]:
        """The finished texture."""
        return self.values.reshape(SIZE, FINE, SIZE, FINE, 5).mean(axis=(1, 3))


def _tree(generator: np.random.Generator, slender: float) -> np.ndarray:
    """A trunk and a crown of leaves with light from above."""
    d = Drawing()
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


def _lamp() -> np.ndarray:
    d = Drawing()
    d.fill(d.box(0.485, 0.515, 0, 0.9), (0.16, 0.18, 0.19))
    d.fill(d.box(0.47, 0.53, 0, 0.1), (0.14, 0.16, 0.17))
    d.fill(d.box(0.44, 0.56, 0.88, 0.98), (0.88, 0.87, 0.78))
    d.fill(d.box(0.43, 0.57, 0.96, 1.0), (0.14, 0.16, 0.17))
    return d.done()


def _wheels(d: Drawing, centres: tuple[float, ...], radius: float, squash: float) -> None:
    for x in centres:
        d.fill(d.disc(x, radius * squash, radius, squash), TYRE)
        d.fill(d.disc(x, radius * squash, radius * 0.55, squash), (0.55, 0.56, 0.58))


def _car_side() -> np.ndarray:
    d = Drawing()
    body = d.box(0.01, 0.99, 0.16, 0.62)
    # The cabin narrows upwards; bonnet on the right.
    slant = d.y - 0.6
    cabin = (d.y >= 0.6) & (d.y < 0.99) & (d.x > 0.08 + 0.35 * slant) & (d.x < 0.78 - 0.5 * slant)
    d.fill(d.box(0.05, 0.95, 0.05, 0.2), (0.05, 0.05, 0.06))
    d.tint(body, 0.72 + 0.45 * d.y)
    d.tint(cabin, 1.08)
    glass = (d.y >= 0.64) & (d.y < 0.92) & (d.x > 0.14 + 0.35 * slant) & (d.x < 0.73 - 0.5 * slant)
    d.fill(glass, GLASS)
    d.tint(d.box(0.42, 0.45, 0.6, 0.95), 1.0)
    d.tint(d.box(0.43, 0.44, 0.2, 0.62), 0.5)
    _wheels(d, (0.19, 0.80), 0.085, 2.8)
    return d.done()


def _car_end(lights: tuple[float, float, float]) -> np.ndarray:
    d = Drawing()
    d.fill(d.box(0.06, 0.94, 0.0, 0.25), (0.05, 0.05, 0.06))
    d.fill(d.box(0.04, 0.2, 0.0, 0.25) | d.box(0.8, 0.96, 0.0, 0.25), TYRE)
    d.tint(d.box(0.0, 1.0, 0.17, 0.64), 0.70 + 0.45 * d.y)
    cabin = (d.y >= 0.62) & (d.y < 0.99) & (np.abs(d.x - 0.5) < 0.47 - 0.30 * (d.y - 0.62))
    d.tint(cabin, 1.05)
    d.fill((d.y >= 0.66) & (d.y < 0.92) & (np.abs(d.x - 0.5) < 0.41 - 0.30 * (d.y - 0.62)), GLASS)
    d.fill(d.box(0.03, 0.2, 0.46, 0.58) | d.box(0.8, 0.97, 0.46, 0.58), lights)
    d.fill(d.box(0.36, 0.64, 0.28, 0.37), (0.86, 0.86, 0.80))
    return d.done()


def _van_side() -> np.ndarray:
    d = Drawing()
    d.fill(d.box(0.04, 0.96, 0.04, 0.15), (0.05, 0.05, 0.06))
    d.tint(
        (d.y >= 0.12) & (d.y < 0.98) & (d.x < 0.99 - 0.28 * np.maximum(d.y - 0.5, 0)) & (d.x > 0.01),
        0.75 + 0.3 * d.y,
    )
    d.fill((d.y >= 0.58) & (d.y < 0.88) & (d.x > 0.72) & (d.x < 0.95 - 0.28 * (d.y - 0.5)), GLASS)
    d.tint(d.box(0.69, 0.70, 0.15, 0.95), 0.5)
    _wheels(d, (0.18, 0.80), 0.075, 2.4)
    return d.done()


def _van_end() -> np.ndarray:
    d = Drawing()
    d.fill(d.box(0.06, 0.94, 0.0, 0.2), TYRE)
    d.tint(d.box(0.01, 0.99, 0.12, 0.98), 0.72 + 0.3 * d.y)
    d.fill(d.box(0.1, 0.47, 0.56, 0.86) | d.box(0.53, 0.9, 0.56, 0.86), GLASS)
    d.fill(d.box(0.02, 0.09, 0.3, 0.5) | d.box(0.91, 0.98, 0.3, 0.5), (0.62, 0.10, 0.08))
    return d.done()


@lru_cache(maxsize=1)
def make_object_textures() -> Atlas:
    """All textures, by the numbers above."""
    generator = np.random.default_rng(13)
    trees = [_tree(generator, slender) for slender in (1.0, 0.72, 1.15, 0.9)]
    cars = [_car_side(), _car_end((0.66, 0.10, 0.08)), _car_end((0.92, 0.91, 0.84))]
    return make_atlas(np.stack([*trees, _lamp(), *cars, _van_side(), _van_end()]))
