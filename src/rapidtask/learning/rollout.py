"""Rollouts: what the actors do between two rounds of learning."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent
from rapidtask.agents.encoders import Embeddings
from rapidtask.envs.environment import Environment, EnvState, TimeStep


class Actors(eqx.Module):
    """B environments and what the agent remembers of each; carried from rollout to rollout."""

    env_states: EnvState
    timestep: TimeStep
    agent_state: Any
    keys: PRNGKeyArray
    """One key per environment for its actions, so that they do not depend on the batch."""
    steps: Int[Array, " B"]
    """Actions taken so far."""


class Rollout(eqx.Module):
    """T actions of B environments."""

    timesteps: TimeStep
    """`[T + 1, B]`: what each action was chosen on, and what the last one led to."""
    actions: Int[Array, "T B"]
    log_probability: Float[Array, "T B"]
    """Log-probability of each action when it was taken."""
    values: Float[Array, "T1 B"]
    """Baseline of each timestep when it was acted on."""
    agent_state: Any
    """What the agent remembered before the first timestep."""
    frame_ids: Int[Array, "B V"] | None = None
    """In pixel worlds: the frame that each observation id stood for, the same for all T actions."""

    @property
    def valid(self) -> Float[Array, "T B"]:
        """1 where the action had an effect: it has none after a last timestep."""
        return 1.0 - self.timesteps.last[:-1]

    @property
    def rewards(self) -> Float[Array, "T B"]:
        """Reward of each action."""
        return self.timesteps.reward[1:]

    def discounts(self, gamma: float) -> Float[Array, "T B"]:
        """Discount after each action; 0 where an episode's end separates it from what follows."""
        return gamma * self.timesteps.discount[1:] * self.valid


def start_actors(
    environment: Environment, agent: Agent, keys: PRNGKeyArray, *, stagger: bool = False
) -> Actors:
    """One environment per key, each at the start of an episode; staggered, of one that will be cut short."""
    env_keys, action_keys = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    env_states, timestep = environment.reset_batch(env_keys)
    if stagger:
        cut = jnp.arange(len(keys)) * environment.episode.episode_steps // len(keys)
        env_states = eqx.tree_at(lambda s: s.steps, env_states, cut.astype(jnp.int32))
    steps = jnp.zeros(len(keys), jnp.int32)
    return Actors(env_states, timestep, agent.initial_state(len(keys)), action_keys, steps)


def collect(environment: Environment, agent: Agent, actors: Actors, num_steps: int) -> tuple[Rollout, Actors]:
    """Let the agent act for T steps in every environment."""
    frame_ids = environment.frames_of(actors.env_states)
    embeddings = embed_table(agent, environment, frame_ids)

    def act(actors: Actors, t: Int[Array, ""]):
        output, agent_state = agent.step(actors.agent_state, actors.timestep, embeddings)
        keys = jax.vmap(jax.random.fold_in)(actors.keys, actors.steps)
        action = jax.vmap(jax.random.categorical)(keys, output.logits).astype(jnp.int32)
        log_probability = log_probability_of(output.logits, action)
        env_states, timestep = environment.step_batch(actors.env_states, action)
        new = Actors(env_states, timestep, agent_state, actors.keys, actors.steps + 1)
        new = jax.tree.map(lambda new, old: jnp.where(t < num_steps, new, old), new, actors)
        return new, (actors.timestep, action, log_probability, output.value)

    start = actors.agent_state
    # What the last action led to is acted on as well, without effect, for its baseline: in the same loop, as
    # the agent's programs take long to compile.
    actors, (timesteps, actions, log_probability, values) = jax.lax.scan(
        act, actors, jnp.arange(num_steps + 1)
    )
    return Rollout(timesteps, actions[:-1], log_probability[:-1], values, start, frame_ids), actors


def embed_table(
    agent: Agent, environment: Environment | None, frame_ids: Int[Array, "B V"] | None
) -> Embeddings:
    """The observation table embedded with the current weights: of symbols one for all, of frames one each."""
    if frame_ids is None:
        return agent.embed()
    assert environment is not None
    pool = environment.pool
    # One environment after the other: the features of all frames at once would be gigabytes.
    return jax.lax.map(lambda ids: agent.embed(pool.look_up_frames(ids)), frame_ids)


def log_probability_of(logits: Float[Array, "*B A"], actions: Int[Array, "*B"]) -> Float[Array, "*B"]:
    """Log-probability of the actions."""
    log_probability = jax.nn.log_softmax(logits)
    return jnp.sum(log_probability * jax.nn.one_hot(actions, logits.shape[-1]), axis=-1)
