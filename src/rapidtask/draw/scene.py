"""What a drawing shows: one moment of an episode."""

from __future__ import annotations

import string
from dataclasses import dataclass

from rapidtask.worlds.streets import StreetPlaces
from rapidtask.worlds.world import Rules, WorldError

LETTERS = string.ascii_uppercase + "abcdefghijkmnpqrstuvwxyz" + "123456789" + "#&@%?"
"""64 characters, enough for 8×8 cells; l, o and 0 are left out because they look like I and O."""


@dataclass(frozen=True)
class Scene:
    """One moment of an episode."""

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

    @property
    def size(self) -> int:
        """Cells a side of the grid, where there is one."""
        assert self.rules.torus_size is not None
        return self.rules.torus_size

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


def check_drawable(rules: Rules, streets: StreetPlaces | None) -> None:
    """Raise a WorldError if no drawing exists for worlds with these rules and streets."""
    if rules.torus_size is None and streets is None:
        raise WorldError(
            "this world cannot be drawn: it is no grid (its rules.torus_size is None), and where its states "
            "lie in a city is not known"
        )
