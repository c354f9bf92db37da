"""Drawing an episode: text for terminals, pictures for videos and notebooks.

A `Scene` holds what a drawing shows; `render_ansi` and `render_rgb` choose the drawing by the world's
geometry: the torus of the Memory&Planning Game, or the streets of a neighbourhood. A drawing shows the whole
map: it is for people, never for agents.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from rapidtask.worlds.streets import StreetPlaces
from rapidtask.worlds.world import Rules, WorldError

LETTERS = string.ascii_uppercase + "abcdefghijkmnpqrstuvwxyz" + "123456789" + "#&@%?"
"""64 characters, enough for 8×8 cells; l, o and 0 are left out because they look like I and O."""


@dataclass(frozen=True)
class Scene:
    """One moment of an episode; `rapidtask.envs.episode.make_scene` takes it from an environment's state."""

    rules: Rules
    """Rules of the world; `rules.torus_size` is the geometry."""
    num_observations: int
    """Size V of the observation vocabulary."""
    labels: tuple[int, ...]
    """Observation id of each state in this episode, `[S]`."""
    state: int
    """Where the agent is."""
    goal: int
    """The goal state."""
    trail: tuple[int, ...]
    """States visited since the current task began, oldest first, ending with the agent's."""
    steps: int
    """Steps taken in this episode."""
    episode_steps: int
    """Steps an episode has."""
    goals: int
    """Tasks completed in this episode."""
    streets: StreetPlaces | None = None
    """Where the states of street worlds are."""
    world: int = 0
    """Which world of `streets` this is."""

    @property
    def headline(self) -> str:
        """The situation in one line of text."""
        return (
            f"step {self.steps}/{self.episode_steps}   goals {self.goals}   "
            f"you are on {self.symbol(self.state)}   goal {self.symbol(self.goal)}"
        )

    def symbol(self, state: int) -> str:
        """The symbol that a person sees for a state."""
        return symbol(self.labels[state], self.num_observations)


def symbol(observation: int, num_observations: int) -> str:
    """The symbol of an observation id: one character if the vocabulary has at most 64 ids, else two or more.

    All symbols of a vocabulary are different and equally wide.
    """
    if num_observations <= len(LETTERS):
        return LETTERS[observation]
    base, width = len(string.ascii_uppercase), 2
    while base**width < num_observations:
        width += 1
    digits = (observation // base**place % base for place in reversed(range(width)))
    return "".join(string.ascii_uppercase[digit] for digit in digits)


def render_ansi(scene: Scene, *, color: bool = True) -> str:
    """Draw a scene as lines of text (no final newline); without colour the marks alone tell it."""
    from rapidtask.envs.render_grid import grid_ansi
    from rapidtask.envs.render_streets_text import street_ansi

    refuse_unknown_geometry(scene.rules, scene.streets)
    return grid_ansi(scene, color=color) if scene.streets is None else street_ansi(scene, color=color)


def render_rgb(scene: Scene, *, width: int = 480) -> np.ndarray:
    """Draw a scene as a picture, uint8 `[H, W, 3]`, at least `width` pixels wide (wider for many cells)."""
    from rapidtask.envs.render_grid import grid_rgb
    from rapidtask.envs.render_streets import street_rgb

    refuse_unknown_geometry(scene.rules, scene.streets)
    return grid_rgb(scene, width=width) if scene.streets is None else street_rgb(scene, width=width)


def refuse_unknown_geometry(rules: Rules, streets: StreetPlaces | None) -> None:
    """Raise a WorldError if no drawing exists for worlds with these rules and streets."""
    if rules.torus_size is None and streets is None:
        raise WorldError(
            "this world cannot be drawn: it is no grid (its rules.torus_size is None), and where its states "
            "lie in a city is not known"
        )
