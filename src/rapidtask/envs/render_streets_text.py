"""A street world as text: its streets in Braille dots, the agent and the goal as arrows."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from rapidtask.envs.render import Scene
from rapidtask.envs.render_streets import walked_streets

COLUMNS, ROWS = 60, 20
"""Characters of the map; each holds 2×4 dots."""

AGENT_ARROWS, GOAL_ARROWS = "↑↗→↘↓↙←↖", "⇑⇗⇒⇘⇓⇙⇐⇖"
"""From north, clockwise. Two kinds, so that the marks alone tell the agent from the goal."""

BRAILLE = 0x2800
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bit of each dot (row, column) in a Braille character."""

_RESET, _AGENT, _GOAL, _TRAIL = "\x1b[0m", "\x1b[1;37;44m", "\x1b[1;37;41m", "\x1b[94m"


def street_ansi(scene: Scene, *, color: bool) -> str:
    """The map as lines of text: north is up, and the arrows stand a little ahead of where one looks from."""
    assert scene.streets is not None
    lines = scene.streets.lines(scene.world)
    dots = _Dots(np.concatenate(lines))
    for line in lines:
        dots.draw(line)
    trail = np.zeros((ROWS, COLUMNS), bool)
    for state in walked_streets(scene.streets, scene.world, scene.trail):
        for row, column in dots.along(lines[state]):
            trail[row // 4, column // 2] = True
    marks = {}
    for state, arrows, style in ((scene.goal, GOAL_ARROWS, _GOAL), (scene.state, AGENT_ARROWS, _AGENT)):
        row, column, arrow = dots.arrow(lines[state])
        marks[row, column] = (arrows[arrow] if (row, column) not in marks else "◎", style)

    def cell(row: int, column: int) -> str:
        mark = marks.get((row, column))
        if mark is not None:
            return f"{mark[1]}{mark[0]}{_RESET}" if color else mark[0]
        text = chr(BRAILLE + int(dots.bits[row, column]))
        return f"{_TRAIL}{text}{_RESET}" if color and trail[row, column] else text

    rows = ["".join(cell(row, column) for column in range(COLUMNS)) for row in range(ROWS)]
    return "\n".join([scene.headline, *rows, "→ you, and where you look   ⇒ goal   ◎ both here"])


class _Dots:
    """A raster of square dots that a world's places are scaled onto, one character of margin around."""

    def __init__(self, places: Float[np.ndarray, "P 2"]) -> None:
        self.bits = np.zeros((ROWS, COLUMNS), int)
        self.middle = (places.min(0) + places.max(0)) / 2
        # Rows grow southwards; degrees of longitude are shorter than those of latitude.
        stretch = np.array([-1.0, math.cos(math.radians(self.middle[0]))])
        extent = np.maximum(np.ptp(places * stretch, axis=0), 1e-9)
        room = np.array([4 * (ROWS - 2), 2 * (COLUMNS - 2)])
        self.scale = stretch * (room / extent).min()

    def place(self, places: Float[np.ndarray, "*P 2"]) -> Float[np.ndarray, "*P 2"]:
        """Rows and columns of latitudes and longitudes."""
        return (places - self.middle) * self.scale + np.array([2 * ROWS, COLUMNS])

    def along(self, line: Float[np.ndarray, "P 2"]) -> list[tuple[int, int]]:
        """The dots along a line."""
        points = self.place(line)
        ahead = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        at = np.linspace(0, ahead[-1], 2 + int(2 * ahead[-1]))
        rows, columns = (np.interp(at, ahead, points[:, i]).astype(int).tolist() for i in (0, 1))
        return list(zip(rows, columns, strict=True))

    def draw(self, line: Float[np.ndarray, "P 2"]) -> None:
        """Set the dots along a line."""
        for row, column in self.along(line):
            self.bits[row // 4, column // 2] |= DOTS[row % 4, column % 2]

    def arrow(self, line: Float[np.ndarray, "P 2"]) -> tuple[int, int, int]:
        """Character (row, column) of an arrow at the start of a line, and which of the eight it is."""
        points = self.place(line)
        far = np.flatnonzero(np.hypot(*(points - points[0]).T) > 4)
        down, right = points[far[0] if far.size else -1] - points[0]
        angle = math.atan2(right, -down)
        row, column = points[0] + 4 * np.array([-math.cos(angle), math.sin(angle)])
        row, column = np.clip([row // 4, column // 2], 0, [ROWS - 1, COLUMNS - 1]).astype(int).tolist()
        return row, column, round(angle / (math.pi / 4)) % 8
