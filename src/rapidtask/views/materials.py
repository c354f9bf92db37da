"""Wall materials: brick, plaster, stone, concrete panels and boards."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rapidtask.views.textures import Atlas, make_atlas, smooth_noise

MATERIALS = ("brick", "plaster", "stone", "panel", "boards")
"""Wall materials in the order of their textures."""
MATERIAL_METRES = 2.4
"""Side of a material's texture in metres."""


@lru_cache(maxsize=1)
def make_materials() -> Atlas:
    """Textures that a wall's colour is multiplied by; mean about 1."""
    size = 64
    generator = np.random.default_rng(11)
    row, column = np.mgrid[:size, :size]
    grain = lambda amount: 1 + amount * generator.standard_normal((size, size))  # noqa: E731

    def blocks(height: int, width: int, mortar: float, spread: float) -> np.ndarray:
        course = row // height
        shifted = (column + (course % 2) * (width // 2)) % size
        tone = generator.uniform(1 - spread, 1 + spread, (size // height + 1, size // width + 1))
        value = tone[course, shifted // width]
        return np.where((row % height == 0) | (shifted % width == 0), mortar, value)

    stains = 0.06 * smooth_noise(generator, size, 4) + 0.03 * smooth_noise(generator, size, 9)
    textures = [
        blocks(4, 8, 1.22, 0.20) * grain(0.04),
        (1 + stains) * grain(0.02),
        blocks(16, 32, 0.74, 0.07) * grain(0.03),
        blocks(32, 32, 0.80, 0.04) * (1 + stains),
        np.where(row % 5 == 0, 0.72, 1.04) * grain(0.03),
    ]
    return make_atlas(np.stack(textures)[..., None])
