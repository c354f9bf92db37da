"""Views cropped from equirectangular panoramas (DOMAINS.md, StreetLearn's on-disk format)."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image, UnidentifiedImageError

from rapidtask.cities.city_graph import CityGraph
from rapidtask.cities.leveldb import PanoramaReader
from rapidtask.views.camera import FIELD_OF_VIEW
from rapidtask.worlds.frame_store import FRAME_SIZE, FrameError

SAMPLES = 3
"""Samples a side for each pixel, averaged: a panorama has about three of its own for each."""


@lru_cache(maxsize=1)
def view_angles() -> tuple[Float[np.ndarray, "S S"], Float[np.ndarray, "S S"]]:
    """For each sample of a view the angle to the right of its centre, and the angle up, radians."""
    side = FRAME_SIZE * SAMPLES
    slope = ((np.arange(side) + 0.5) / side * 2 - 1) * np.tan(np.radians(FIELD_OF_VIEW / 2))
    right = np.broadcast_to(np.arctan(slope), (side, side))
    up = np.arctan(-slope[:, None] / np.sqrt(1 + slope**2))
    return right, up


def crop_view(panorama: UInt8[np.ndarray, "H W 3"], yaw: float) -> UInt8[np.ndarray, "84 84 3"]:
    """The rectilinear view of a panorama, `yaw` radians clockwise from the direction of its centre column."""
    height, width = panorama.shape[:2]
    right, up = view_angles()
    # Pixel i covers i .. i + 1; its colour is that of its middle.
    x = ((yaw + right) / (2 * np.pi) + 0.5) * width - 0.5
    y = np.clip((0.5 - up / np.pi) * height - 0.5, 0, height - 1)
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    part_x, part_y = (x - left).astype(np.float32)[..., None], (y - top).astype(np.float32)[..., None]
    below = np.minimum(top + 1, height - 1)
    # The panorama closes on itself: its first column is to the right of its last.
    left, beside = left % width, (left + 1) % width
    flat = panorama.reshape(-1, 3)

    def texel(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        return np.take(flat, row * width + column, axis=0).astype(np.float32)

    upper = texel(top, left) * (1 - part_x) + texel(top, beside) * part_x
    lower = texel(below, left) * (1 - part_x) + texel(below, beside) * part_x
    samples = upper * (1 - part_y) + lower * part_y
    frame = samples.reshape(FRAME_SIZE, SAMPLES, FRAME_SIZE, SAMPLES, 3).mean(axis=(1, 3))
    return np.clip(frame + 0.5, 0, 255).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class PanoramaFrames:
    """Views cropped from the panoramas of a StreetLearn dataset."""

    city: CityGraph
    path: Path
    """The LevelDB that the city was read from."""
    kind: ClassVar[str] = "panoramas"
    version: ClassVar[str] = "panorama crop 1"
    hour: ClassVar[None] = None
    parallel: ClassVar[bool] = False
    """A LevelDB admits one process."""

    @cached_property
    def reader(self) -> PanoramaReader:
        """The open dataset."""
        return PanoramaReader(self.path, self.city)

    def make(self, half_edges: Int[np.ndarray, " F"]) -> UInt8[np.ndarray, "F 84 84 3"]:
        """The views at the tails of half-edges toward their heads."""
        half_edges = np.asarray(half_edges)
        frames = np.empty((len(half_edges), FRAME_SIZE, FRAME_SIZE, 3), np.uint8)
        # One reading and one decoding serve all views of a node.
        nodes, where = np.unique(self.city.tails[half_edges], return_inverse=True)
        for i, (image, heading) in enumerate(self.reader.read_many(nodes.tolist())):
            panorama = self._decode(int(nodes[i]), image)
            for j in np.flatnonzero(where == i):
                bearing = float(self.city.bearings[half_edges[j]])
                frames[j] = crop_view(panorama, bearing - np.radians(heading))
        return frames

    def _decode(self, node: int, image: bytes) -> UInt8[np.ndarray, "H W 3"]:
        try:
            # By its first bytes, not by a name: some of the dataset's images are PNG.
            with Image.open(io.BytesIO(image)) as opened:
                return np.asarray(opened.convert("RGB"))
        except (UnidentifiedImageError, OSError, ValueError) as error:
            name = self.reader.names[node]
            raise FrameError(
                f"{self.path}: the image of panorama {name!r} cannot be decoded ({error})"
            ) from None
