"""Environments stepped from Python, action by action: what the adapters share.

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
_step = jax.jit(Environment.step_batch)
_reset = jax.jit(Environment.reset_batch)


@jax.jit
def _start(
    environment: Environment, states: EnvState | None, bits: UInt32[Array, " B"], seeded: Bool[Array, " B"]
) -> tuple[EnvState, TimeStep]:
    keys = jax.vmap(jax.random.key)(bits)
    if states is not None:
        keys = jnp.where(seeded, keys, environment.next_keys(states))
    return environment.reset_batch(keys)


def to_numpy(tree: Any) -> Any:
    """A pytree with NumPy arrays in place of the device's; several times quicker than `jax.device_get`."""
    return jax.tree.map(np.asarray, tree)


def observation_format(environment: Environment) -> tuple[tuple[int, ...], type, int]:
    """Shape, type and largest value of what adapters show: a one-hot of length V, or a frame."""
    if environment.pool.frames is None:
        return (environment.num_observations,), np.int32, 1
    return environment.pool.frames.shape[1:], np.uint8, 255


class RunningEpisodes:
    """The current episodes of B environments: their states, last timestep, scores, and the tasks' trails."""

    def __init__(self, environment: Environment, num_envs: int = 1, *, drawn: bool = True) -> None:
        """Begin no episode yet; without `drawn`, nothing is kept that only drawings show."""
        self.environment, self.num_envs, self.drawn = environment, num_envs, drawn
        self.states: EnvState | None = None
        self.timestep: TimeStep | None = None
        """With NumPy arrays `[B]`."""
        self.goals = np.zeros(num_envs, int)
        """Tasks completed in each episode."""
        self.trails: list[list[int]] = [[] for _ in range(num_envs)]
        """States visited since each current task began, oldest first, without repeats in a row."""

    @property
    def over(self) -> bool:
        """Whether no action can be taken: no episode has begun, or the last timesteps were seen."""
        return self.timestep is None or bool(self.timestep.last.all())

    def start(self, seeds: Sequence[int | None]) -> TimeStep:
        """Begin an episode in each environment: with its seed, or the one that follows its current one."""
        if self.states is None and None in seeds:
            raise InputError("the first episode needs a seed")
        # The bits that make a key: `jax.random.key(seed)` for any seed below 2³².
        bits = np.array([(seed or 0) & 0xFFFF_FFFF for seed in seeds], np.uint32)
        seeded = np.array([seed is not None for seed in seeds])
        return self._enter(*_start(self.environment, self.states, bits, seeded))

    def start_with(self, keys: PRNGKeyArray) -> TimeStep:
        """Begin the episode of a key in each environment."""
        return self._enter(*_reset(self.environment, keys))

    def step(self, actions: Any) -> TimeStep:
        """Take an action in each environment; where an episode is over, its next one begins instead."""
        assert self.states is not None, "no episode has begun"
        actions, limit = np.asarray(actions), self.environment.num_actions
        whole = actions.shape == (self.num_envs,) and actions.dtype.kind in "iu"
        if not whole or actions.min() < 0 or actions.max() >= limit:
            expected = "a whole number" if self.num_envs == 1 else f"{self.num_envs} whole numbers"
            raise InputError(f"action is {actions.tolist()}, expected {expected} in 0..{limit - 1}")
        # One dtype for every kind of integer that comes in: no recompilation.
        return self._enter(*_step(self.environment, self.states, actions.astype(np.int32)))

    def observe(self) -> dict[str, np.ndarray]:
        """What adapters show: one-hots `[B, V]`, or uint8 frames `[B, 84, 84, 3]` where worlds have them."""
        assert self.states is not None
        assert self.timestep is not None
        pool = self.environment.pool
        if pool.frames is None or pool.frame_ids is None:
            table = np.eye(self.environment.num_observations, dtype=np.int32)
            rows = {"position": self.timestep.observation, "goal": self.timestep.goal}
        else:
            index, place, goal = to_numpy((self.states.world.index, self.states.state, self.states.goal))
            table, ids = np.asarray(pool.frames), np.asarray(pool.frame_ids)
            rows = {"position": ids[index, place], "goal": ids[index, goal]}
        # take copies: whoever keeps an observation owns it.
        return {name: np.take(table, row, axis=0) for name, row in rows.items()}

    def scene(self, number: int = 0) -> Scene:
        """What is drawn of one of the episodes."""
        # Here, because most environments are never drawn.
        from rapidtask.draw import Scene

        assert self.states is not None
        state: EnvState = jax.tree.map(lambda leaf: leaf[number], self.states)
        return Scene(
            rules=self.environment.rules,
            num_observations=self.environment.num_observations,
            labels=tuple(state.world.observation.tolist()),
            state=int(state.state),
            goal=int(state.goal),
            trail=tuple(self.trails[number]),
            steps=int(state.steps),
            episode_steps=self.environment.episode.episode_steps,
            goals=int(self.goals[number]),
            streets=self.environment.pool.places,
            world=int(state.world.index),
        )

    def _enter(self, states: EnvState, timestep: TimeStep) -> TimeStep:
        timestep = to_numpy(timestep)
        self.states, self.timestep = states, timestep
        if self.drawn:
            self.goals = np.where(timestep.first, 0, self.goals + timestep.completed)
            begins = timestep.first | timestep.completed
            for i, place in enumerate(np.asarray(states.state).tolist()):
                if begins[i]:
                    self.trails[i] = [place]
                elif self.trails[i][-1] != place:
                    self.trails[i].append(place)
        return timestep
