"""dm_env adapter, with the observations of the environment that the paper's authors released."""

from __future__ import annotations

from typing import Any

import dm_env
from dm_env import specs

from rapidtask.envs.environment import Environment
from rapidtask.envs.episode import RunningEpisodes, observation_format


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
        self._episodes = RunningEpisodes(environment, drawn=False)
        self._seed = seed
        shape, dtype, highest = observation_format(environment)
        self._observation_spec = {
            name: specs.BoundedArray(shape, dtype, 0, highest, name=name) for name in ("position", "goal")
        }
        self._action_spec = specs.DiscreteArray(environment.num_actions, name="action")

    def reset(self) -> dm_env.TimeStep:
        """Start an episode in a new world."""
        self._episodes.start([self._seed if self._episodes.states is None else None])
        return dm_env.restart(self._observe())

    def step(self, action: Any) -> dm_env.TimeStep:
        """Take one action; before the first episode and after a last timestep, reset instead."""
        if self._episodes.over:
            return self.reset()
        timestep = self._episodes.step([action])
        reward, observation = float(timestep.reward[0]), self._observe()
        if not timestep.last[0]:
            return dm_env.transition(reward, observation)
        end = dm_env.termination if timestep.discount[0] == 0 else dm_env.truncation
        return end(reward, observation)

    def observation_spec(self) -> dict[str, specs.BoundedArray]:
        """Two one-hots of length V, or two frames."""
        return self._observation_spec

    def action_spec(self) -> specs.DiscreteArray:
        """A whole number below A."""
        return self._action_spec

    def _observe(self) -> dict[str, Any]:
        return {name: batch[0] for name, batch in self._episodes.observe().items()}
