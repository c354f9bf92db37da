"""dm_env adapter, with the observations of the environment that the paper's authors released."""

from __future__ import annotations

from typing import Any

import dm_env
import numpy as np
from dm_env import specs

from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.envs.episode import Episode, observe
from rapidtask.errors import InputError


class DmEnvironment(dm_env.Environment):
    """An environment behind dm_env's interface.

    - observation: a dict of `position` and `goal`, int32 one-hots of length V, or uint8 frames in street
      worlds with the option `frames`.
    - action: `DiscreteArray`, a whole number below A.
    - reward: 1.0 for a completed task, else the option `per_step_reward`; None at a first timestep.
    - discount: 0 after a termination, 1 after a truncation (the option `time_limit`) and in mid-episode.
    """

    def __init__(self, environment: Environment, seed: int = 0) -> None:
        """Wrap an environment; its first episode starts from `jax.random.key(seed)`."""
        self.environment = environment
        self._episode = Episode(environment)
        self._seed = seed
        size = environment.num_observations
        shape, dtype, highest = (size,), np.int32, 1
        if environment.pool.frames is not None:
            shape, dtype, highest = environment.pool.frames.shape[1:], np.uint8, 255
        self._observation_spec = {
            name: specs.BoundedArray(shape, dtype, 0, highest, name=name) for name in ("position", "goal")
        }
        self._action_spec = specs.DiscreteArray(environment.num_actions, name="action")

    def reset(self) -> dm_env.TimeStep:
        """Start an episode in a new world."""
        first_time = self._episode.state is None
        return dm_env.restart(self._observe(self._episode.start(self._seed if first_time else None)))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Take one action; before the first episode and after a last timestep, reset instead."""
        if self._episode.over:
            return self.reset()
        # The spec's own check refuses int64, which is what most agents send.
        value, limit = np.asarray(action), self.environment.num_actions
        if value.shape != () or value.dtype.kind not in "iu" or not 0 <= value < limit:
            raise InputError(f"action is {action!r}, expected one whole number in 0..{limit - 1}")
        timestep = self._episode.step(int(value))
        reward, observation = float(timestep.reward), self._observe(timestep)
        if not timestep.last:
            return dm_env.transition(reward, observation)
        if timestep.discount == 0:
            return dm_env.termination(reward, observation)
        return dm_env.truncation(reward, observation)

    def observation_spec(self) -> dict[str, specs.BoundedArray]:
        """Two one-hots of length V, or two frames."""
        return self._observation_spec

    def action_spec(self) -> specs.DiscreteArray:
        """A whole number below A."""
        return self._action_spec

    def _observe(self, timestep: TimeStep) -> dict[str, np.ndarray]:
        assert self._episode.state is not None
        return observe(self.environment, self._episode.state, timestep)
