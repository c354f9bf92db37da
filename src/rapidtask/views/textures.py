"""Textures with levels of detail, each half as fine as the one before, so that far ones do not flicker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Atlas:
    """Square textures of one size at all levels of detail, in one flat array."""

    texels: Float[np.ndarray, "P C"]
    """All texels: level after level, texture after texture, row after row."""
    size: int
    """Texels a side at level 0, a power of two."""
    begins: Int[np.ndarray, " L"]
    """Where each level begins."""

    @property
    def num_levels(self) -> int:
        """Number of levels; the last has one texel, the mean."""
        return len(self.begins)

    def look_up(
        self,
        texture: Int[np.ndarray, " N"],
        across: Float[np.ndarray, " N"],
        up: Float[np.ndarray, " N"],
        level: Float[np.ndarray, " N"],
    ) -> Float[np.ndarray, "N C"]:
        """Texels at places given in shares of the texture (whole parts are ignored), at the given levels."""
        which = np.clip(level, 0, self.num_levels - 1).astype(np.int32)
        size = np.right_shift(np.int32(self.size), which)
        column = ((across - np.floor(across)) * size).astype(np.int32)
        row = ((up - np.floor(up)) * size).astype(np.int32)
        # A share of 1 - epsilon may round up to the size itself.
        column, row = np.minimum(column, size - 1), np.minimum(row, size - 1)
        flat = self.begins[which] + (texture.astype(np.int32) * size + row) * size + column
        return np.take(self.texels, flat, axis=0)


def make_atlas(textures: Float[np.ndarray, "T S S C"]) -> Atlas:
    """Average textures down to one texel and store all levels."""
    level = np.asarray(textures, np.float32)
    num_textures, size, _, channels = level.shape
    levels, begins, total = [], [], 0
    while True:
        begins.append(total)
        levels.append(level.reshape(-1, channels))
        total += len(levels[-1])
        side = level.shape[1]
        if side == 1:
            break
        level = level.reshape(num_textures, side // 2, 2, side // 2, 2, channels).mean(axis=(2, 4))
    return Atlas(np.concatenate(levels), size, np.array(begins, np.int32))


def smooth_noise(generator: np.random.Generator, size: int, cells: int) -> Float[np.ndarray, "S S"]:
    """Noise in -1..1 that repeats at the edges, with about so many bumps a side."""
    coarse = generator.uniform(-1, 1, (cells, cells))
    at = np.arange(size) / size * cells
    low = at.astype(int)
    part = at - low
    part = part * part * (3 - 2 * part)
    rows = coarse[low] * (1 - part)[:, None] + coarse[(low + 1) % cells] * part[:, None]
    return rows[:, low] * (1 - part) + rows[:, (low + 1) % cells] * part
