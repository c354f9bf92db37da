"""The camera: the shape of a view, and the rays it is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from rapidtask.views.geometry import Table
from rapidtask.worlds.frame_store import FRAME_SIZE

FIELD_OF_VIEW = 60.0
"""Degrees, across and up."""
SAMPLES = 2
"""Rays a side for each pixel, averaged."""
EYE = 1.75
"""Height of the eye in metres: a car's roof is just below."""
HAZE = 210.0
"""Metres after which about two thirds of the light is the haze's."""
SIDE = FRAME_SIZE * SAMPLES
SLOPE = np.tan(np.radians(FIELD_OF_VIEW / 2))
ACROSS = (((np.arange(SIDE) + 0.5) / SIDE * 2 - 1) * SLOPE).astype(np.float32)
"""Metres to the right per metre ahead, for each column of rays."""
UP = -ACROSS
"""Metres up per metre ahead, for each row of rays."""
PIXEL = float(2 * SLOPE / SIDE)


@dataclass(frozen=True, eq=False)
class Camera:
    """Where one stands and looks."""

    place: Float[np.ndarray, " 2"]
    ahead: Float[np.ndarray, " 2"]
    """Unit vector, east and north."""

    @property
    def right(self) -> Float[np.ndarray, " 2"]:
        """Unit vector to the right."""
        return np.array([self.ahead[1], -self.ahead[0]])

    def local(self, points: Float[np.ndarray, "N 2"]) -> tuple[np.ndarray, np.ndarray]:
        """Metres ahead and to the right of each point, float32."""
        step = points - self.place
        return (step @ self.ahead).astype(np.float32), (step @ self.right).astype(np.float32)

    def within(self, tree: KDTree, distance: float, reach: float = 0.0) -> Int[np.ndarray, " N"]:
        """Which of a tree's places may be seen within a distance; `reach`: what is there extends so far."""
        # Half of the distance ahead is the middle of what is seen.
        middle = self.place + self.ahead * (distance / 2)
        return np.array(tree.query_ball_point(middle, 0.62 * distance + reach, return_sorted=True), np.int64)


@dataclass(frozen=True, eq=False)
class WallHits(Table):
    """What the ray of each column meets."""

    depth: Float[np.ndarray, " C"]
    """Metres ahead (not along the ray); infinite where there is nothing."""
    along: Float[np.ndarray, " C"]
    """Place on the axis of frontages."""
    stretch: Float[np.ndarray, " C"]
    """Metres of wall per column."""
    outward: Float[np.ndarray, "C 2"]
    """The wall's normal."""
