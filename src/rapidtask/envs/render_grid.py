"""The torus grid as text and as a picture. Up is +y: the row y = N-1 is at the top."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from rapidtask.envs.render import Scene

Color = tuple[int, int, int]
Point = tuple[float, float]

PAPER: Color = (250, 250, 247)
INK: Color = (31, 41, 55)
FAINT: Color = (107, 114, 128)
AGENT: Color = (37, 99, 235)
GOAL: Color = (234, 88, 12)
TRAIL: Color = (96, 150, 250)
WHITE: Color = (255, 255, 255)

MARGIN, HEADER, FOOTER = 24, 80, 64
MIN_CELL = 40
SUPERSAMPLE = 2
"""Drawn at twice the size and shrunk: Pillow's circles and lines are not smooth by themselves."""

_RESET = "\x1b[0m"
_AGENT_STYLE, _GOAL_STYLE, _TRAIL_STYLE = "\x1b[1;97;44m", "\x1b[1;97;41m", "\x1b[36m"


def _torus_size(scene: Scene) -> int:
    size = scene.rules.torus_size
    assert size is not None  # render_ansi and render_rgb have checked it
    return size


def grid_ansi(scene: Scene, *, color: bool) -> str:
    """Text of the grid: [X] is the agent's cell, *X* the goal, ·X· the trail of this task."""
    size = _torus_size(scene)

    def cell(state: int) -> str:
        text, style = f"  {scene.symbol(state)}  ", ""
        if state in scene.trail:
            text, style = f" ·{scene.symbol(state)}· ", _TRAIL_STYLE
        if state == scene.goal:
            text, style = f" *{scene.symbol(state)}* ", _GOAL_STYLE
        if state == scene.state:
            on_goal = state == scene.goal
            text = f"[*{scene.symbol(state)}*]" if on_goal else f" [{scene.symbol(state)}] "
            style = _AGENT_STYLE
        return f"{style}{text}{_RESET}" if color and style else text

    rule = "+" + "+".join(["-" * (4 + len(scene.symbol(0)))] * size) + "+"
    lines = [scene.headline, rule]
    for y in reversed(range(size)):
        lines += ["|" + "|".join(cell(y * size + x) for x in range(size)) + "|", rule]
    lines.append("[X] you   *X* goal   ·X· path of this task   the edges wrap around")
    return "\n".join(lines)


@dataclass(frozen=True)
class GridLayout:
    """Where things are in the picture, in pixels of the picture."""

    size: int
    """Cells a side, N."""
    width: int
    """Width of the picture."""

    @classmethod
    def fit(cls, size: int, width: int) -> GridLayout:
        """The smallest layout of at least the given width whose cells can be read."""
        needed = max(width, 300, 2 * MARGIN + MIN_CELL * size)
        return cls(size, -(-needed // 16) * 16)  # video encoders want whole blocks of 16 pixels

    @property
    def height(self) -> int:
        """Height of the picture."""
        return HEADER + (self.width - 2 * MARGIN) + FOOTER

    @property
    def cell(self) -> float:
        """Side of a cell."""
        return (self.width - 2 * MARGIN) / self.size

    def center(self, state: int) -> Point:
        """Centre of a state's cell, (right, down) from the picture's upper left corner."""
        y, x = divmod(state, self.size)
        return MARGIN + (x + 0.5) * self.cell, HEADER + (self.size - 1 - y + 0.5) * self.cell

    def box(self, state: int, inset: float = 0.0) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of a state's cell, shrunk by a share of the cell on each side."""
        x, y = self.center(state)
        half = self.cell * (0.5 - inset)
        return x - half, y - half, x + half, y + half

    def segments(self, start: int, end: int) -> Iterator[tuple[Point, Point]]:
        """Lines of a move between neighbours; a move across an edge leaves there and enters opposite."""
        (x0, y0), (x1, y1) = self.center(start), self.center(end)
        dx, dy = round((x1 - x0) / self.cell), round((y1 - y0) / self.cell)
        if max(abs(dx), abs(dy)) <= 1:
            yield (x0, y0), (x1, y1)
            return
        # Across an edge the way is short and the other way round: half a cell at either end.
        half_x, half_y = -np.sign(dx) * self.cell / 2, -np.sign(dy) * self.cell / 2
        yield (x0, y0), (x0 + half_x, y0 + half_y)
        yield (x1 - half_x, y1 - half_y), (x1, y1)


def grid_rgb(scene: Scene, *, width: int) -> np.ndarray:
    """Picture of the grid, uint8 `[H, W, 3]`; the agent is a disc, the goal a frame, the trail a line."""
    layout = GridLayout.fit(_torus_size(scene), width)
    image = Image.new("RGB", (layout.width * SUPERSAMPLE, layout.height * SUPERSAMPLE), PAPER)
    pen = _Pen(ImageDraw.Draw(image))
    for state in range(layout.size**2):
        pen.tile(layout.box(state, 0.03), _tint_of(scene, state))
    _draw_trail(pen, layout, scene)
    pen.frame(layout.box(scene.goal, 0.045), GOAL, 0.075 * layout.cell)
    pen.disc(layout.center(scene.state), 0.34 * layout.cell, AGENT)
    for state in range(layout.size**2):
        text = scene.symbol(state)
        ink = WHITE if state == scene.state else INK
        pen.text(layout.center(state), text, layout.cell * (0.44 if len(text) == 1 else 0.32), ink)
    _draw_header(pen, layout, scene)
    _draw_legend(pen, layout)
    # A copy, because the array of a Pillow image is read-only.
    return np.array(image.reduce(SUPERSAMPLE))


@lru_cache(maxsize=4096)
def tint(observation: int, num_observations: int) -> Color:
    """A pale colour per symbol, so that a cell is recognised from one episode's pictures to the next."""
    hue = observation / max(num_observations, 1)
    red, green, blue = colorsys.hls_to_rgb(hue, 0.89, 0.55)
    return round(255 * red), round(255 * green), round(255 * blue)


def _tint_of(scene: Scene, state: int) -> Color:
    return tint(scene.labels[state], scene.num_observations)


def _draw_trail(pen: _Pen, layout: GridLayout, scene: Scene) -> None:
    """Lines along the trail, the oldest palest, and a ring where the task began."""
    moves = list(pairwise(scene.trail))
    for i, (start, end) in enumerate(moves):
        age = (len(moves) - 1 - i) / max(len(moves), 8)
        for segment in layout.segments(start, end):
            pen.line(segment, _mix(TRAIL, WHITE, 0.55 * age), 0.11 * layout.cell)
    if moves:
        pen.disc(layout.center(scene.trail[0]), 0.34 * layout.cell, _mix(TRAIL, WHITE, 0.3))
    for state in scene.trail:
        pen.disc(layout.center(state), 0.29 * layout.cell, _tint_of(scene, state))  # room for the symbol


def _draw_header(pen: _Pen, layout: GridLayout, scene: Scene) -> None:
    y = HEADER / 2
    pen.text((MARGIN, y - 13), f"step {scene.steps} / {scene.episode_steps}", 20, INK, "lm")
    pen.text((MARGIN, y + 13), f"goals {scene.goals}", 20, INK, "lm")
    # A narrow picture has no room for the words; the colours of the frames say it too.
    wide = layout.width >= 440
    agent = ("you are on", scene.state, AGENT, layout.width - MARGIN - (172 if wide else 84))
    goal = ("go to", scene.goal, GOAL, layout.width - MARGIN - 24)
    for word, state, color, x in (agent, goal):
        if wide:
            pen.text((x - 32, y), word, 16, FAINT, "rm")
        box = (x - 24, y - 24, x + 24, y + 24)
        pen.tile(box, _tint_of(scene, state))
        pen.frame(box, color, 4)
        pen.text((x, y), scene.symbol(state), 26 if len(scene.symbol(state)) == 1 else 20, INK)


def _draw_legend(pen: _Pen, layout: GridLayout) -> None:
    x, y = MARGIN, layout.height - FOOTER / 2
    pen.disc((x + 9, y), 9, AGENT)
    pen.text((x + 24, y), "you", 15, FAINT, "lm")
    pen.frame((x + 74, y - 9, x + 92, y + 9), GOAL, 4)
    pen.text((x + 98, y), "goal", 15, FAINT, "lm")
    pen.line(((x + 156, y), (x + 176, y)), TRAIL, 5)
    pen.text((x + 184, y), "path so far", 15, FAINT, "lm")
    if layout.width >= 440:
        pen.text((layout.width - MARGIN, y), "edges wrap around", 15, FAINT, "rm")


class _Pen:
    """Drawing in pixels of the final picture on the larger canvas."""

    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self.draw = draw

    def tile(self, box: tuple[float, ...], fill: Color) -> None:
        radius = 0.1 * (box[2] - box[0]) * SUPERSAMPLE
        self.draw.rounded_rectangle(self._scale(box), radius, fill=fill)

    def frame(self, box: tuple[float, ...], color: Color, thickness: float) -> None:
        radius = 0.1 * (box[2] - box[0]) * SUPERSAMPLE
        self.draw.rounded_rectangle(
            self._scale(box), radius, outline=color, width=round(thickness * SUPERSAMPLE)
        )

    def disc(self, center: Point, radius: float, fill: Color) -> None:
        x, y = center
        self.draw.ellipse(self._scale((x - radius, y - radius, x + radius, y + radius)), fill=fill)

    def line(self, ends: tuple[Point, Point], fill: Color, thickness: float) -> None:
        self.draw.line(self._scale((*ends[0], *ends[1])), fill, round(thickness * SUPERSAMPLE))
        # Lines of a path meet in a corner: a round end closes it.
        for end in ends:
            self.disc(end, thickness / 2, fill)

    def text(self, at: Point, text: str, size: float, color: Color, anchor: str = "mm") -> None:
        # Pillow's own font has one weight; a hairline of its own colour makes it a little bolder.
        font = _font(round(size * SUPERSAMPLE))
        x, y = at[0] * SUPERSAMPLE, at[1] * SUPERSAMPLE
        self.draw.text((x, y), text, color, font, anchor, stroke_width=0.3 * SUPERSAMPLE)

    def _scale(self, values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(value * SUPERSAMPLE for value in values)


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font: no font files to look for on the user's machine."""
    return ImageFont.load_default(size)


def _mix(color: Color, other: Color, share: float) -> Color:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(color, other, strict=True))
    return red, green, blue
