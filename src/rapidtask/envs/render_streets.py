"""A street world as a picture: the map around it, the agent and where it looks, the goal, the trail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, ImageDraw, ImageFont

from rapidtask.envs.render import Scene
from rapidtask.worlds.streets import StreetPlaces

Color = tuple[int, int, int]
PAPER, CITY, STREET = (250, 250, 247), (226, 226, 220), (120, 128, 140)
INK, AGENT, GOAL, TRAIL = (31, 41, 55), (37, 99, 235), (234, 88, 12), (130, 175, 255)

HEADER, MARGIN = 44, 30
SUPERSAMPLE = 2
"""Drawn at twice the size and shrunk: Pillow's lines are not smooth by themselves."""


def street_rgb(scene: Scene, *, width: int = 480) -> UInt8[np.ndarray, "H W 3"]:
    """Draw a moment of an episode on the map, `width` pixels wide; the height is the header more."""
    assert scene.streets is not None
    width = max(16, -(-width // 16) * 16)  # video encoders want whole blocks of 16 pixels
    page = _Map(scene.streets, scene.world, width)
    page.draw_city()
    page.draw_streets()
    page.draw_trail(scene.trail)
    page.draw_arrow(scene.goal, GOAL, 15)
    page.draw_arrow(scene.state, AGENT, 12)
    page.write((MARGIN, HEADER / 2), f"step {scene.steps} / {scene.episode_steps}", INK)
    page.write((width / 2 - 40, HEADER / 2), f"goals {scene.goals}", INK)
    page.write((width - MARGIN - 98, HEADER / 2), "you", AGENT)
    page.write((width - MARGIN - 48, HEADER / 2), "goal", GOAL)
    # A copy, because the array of a Pillow image is read-only.
    return np.array(page.image.reduce(SUPERSAMPLE))


def walked_streets(places: StreetPlaces, world: int, trail: Sequence[int]) -> list[int]:
    """The states of a trail from which the agent went forward; from the others it turned."""
    tail, head = places.tail[world], places.head[world]
    return [
        state
        for state, reached in pairwise(trail)
        if tail[state] != tail[reached] and head[state] == tail[reached]
    ]


class _Map:
    """A canvas in pixels of the final picture, and where the places of one world are on it."""

    def __init__(self, places: StreetPlaces, world: int, width: int) -> None:
        self.places, self.world, self.width = places, world, width
        self.city = places.cities[places.city[world]]
        self.lines = places.lines(world)
        self.image = Image.new("RGB", (width * SUPERSAMPLE, (width + HEADER) * SUPERSAMPLE), PAPER)
        self.pen = ImageDraw.Draw(self.image)
        points = np.concatenate(self.lines)
        self.middle = (points.min(0) + points.max(0)) / 2
        # Degrees of longitude are shorter than those of latitude.
        self.stretch = np.array([1.0, math.cos(math.radians(self.middle[0]))])
        extent = max(float(((points.max(0) - points.min(0)) * self.stretch).max()), 1e-6)
        self.scale = (width - 2 * MARGIN) / extent

    def pixels(self, places: Float[np.ndarray, "P 2"]) -> list[tuple[float, float]]:
        """Pixels (right, down) of latitudes and longitudes."""
        north, east = ((places - self.middle) * self.stretch * self.scale).T
        return list(
            zip((self.width / 2 + east).tolist(), (HEADER + self.width / 2 - north).tolist(), strict=True)
        )

    def draw_city(self) -> None:
        """The streets around, pale."""
        edges, lat, lng = self.city.edges, self.city.lat, self.city.lng
        reach = (self.width / 2 + MARGIN) / (self.scale * self.stretch)
        near = (np.abs(lat - self.middle[0]) < reach[0]) & (np.abs(lng - self.middle[1]) < reach[1])
        for edge in edges[near[edges].any(axis=1)]:
            self.line(np.stack([lat[edge], lng[edge]], axis=1), CITY, 3)

    def draw_streets(self) -> None:
        """The streets and nodes of the world."""
        for line in self.lines:
            self.line(line, STREET, 3)
        for line in self.lines:
            self.disc(self.pixels(line[:1])[0], 5, STREET)

    def draw_trail(self, trail: Sequence[int]) -> None:
        """Along the streets the agent went; turns on the spot leave no mark."""
        for state in walked_streets(self.places, self.world, trail):
            self.line(self.lines[state], TRAIL, 6)
        if trail:
            self.disc(self.pixels(self.lines[trail[0]][:1])[0], 8, TRAIL)

    def draw_arrow(self, state: int, color: Color, size: float) -> None:
        """A disc where a state is and a pointer along the street it faces."""
        line = self.pixels(self.lines[state])
        x, y = line[0]
        # The first point far enough away to tell the direction.
        ahead = next((p for p in line[1:] if math.dist(p, line[0]) > size), line[-1])
        angle = math.atan2(ahead[1] - y, ahead[0] - x)
        # A drop: from the tip two lines that touch the disc, cos(spread) = radius / length.
        radius, length = 0.8 * size, 2.2 * size
        spread = math.acos(radius / length)
        corners = [(length, 0.0), (radius, -spread), (radius, spread)]
        drop = [(x + r * math.cos(angle + a), y + r * math.sin(angle + a)) for r, a in corners]
        self.pen.polygon([self._scaled(point) for point in drop], fill=color)
        self.disc((x, y), radius, color)

    def line(self, places: Float[np.ndarray, "P 2"], color: Color, thickness: float) -> None:
        """A line through places."""
        points = [self._scaled(point) for point in self.pixels(places)]
        self.pen.line(points, color, round(thickness * SUPERSAMPLE), joint="curve")

    def disc(self, center: tuple[float, float], radius: float, color: Color) -> None:
        """A disc."""
        x, y = self._scaled(center)
        r = radius * SUPERSAMPLE
        self.pen.ellipse((x - r, y - r, x + r, y + r), fill=color)

    def write(self, at: tuple[float, float], text: str, color: Color) -> None:
        """Text, left of and level with a point; above the map, which it must not cross."""
        box = (at[0] - 4, at[1] - 14, at[0] + 9.5 * len(text), at[1] + 14)
        self.pen.rectangle(tuple(v * SUPERSAMPLE for v in box), fill=PAPER)
        self.pen.text(self._scaled(at), text, color, _font(18 * SUPERSAMPLE), "lm")

    def _scaled(self, point: tuple[float, float]) -> tuple[float, float]:
        return point[0] * SUPERSAMPLE, point[1] * SUPERSAMPLE


@lru_cache(maxsize=4)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
