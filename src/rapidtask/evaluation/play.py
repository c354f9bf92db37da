"""Plays whole episodes of a policy: one player for scores, recordings, figures and measurements."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.envs.episode import to_numpy
from rapidtask.policies.policy import Policy


class Episodes(eqx.Module):
    """What happened in E episodes of T steps; for scores, maps and analyses, not for agents."""

    timesteps: TimeStep
    """What was shown, `[T + 1, E]`: before each action and after the last."""
    state: Int[Array, "T+1 E"]
    """Where the agent was at these times (after a respawn, if there was one)."""
    goal: Int[Array, "T+1 E"]
    """State of the goal at these times."""
    world: Int[Array, " E"]
    """Which world of the pool each episode was in."""
    symbols: Int[Array, "E S"]
    """Observation id of each state in each episode."""

    @property
    def action(self) -> Int[Array, "T E"]:
        """What was done."""
        return self.timesteps.action[1:]

    @property
    def completed(self) -> Bool[np.ndarray, "T E"]:
        """Whether that completed a task."""
        return np.asarray(self.timesteps.completed)[1:]

    def take(self, episodes: int | slice) -> Episodes:
        """Some of the episodes; one alone, by its number, has no axis of episodes."""
        return _per_episode(lambda axis, array: array[(slice(None),) * axis + (episodes,)], self)


_fold_in = jax.jit(jax.vmap(jax.random.fold_in, (None, 0)))


def episode_keys(seed: int, num_episodes: int) -> PRNGKeyArray:
    """One key per episode; episode i is the same however many there are, and for every policy."""
    return _fold_in(jax.random.key(seed), np.arange(num_episodes))


def environment_keys(keys: PRNGKeyArray) -> PRNGKeyArray:
    """The keys that the environments of `play` are reset with, of the episodes' keys."""
    return _split(keys)[0]


def play(
    environment: Environment, policy: Policy, num_episodes: int, seed: int, batch_size: int = 1000
) -> Episodes:
    """Episodes 0, 1, … of a seed, in NumPy; in equal batches: one compiled program, whatever their number."""
    keys = episode_keys(seed, num_episodes)
    batch_size = min(batch_size, num_episodes)
    batches: list[Episodes] = []
    for start in range(0, num_episodes, batch_size):
        # The last batch is filled up from its end and cut afterwards.
        first = min(start, num_episodes - batch_size)
        batch: Episodes = to_numpy(play_batch(environment, policy, keys[first : first + batch_size]))
        batches.append(batch.take(slice(start - first, None)))
    return _per_episode(lambda axis, *parts: np.concatenate(parts, axis), *batches)


@eqx.filter_jit
def play_batch(environment: Environment, policy: Policy, keys: PRNGKeyArray) -> Episodes:
    """One episode per key, all at once."""
    env_keys, policy_keys = _split(keys)
    start, first = environment.reset_batch(env_keys)

    def step(carry, t):
        states, timestep, memory = carry
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(policy_keys, t)
        actions, memory = policy.step_batch(memory, timestep, step_keys, states)
        states, timestep = jax.vmap(environment.step)(states, actions)
        return (states, timestep, memory), (timestep, states.state, states.goal)

    carry = (start, first, policy.start_batch(start))
    _, later = jax.lax.scan(step, carry, jnp.arange(environment.episode.episode_steps))
    join = lambda first, later: jnp.concatenate([first[None], later])  # noqa: E731
    return Episodes(
        *jax.tree.map(join, (first, start.state, start.goal), later),
        world=start.world.index,
        symbols=start.world.observation,
    )


def _split(keys: PRNGKeyArray) -> PRNGKeyArray:
    """Of each episode's key, one for its environment and one for the policy."""
    return jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key))(keys), 1, 0)


def _per_episode(function, *batches: Episodes) -> Episodes:
    """`function(axis, *arrays)` of each array of the batches, told which of its axes counts episodes."""
    axes = Episodes(timesteps=1, state=1, goal=1, world=0, symbols=0)  # pyright: ignore
    each = lambda axis, *parts: jax.tree.map(lambda *arrays: function(axis, *arrays), *parts)  # noqa: E731
    return jax.tree.map(each, axes, *batches)
