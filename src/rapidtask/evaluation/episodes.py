"""Runs whole episodes of a policy and records when tasks were completed, or everything that happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from rapidtask.envs.environment import Environment, EnvState, TimeStep
from rapidtask.policies.policy import Policy


class EpisodeTrace(eqx.Module):
    """What happened in B episodes, step by step; for maps and analyses, not for agents."""

    state: Int[Array, "T B"]
    """Where each action was taken."""
    goal: Int[Array, "T B"]
    """State of the goal at that time."""
    action: Int[Array, "T B"]
    reached: Int[Array, "T B"]
    """Where the agent was after it (after a respawn, if there was one)."""
    completed: Bool[Array, "T B"]
    """Whether it completed a task."""
    symbols: Int[Array, "B S"]
    """Observation id of each state in each episode."""
    world: Int[Array, " B"]
    """Which world of the pool each episode was in."""


def episode_keys(seed: int, num_episodes: int) -> PRNGKeyArray:
    """One key per episode; episode i is the same however many there are, and for every policy."""
    return jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(seed), jnp.arange(num_episodes))


@eqx.filter_jit
def run_batch(environment: Environment, policy: Policy, keys: PRNGKeyArray) -> Bool[Array, "T B"]:
    """One episode per key: whether each step completed a task."""
    return _play(environment, policy, keys, lambda before, action, after, timestep: timestep.completed)[0]


@eqx.filter_jit
def trace_batch(environment: Environment, policy: Policy, keys: PRNGKeyArray) -> EpisodeTrace:
    """The same episodes as `run_batch`, with everything that happened."""

    def look(before: EnvState, action: Array, after: EnvState, timestep: TimeStep):
        return before.state, before.goal, action, after.state, timestep.completed

    (state, goal, action, reached, completed), start = _play(environment, policy, keys, look)
    return EpisodeTrace(state, goal, action, reached, completed, start.world.observation, start.world.index)


def _play(
    environment: Environment, policy: Policy, keys: PRNGKeyArray, look: Callable[..., Any]
) -> tuple[Any, EnvState]:
    """Play one episode per key: what `look` sees at each step, and the environments at the start."""
    env_keys, policy_keys = jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key))(keys), 1, 0)
    start, timestep = environment.reset_batch(env_keys)
    memory = policy.start_batch(start, len(keys))

    def step(carry, t):
        before, timestep, memory = carry
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(policy_keys, t)
        actions, memory = policy.step_batch(memory, timestep, step_keys, before)
        after, timestep = jax.vmap(environment.step)(before, actions)
        return (after, timestep, memory), look(before, actions, after, timestep)

    steps = jnp.arange(environment.episode.episode_steps)
    return jax.lax.scan(step, (start, timestep, memory), steps)[1], start


def run_episodes(
    environment: Environment, policy: Policy, num_episodes: int, seed: int, batch_size: int = 1000
) -> Bool[np.ndarray, "T E"]:
    """Run episodes in equal batches: one compiled program, whatever their number."""
    keys = episode_keys(seed, num_episodes)
    batch_size = min(batch_size, num_episodes)

    def batches() -> Iterator[np.ndarray]:
        for start in range(0, num_episodes, batch_size):
            # The last batch is filled up from its end and cut afterwards.
            first = min(start, num_episodes - batch_size)
            completed = run_batch(environment, policy, keys[first : first + batch_size])
            yield np.asarray(completed)[:, start - first :]

    return np.concatenate(list(batches()), axis=1)


def trace_episodes(environment: Environment, policy: Policy, num_episodes: int, seed: int) -> EpisodeTrace:
    """Everything that happened in episodes 0, 1, … of a seed, in NumPy; all are played at once."""
    trace = trace_batch(environment, policy, episode_keys(seed, num_episodes))
    return jax.tree.map(np.asarray, trace)
