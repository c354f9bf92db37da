"""Worlds as text: a grid of symbols, or where agent and goal are in the streets."""

from __future__ import annotations

import math

from rapidtask.cities.city_graph import great_circle_bearing, great_circle_distance
from rapidtask.draw.scene import Scene
from rapidtask.worlds.torus import state_of

COMPASS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
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
    """In words: which way the agent looks, how far off the goal is, and which way one must look there."""
    places, world = scene.streets, scene.world
    assert places is not None
    city, states = places.cities[places.city[world]], [scene.state, scene.goal]
    nodes = places.tail[world, states]
    (lat, to_lat), (lng, to_lng) = city.lat[nodes], city.lng[nodes]
    way = _compass(float(great_circle_bearing(lat, lng, to_lat, to_lng)))
    metres = great_circle_distance(lat, lng, to_lat, to_lng)
    looks, must_look = map(_compass, places.bearing[world, states])
    you = _styled(f"you look {looks}", AGENT if color else "")
    goal = _styled(f"the goal is {metres:.0f} m {way}, looking {must_look}", GOAL if color else "")
    return f"{scene.headline}\n{city.name}: {you}; {goal}"


def _compass(bearing: float) -> str:
    return COMPASS[round(bearing / (math.pi / 4)) % 8]


def _styled(text: str, style: str) -> str:
    return f"{style}{text}{RESET}" if style else text
