"""What a drawing shows: one moment of an episode, taken from an environment's state."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from rapidtask.envs.environment import Environment, EnvState
from rapidtask.envs.episode import Episode, to_numpy
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


def make_scene(environment: Environment, state: EnvState, trail: Sequence[int], goals: int) -> Scene:
    """The scene of one environment's state (no batch axis)."""
    labels, place, goal, steps = to_numpy((state.world.observation, state.state, state.goal, state.steps))
    return Scene(
        rules=environment.rules,
        num_observations=environment.num_observations,
        labels=tuple(labels.tolist()),
        state=int(place),
        goal=int(goal),
        trail=tuple(trail),
        steps=int(steps),
        episode_steps=environment.episode.episode_steps,
        goals=goals,
        streets=environment.pool.places,
        world=int(state.world.index),
    )


def scene_of(episode: Episode) -> Scene:
    """The scene of an episode that has begun."""
    assert episode.state is not None
    return make_scene(episode.environment, episode.state, episode.trail, episode.goals)


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
