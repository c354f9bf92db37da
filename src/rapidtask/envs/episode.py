"""One environment stepped from Python, action by action: what the adapters share.

The core is pure JAX and returns its state; here somebody holds that state. Episodes follow one another with
the keys that `Environment.step_batch` would use, so an adapter and a batch that start from the same key play
the same worlds for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray, UInt32

from rapidtask.envs.environment import Environment, EnvState, TimeStep
from rapidtask.errors import InputError

if TYPE_CHECKING:
    from rapidtask.draw import Scene

# Compiled once per kind of environment, not once per object: eight environments of one kind share the code.
_reset, _step = jax.jit(Environment.reset), jax.jit(Environment.step)
step_batch = jax.jit(Environment.step_batch)


@jax.jit
def _reset_next(environment: Environment, state: EnvState) -> tuple[EnvState, TimeStep]:
    return environment.reset(next_key(environment, state))


def next_key(environment: Environment, state: EnvState) -> PRNGKeyArray:
    """Key of the episode that follows the given one; the same as in `Environment.step_batch`."""
    return jax.random.fold_in(state.key, environment.episode.episode_steps)


def seed_bits(seed: int) -> np.uint32:
    """The 32 bits of a seed that make a key: `jax.random.key(seed)` for any seed below 2³²."""
    return np.uint32(seed & 0xFFFF_FFFF)


def to_numpy(tree: Any) -> Any:
    """A pytree with NumPy arrays in place of the device's; several times quicker than `jax.device_get`."""
    return jax.tree.map(np.asarray, tree)


def observe(environment: Environment, state: EnvState, timestep: TimeStep) -> dict[str, np.ndarray]:
    """What adapters show: uint8 frames `[*B, 84, 84, 3]` if the world has them, else one-hots `[*B, V]`."""
    pool = environment.pool
    if pool.frames is None or pool.frame_ids is None:
        table, rows = (
            np.eye(environment.num_observations, dtype=np.int32),
            (timestep.observation, timestep.goal),
        )
    else:
        index, place, goal = to_numpy((state.world.index, state.state, state.goal))
        table, ids = np.asarray(pool.frames), np.asarray(pool.frame_ids)
        rows = ids[index, place], ids[index, goal]
    # take copies: whoever keeps an observation owns it.
    return {name: np.take(table, row, axis=0) for name, row in zip(("position", "goal"), rows, strict=True)}


def make_scene(environment: Environment, state: EnvState, trail: Sequence[int], goals: int) -> Scene:
    """What is drawn of one environment's state (no batch axis)."""
    # Here, because most environments are never drawn.
    from rapidtask.draw import Scene

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


class Episode:
    """The current episode of one environment: its state, its last timestep, its score, the task's trail.

    Timesteps have NumPy arrays.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.state: EnvState | None = None
        self.timestep: TimeStep | None = None
        self.goals = 0
        """Tasks completed in this episode."""
        self.trail: list[int] = []
        """States visited since the current task began, oldest first, without repeats in a row."""

    @property
    def over(self) -> bool:
        """Whether no action can be taken: no episode has begun, or the last timestep was seen."""
        return self.timestep is None or bool(self.timestep.last)

    def start(self, seed: int | None) -> TimeStep:
        """Begin an episode with the seed, or the next one after the current one if the seed is None."""
        if seed is not None:
            return self._enter(*_reset(self.environment, jax.random.key(seed_bits(seed))))
        if self.state is None:
            raise InputError("the first episode needs a seed")
        return self._enter(*_reset_next(self.environment, self.state))

    def step(self, action: int) -> TimeStep:
        """Take an action. The caller has checked it: an unchecked index would be clipped silently."""
        assert self.state is not None, "no episode has begun"
        assert not self.over, "the episode is over"
        # One dtype for every kind of integer that comes in: no recompilation.
        return self._enter(*_step(self.environment, self.state, np.int32(action)))

    def scene(self) -> Scene:
        """What is drawn of an episode that has begun."""
        assert self.state is not None
        return make_scene(self.environment, self.state, self.trail, self.goals)

    def _enter(self, state: EnvState, timestep: TimeStep) -> TimeStep:
        timestep, place = to_numpy((timestep, state.state))
        self.state, self.timestep = state, timestep
        self.goals = 0 if timestep.first else self.goals + int(timestep.completed)
        self.trail = extend_trail(self.trail, int(place), bool(timestep.first or timestep.completed))
        return timestep


def extend_trail(trail: list[int], place: int, begins: bool) -> list[int]:
    """The trail after a step that led to `place`; a new one if a task begins there."""
    if begins:
        return [place]
    return trail if trail[-1] == place else [*trail, place]


@jax.jit
def start_batch(
    environment: Environment, states: EnvState | None, bits: UInt32[Array, " B"], seeded: Bool[Array, " B"]
) -> tuple[EnvState, TimeStep]:
    """Begin an episode in each of B environments: from its `seed_bits`, or the one after the current."""
    keys = jax.vmap(jax.random.key)(bits)
    if states is not None:
        keys = jnp.where(seeded, keys, jax.vmap(lambda state: next_key(environment, state))(states))
    return environment.reset_batch(keys)
