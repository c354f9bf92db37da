"""Worlds as text: a grid of symbols, or streets in Braille dots with the agent and the goal as arrows."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from rapidtask.draw.projection import Projection
from rapidtask.draw.scene import Scene
from rapidtask.draw.streets import walked_streets
from rapidtask.worlds.torus import state_of

COLUMNS, ROWS = 60, 20
"""Characters of a street map; each holds 2×4 dots."""

AGENT_ARROWS, GOAL_ARROWS = "↑↗→↘↓↙←↖", "⇑⇗⇒⇘⇓⇙⇐⇖"
"""From north, clockwise. Two kinds, so that the marks alone tell the agent from the goal."""

BRAILLE = 0x2800
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bit of each dot (row, column) in a Braille character."""

RESET, AGENT, GOAL, TRAIL = "\x1b[0m", "\x1b[1;97;44m", "\x1b[1;97;41m", "\x1b[94m"


def grid_text(scene: Scene, *, color: bool) -> str:
    """Text of the grid: [X] is the agent's cell, *X* the goal, ·X· the trail of this task."""

    def cell(state: int) -> str:
        marks, style = "  {}  ", ""
        if state in scene.trail:
            marks, style = " ·{}· ", TRAIL
        if state == scene.goal:
            marks, style = " *{}* ", GOAL
        if state == scene.state:
            marks, style = "[*{}*]" if state == scene.goal else " [{}] ", AGENT
        return _styled(marks.format(scene.symbol(state)), style if color else "")

    cells = range(scene.size)
    rule = "+" + "+".join(["-" * (4 + len(scene.symbol(0)))] * scene.size) + "+"
    lines = [scene.headline, rule]
    for y in reversed(cells):
        lines += ["|" + "|".join(cell(state_of(x, y, scene.size)) for x in cells) + "|", rule]
    lines.append("[X] you   *X* goal   ·X· path of this task   the edges wrap around")
    return "\n".join(lines)


def street_text(scene: Scene, *, color: bool) -> str:
    """The map as lines of text: north is up, and the arrows stand a little ahead of where one looks from."""
    places, world = scene.streets, scene.world
    assert places is not None
    # One character of margin around.
    projection = Projection.fit(places, world, 4 * (ROWS - 2), 2 * (COLUMNS - 2))
    lines = [projection(line) + np.array([2 * ROWS, COLUMNS]) for line in places.lines(world)]
    bits, trail = np.zeros((ROWS, COLUMNS), int), np.zeros((ROWS, COLUMNS), bool)
    for line in lines:
        for row, column in _dots(line):
            bits[row // 4, column // 2] |= DOTS[row % 4, column % 2]
    for state in walked_streets(places, world, scene.trail):
        for row, column in _dots(lines[state]):
            trail[row // 4, column // 2] = True
    marks = {}
    for state, arrows, style in ((scene.goal, GOAL_ARROWS, GOAL), (scene.state, AGENT_ARROWS, AGENT)):
        row, column, arrow = _arrow(lines[state])
        marks[row, column] = (arrows[arrow] if (row, column) not in marks else "◎", style)

    def cell(row: int, column: int) -> str:
        plain = (chr(BRAILLE + int(bits[row, column])), TRAIL if trail[row, column] else "")
        text, style = marks.get((row, column), plain)
        return _styled(text, style if color else "")

    rows = ["".join(cell(row, column) for column in range(COLUMNS)) for row in range(ROWS)]
    return "\n".join([scene.headline, *rows, "→ you, and where you look   ⇒ goal   ◎ both here"])


def _styled(text: str, style: str) -> str:
    return f"{style}{text}{RESET}" if style else text


def _dots(line: Float[np.ndarray, "P 2"]) -> list[tuple[int, int]]:
    """The dots (row, column) along a line."""
    ahead = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at = np.linspace(0, ahead[-1], 2 + int(2 * ahead[-1]))
    rows, columns = (np.interp(at, ahead, line[:, i]).astype(int).tolist() for i in (0, 1))
    return list(zip(rows, columns, strict=True))


def _arrow(line: Float[np.ndarray, "P 2"]) -> tuple[int, int, int]:
    """Character (row, column) of an arrow at the start of a line, and which of the eight it is."""
    far = np.flatnonzero(np.hypot(*(line - line[0]).T) > 4)
    down, right = line[far[0] if far.size else -1] - line[0]
    angle = math.atan2(right, -down)
    row, column = line[0] + 4 * np.array([-math.cos(angle), math.sin(angle)])
    row, column = np.clip([row // 4, column // 2], 0, [ROWS - 1, COLUMNS - 1]).astype(int).tolist()
    return row, column, round(angle / (math.pi / 4)) % 8
