"""Policies without a memory of the world: random, random walk, and the oracle, which needs none."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from rapidtask.envs.environment import EnvState, TimeStep
from rapidtask.policies.policy import Policy, choose
from rapidtask.worlds.world import World


class Random(Policy):
    """Any action, uniformly."""

    def step(self, memory, timestep: TimeStep, key):
        return jax.random.randint(key, (), 0, self.rules.num_actions), memory


class RandomWalk(Policy):
    """Any move, uniformly; collects exactly when on the goal."""

    def step(self, memory, timestep: TimeStep, key):
        move = jax.random.randint(key, (), 0, self.rules.num_moves)
        return self.collect_or(timestep, move), memory


class Oracle(Policy):
    """Knows the whole map: always on a shortest path."""

    privileged: ClassVar[bool] = True

    worlds: World

    def step(self, memory, timestep: TimeStep, key, env_state: EnvState):  # pyright: ignore[reportIncompatibleMethodOverride]
        index = env_state.world.index
        successors = self.worlds.next_state[index, env_state.state, : self.rules.num_moves]
        distance = self.worlds.distance[index, successors, env_state.goal]
        move = choose(key, distance == jnp.min(distance))
        return self.collect_or(timestep, move), memory
