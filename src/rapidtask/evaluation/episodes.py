"""Runs whole episodes of a policy and records when tasks were completed."""

from __future__ import annotations

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray

from rapidtask.envs.environment import Environment
from rapidtask.policies.policy import Policy


def episode_keys(seed: int, num_episodes: int) -> PRNGKeyArray:
    """One key per episode; episode i is the same however many there are, and for every policy."""
    return jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(seed), jnp.arange(num_episodes))


@eqx.filter_jit
def run_batch(environment: Environment, policy: Policy, keys: PRNGKeyArray) -> Bool[Array, "T B"]:
    """One episode per key: whether each step completed a task."""
    env_keys, policy_keys = jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key))(keys), 1, 0)
    states, timestep = environment.reset_batch(env_keys)
    memory = policy.initial_batch(len(keys))

    def step(carry, t):
        states, timestep, memory = carry
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(policy_keys, t)
        actions, memory = policy.step_batch(memory, timestep, step_keys, states)
        states, timestep = jax.vmap(environment.step)(states, actions)
        return (states, timestep, memory), timestep.completed

    steps = jnp.arange(environment.options.episode_steps)
    return jax.lax.scan(step, (states, timestep, memory), steps)[1]


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
