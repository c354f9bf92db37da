"""Footprints of buildings, as OpenStreetMap files have them: closed outlines with heights."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

LEVEL_HEIGHT = 3.0
"""Metres a storey where a file counts storeys only."""
TALLEST = 1000.0
"""Metres: nothing higher has been built, so a larger height is a mistake."""
NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*")
METRES = re.compile(NUMBER.pattern + r"m?\s*")


@dataclass(frozen=True, eq=False)
class Footprints:
    """Buildings B with P corners in all; the outline of building i is `lat[offsets[i]:offsets[i + 1]]`."""

    offsets: Int[np.ndarray, " B+1"]
    """Where the corners of each building begin."""
    lat: Float[np.ndarray, " P"]
    """Latitude of each corner, degrees; the first corner of an outline is not repeated at its end."""
    lng: Float[np.ndarray, " P"]
    """Longitude of each corner, degrees."""
    height: Float[np.ndarray, " B"]
    """Metres from the ground to the top; NaN where the file does not say."""

    def __len__(self) -> int:
        return len(self.height)

    @property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that other buildings would hardly have."""
        digest = hashlib.sha256(np.asarray(self.offsets, "<i8").tobytes())
        for array in (self.lat * 1e7, self.lng * 1e7, np.nan_to_num(self.height) * 100):
            digest.update(np.round(array).astype("<i8").tobytes())
        return digest.hexdigest()[:8]


def make_footprints(
    outlines: Sequence[Sequence[tuple[float, float]]], heights: Sequence[float]
) -> Footprints | None:
    """Gather outlines (latitude, longitude; the last corner repeats the first) and their heights.

    Outlines that are not closed or enclose nothing are left out: a building that is drawn badly is no reason
    to refuse a city. None if no building is left.
    """
    corners, kept = [], []
    for outline, height in zip(outlines, heights, strict=True):
        points = np.array(outline, float).reshape(-1, 2)
        if len(points) < 4 or (points[0] != points[-1]).any():
            continue
        step = points[:-1] - points[0]
        ahead = np.roll(step, -1, axis=0)
        # Twice the area in square degrees; a square metre is about 1e-10 of them.
        if abs(float((step[:, 0] * ahead[:, 1] - step[:, 1] * ahead[:, 0]).sum())) > 1e-10:
            corners.append(points[:-1])
            kept.append(height)
    if not corners:
        return None
    offsets = np.cumsum([0] + [len(points) for points in corners])
    lat, lng = np.concatenate(corners).T
    return Footprints(offsets, lat.copy(), lng.copy(), np.array(kept, float))


def building_height(tags: Mapping[str, str]) -> float:
    """Metres by the tags `height`, else `building:levels` times 3 m; NaN if neither is a usable number."""
    for name, pattern, unit in (("height", METRES, 1.0), ("building:levels", NUMBER, LEVEL_HEIGHT)):
        match = pattern.fullmatch(tags.get(name) or "")
        if match and 0 < (metres := float(match[1]) * unit) <= TALLEST:
            return metres
    return float("nan")
