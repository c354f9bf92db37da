"""Drawings of a moment of an episode: text for terminals, pictures for videos and notebooks.

A drawing shows the whole map: it is for people, never for agents. Which one is made follows from the world's
geometry: the torus of the Memory&Planning Game, or the streets of a neighbourhood.
"""

from __future__ import annotations

import numpy as np

from rapidtask.draw.grid import draw_grid
from rapidtask.draw.scene import Scene, check_drawable, symbol
from rapidtask.draw.streets import draw_streets
from rapidtask.draw.text import grid_text, street_text


def render_ansi(scene: Scene, *, color: bool = True) -> str:
    """Draw a scene as lines of text (no final newline); without colour the marks alone tell it."""
    check_drawable(scene.rules, scene.streets)
    return (grid_text if scene.streets is None else street_text)(scene, color=color)


def render_rgb(scene: Scene, *, width: int = 480) -> np.ndarray:
    """Draw a scene as a picture, uint8 `[H, W, 3]`, at least `width` pixels wide (wider for many cells)."""
    check_drawable(scene.rules, scene.streets)
    return (draw_grid if scene.streets is None else draw_streets)(scene, width=width)


__all__ = ["Scene", "check_drawable", "render_ansi", "render_rgb", "symbol"]
