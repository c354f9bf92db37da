"""The torus grid as a picture. Up is +y: the row y = N-1 is at the top."""

from __future__ import annotations

import colorsys
from itertools import pairwise

from jaxtyping import UInt8
from numpy import ndarray

from rapidtask.draw.canvas import AGENT, FAINT, GOAL, INK, TRAIL, Box, Canvas, Color, Point, whole_blocks
from rapidtask.draw.scene import Scene
from rapidtask.worlds.torus import cell_of, segments

MARGIN, HEADER, FOOTER = 24, 80, 64
MIN_CELL = 40
WIDE = 440
"""A narrower picture has no room for all the words; the colours say it too."""


def draw_grid(scene: Scene, *, width: int) -> UInt8[ndarray, "H W 3"]:
    """Picture of the grid; the agent is a disc, the goal a frame, the trail of the task a line."""
    width = whole_blocks(max(width, 300, 2 * MARGIN + MIN_CELL * scene.size))
    height = HEADER + width - 2 * MARGIN + FOOTER
    canvas = Canvas(width, height)
    cell = (width - 2 * MARGIN) / scene.size

    def at(x: float, y: float) -> Point:
        return MARGIN + (x + 0.5) * cell, HEADER + (scene.size - 1 - y + 0.5) * cell

    def center(state: int) -> Point:
        return at(*cell_of(state, scene.size))

    for state in range(scene.size**2):
        canvas.tile(_square(center(state), 0.47 * cell), _tint(scene, state))
    moves = list(pairwise(scene.trail))
    for i, (start, end) in enumerate(moves):
        age = (len(moves) - 1 - i) / max(len(moves), 8)  # the oldest palest
        for ends in segments(start, end, scene.size):
            canvas.line([at(*point) for point in ends], _paler(TRAIL, 0.55 * age), 0.11 * cell)
    if moves:
        canvas.disc(center(scene.trail[0]), 0.34 * cell, _paler(TRAIL, 0.3))
    for state in scene.trail:
        canvas.disc(center(state), 0.29 * cell, _tint(scene, state))  # room for the symbol
    canvas.tile(_square(center(scene.goal), 0.455 * cell), frame=GOAL, width=0.075 * cell)
    canvas.disc(center(scene.state), 0.34 * cell, AGENT)
    for state in range(scene.size**2):
        text = scene.symbol(state)
        ink = (255, 255, 255) if state == scene.state else INK
        canvas.text(center(state), text, cell * (0.44 if len(text) == 1 else 0.32), ink)
    _write_header(canvas, width, scene)
    _write_legend(canvas, width, height - FOOTER / 2)
    return canvas.pixels()


def _write_header(canvas: Canvas, width: int, scene: Scene) -> None:
    y = HEADER / 2
    canvas.text((MARGIN, y - 13), f"step {scene.steps} / {scene.episode_steps}", 20, INK, "lm")
    canvas.text((MARGIN, y + 13), f"goals {scene.goals}", 20, INK, "lm")
    agent = ("you are on", scene.state, AGENT, width - MARGIN - (172 if width >= WIDE else 84))
    goal = ("go to", scene.goal, GOAL, width - MARGIN - 24)
    for word, state, color, x in (agent, goal):
        if width >= WIDE:
            canvas.text((x - 32, y), word, 16, FAINT, "rm")
        canvas.tile(_square((x, y), 24), _tint(scene, state), color, 4)
        canvas.text((x, y), scene.symbol(state), 26 if len(scene.symbol(state)) == 1 else 20, INK)


def _write_legend(canvas: Canvas, width: int, y: float) -> None:
    canvas.disc((MARGIN + 9, y), 9, AGENT)
    canvas.tile(_square((MARGIN + 83, y), 9), frame=GOAL, width=4)
    canvas.line([(MARGIN + 156, y), (MARGIN + 176, y)], TRAIL, 5)
    for x, word in ((24, "you"), (98, "goal"), (184, "path so far")):
        canvas.text((MARGIN + x, y), word, 15, FAINT, "lm")
    if width >= WIDE:
        canvas.text((width - MARGIN, y), "edges wrap around", 15, FAINT, "rm")


def _square(center: Point, half: float) -> Box:
    x, y = center
    return x - half, y - half, x + half, y + half


def _tint(scene: Scene, state: int) -> Color:
    """A pale colour per symbol, so that a cell is recognised from one episode's pictures to the next."""
    hue = scene.labels[state] / scene.num_observations
    red, green, blue = colorsys.hls_to_rgb(hue, 0.89, 0.55)
    return round(255 * red), round(255 * green), round(255 * blue)


def _paler(color: Color, share: float) -> Color:
    red, green, blue = (round(part + (255 - part) * share) for part in color)
    return red, green, blue
