"""A street world as a picture: the map around it, the agent and where it looks, the goal, the trail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import UInt8

from rapidtask.draw.canvas import AGENT, GOAL, INK, PAPER, TRAIL, Canvas, Color, Point, whole_blocks
from rapidtask.draw.projection import Projection
from rapidtask.draw.scene import Scene
from rapidtask.worlds.streets import StreetPlaces

CITY: Color = (226, 226, 220)
STREET: Color = (120, 128, 140)
HEADER, MARGIN = 44, 30


def draw_streets(scene: Scene, *, width: int = 480) -> UInt8[np.ndarray, "H W 3"]:
    """Draw a moment of an episode on the map; the height is the header more than the width."""
    places, world = scene.streets, scene.world
    assert places is not None
    width = whole_blocks(max(width, 16))
    room = max(width - 2 * MARGIN, 1)
    projection = Projection.fit(places, world, room, room)

    def pixels(points: np.ndarray) -> list[Point]:
        down, right = projection(points).T
        return list(zip((width / 2 + right).tolist(), (HEADER + width / 2 + down).tolist(), strict=True))

    canvas = Canvas(width, width + HEADER)
    lines = [pixels(line) for line in places.lines(world)]
    for street in projection.around(places, world, width / 2 + MARGIN):
        canvas.line(pixels(street), CITY, 3)
    # The header keeps clear of them.
    canvas.polygon([(0, 0), (width, 0), (width, HEADER), (0, HEADER)], PAPER)
    for line in lines:
        canvas.line(line, STREET, 3)
        canvas.disc(line[0], 5, STREET)
    for state in walked_streets(places, world, scene.trail):
        canvas.line(lines[state], TRAIL, 6)
    if scene.trail:
        canvas.disc(lines[scene.trail[0]][0], 8, TRAIL)
    draw_pointer(canvas, lines[scene.goal], GOAL, 15)
    draw_pointer(canvas, lines[scene.state], AGENT, 12)
    for x, text, color in (
        (MARGIN, f"step {scene.steps} / {scene.episode_steps}", INK),
        (width / 2 - 40, f"goals {scene.goals}", INK),
        (width - MARGIN - 98, "you", AGENT),
        (width - MARGIN - 48, "goal", GOAL),
    ):
        canvas.text((x, HEADER / 2), text, 18, color, "lm")
    return canvas.pixels()


def draw_pointer(canvas: Canvas, line: Sequence[Point], color: Color, size: float) -> None:
    """A disc where a street begins and a tip along it: where an agent is and looks."""
    x, y = line[0]
    # The first point far enough away to tell the direction.
    ahead = next((point for point in line[1:] if math.dist(point, line[0]) > size), line[-1])
    angle = math.atan2(ahead[1] - y, ahead[0] - x)
    # A drop: from the tip two lines that touch the disc, cos(spread) = radius / length.
    radius, length = 0.8 * size, 2.2 * size
    spread = math.acos(radius / length)
    corners = [(length, 0.0), (radius, -spread), (radius, spread)]
    canvas.polygon([(x + r * math.cos(angle + a), y + r * math.sin(angle + a)) for r, a in corners], color)
    canvas.disc((x, y), radius, color)


def walked_streets(places: StreetPlaces, world: int, trail: Sequence[int]) -> list[int]:
    """The states of a trail from which the agent went forward; from the others it turned."""
    tail, head = places.tail[world], places.head[world]
    return [
        state
        for state, reached in pairwise(trail)
        if tail[state] != tail[reached] and head[state] == tail[reached]
    ]
