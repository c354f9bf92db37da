"""The moment of an episode that is drawn, taken from an environment's state."""

from __future__ import annotations

from collections.abc import Sequence

from rapidtask.draw import Scene
from rapidtask.envs.environment import Environment, EnvState
from rapidtask.envs.episode import Episode, to_numpy


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
