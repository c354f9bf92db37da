"""A picture to draw on, in pixels of the final picture, and the colours that all drawings share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont

Color = tuple[int, int, int]
Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

PAPER: Color = (250, 250, 247)
INK: Color = (31, 41, 55)
FAINT: Color = (107, 114, 128)
AGENT: Color = (37, 99, 235)
GOAL: Color = (234, 88, 12)
TRAIL: Color = (96, 150, 250)

SUPERSAMPLE = 2
"""Drawn at twice the size and shrunk: Pillow's circles and lines are not smooth by themselves."""


class Canvas:
    """Discs, lines and text on paper."""

    def __init__(self, width: int, height: int) -> None:
        self.image = Image.new("RGB", (width * SUPERSAMPLE, height * SUPERSAMPLE), PAPER)
        self.draw = ImageDraw.Draw(self.image)

    def pixels(self) -> UInt8[np.ndarray, "H W 3"]:
        """The final picture."""
        # A copy, because the array of a Pillow image is read-only.
        return np.array(self.image.reduce(SUPERSAMPLE))

    def tile(self, box: Box, fill: Color | None = None, frame: Color | None = None, width: float = 0) -> None:
        """A rectangle with round corners: filled, or a frame of some width."""
        radius = 0.1 * (box[2] - box[0]) * SUPERSAMPLE
        self.draw.rounded_rectangle(_scaled(box), radius, fill, frame, round(width * SUPERSAMPLE))

    def disc(self, center: Point, radius: float, fill: Color) -> None:
        """A disc."""
        x, y = center
        self.draw.ellipse(_scaled((x - radius, y - radius, x + radius, y + radius)), fill)

    def line(self, points: Sequence[Point], fill: Color, width: float) -> None:
        """A line through points, its corners and ends round."""
        flat = [_scaled(point) for point in points]
        self.draw.line(flat, fill, round(width * SUPERSAMPLE), joint="curve")
        for end in (points[0], points[-1]):
            self.disc(end, width / 2, fill)

    def polygon(self, points: Sequence[Point], fill: Color) -> None:
        """A filled polygon."""
        self.draw.polygon([_scaled(point) for point in points], fill)

    def text(self, at: Point, text: str, size: float, color: Color, anchor: str = "mm") -> None:
        """Text, by default centred on a point; an anchor "lm" begins there, "rm" ends there."""
        # Pillow's own font has one weight; a hairline of its own colour makes it a little bolder.
        font, hairline = _font(round(size * SUPERSAMPLE)), 0.3 * SUPERSAMPLE
        self.draw.text(_scaled(at), text, color, font, anchor, stroke_width=hairline)


def whole_blocks(width: int) -> int:
    """The next larger width that is whole blocks of 16 pixels, as video encoders want."""
    return -(-width // 16) * 16


def _scaled(values: tuple[float, ...]) -> Any:
    return tuple(value * SUPERSAMPLE for value in values)


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font: no font files to look for on the user's machine."""
    return ImageFont.load_default(size)
