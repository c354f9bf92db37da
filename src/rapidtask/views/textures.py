"""Textures with levels of detail, each half as fine as the one before, so that far ones do not flicker.

`textures.npz` holds them at their finest, as `tools/draw_textures.py` draws them: a view must have the same
pixels on every machine, and random generators may change with a version of NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Name = Literal["cells", "materials", "grounds", "objects", "clouds"]


@cache
def load_texels(name: Name) -> Float[np.ndarray, " ..."]:
    """What is stored under a name.

    - cells `[42, 32, 32, 4]`, parts of facades: colour times cover, how much of the house's own wall shows;
    - materials `[5, 64, 64, 1]` of walls, and grounds `[4, 64, 64, 1]`: brightness, about 1;
    - objects `[10, 64, 64, 5]`: colour times cover, how much of the object's own colour shows, cover;
    - clouds `[64, 256]`: how cloudy the sky is, by elevation (0 to 90°) and azimuth.
    """
    with np.load(Path(__file__).with_name("textures.npz")) as file:
        return file[name]


@dataclass(frozen=True, eq=False)
class Atlas:
    """Square textures of one size at all levels of detail, in one flat array."""

    texels: Float[np.ndarray, "P C"]
    """All texels: level after level, texture after texture, row after row."""
    size: int
    """Texels a side at level 0, a power of two."""
    begins: Int[np.ndarray, " L"]
    """Where each level begins; the last level has one texel, the mean."""

    def look_up(
        self,
        texture: Int[np.ndarray, " N"] | int,
        across: Float[np.ndarray, " N"],
        up: Float[np.ndarray, " N"],
        step: Float[np.ndarray, " N"] | float,
    ) -> Float[np.ndarray, "N C"]:
        """Texels at places given in shares of the texture (whole parts are ignored).

        `step` says how many texels of level 0 lie between neighbouring samples, and so which level is right.
        """
        level = np.log2(np.maximum(step, 1e-3)) + 0.5
        which = np.clip(level, 0, len(self.begins) - 1).astype(np.int32)
        size = np.right_shift(np.int32(self.size), which)
        column = ((across - np.floor(across)) * size).astype(np.int32)
        row = ((up - np.floor(up)) * size).astype(np.int32)
        # A share of 1 - epsilon may round up to the size itself.
        column, row = np.minimum(column, size - 1), np.minimum(row, size - 1)
        flat = self.begins[which] + (np.asarray(texture, np.int32) * size + row) * size + column
        return np.take(self.texels, flat, axis=0)


@cache
def load_atlas(name: Name) -> Atlas:
    """Average the stored textures down to one texel and keep all levels."""
    levels = [load_texels(name)]
    count, size, _, channels = levels[0].shape
    while (side := levels[-1].shape[1]) > 1:
        blocks = levels[-1].reshape(count, side // 2, 2, side // 2, 2, channels)
        levels.append(blocks.mean(axis=(2, 4)))
    flat = [level.reshape(-1, channels) for level in levels]
    begins = np.cumsum([0] + [len(part) for part in flat[:-1]])
    return Atlas(np.concatenate(flat), size, begins.astype(np.int32))
