"""Textures of the ground: asphalt, cobbles, paving slabs and grass."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rapidtask.views.textures import Atlas, make_atlas, smooth_noise

ASPHALT, COBBLES, SLABS, GRASS = range(4)
"""Numbers of the textures."""
GROUND_METRES = 4.0
"""Side of a ground texture in metres."""


@lru_cache(maxsize=1)
def make_grounds() -> Atlas:
    """Textures that a ground's colour is multiplied by; mean about 1."""
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
    return make_atlas(np.stack(textures)[..., None])
