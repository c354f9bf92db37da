"""A learned agent as a policy, so that it is evaluated like every other."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from rapidtask.agents.agent import Agent
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import Environment, EnvState, TimeStep
from rapidtask.errors import InputError
from rapidtask.policies.policy import Policy
from rapidtask.worlds.world import WorldPool


class LearnedPolicy(Policy):
    """Draws actions from an agent's logits, or takes the likeliest."""

    agent: Agent
    greedy: bool = eqx.field(static=True, default=False)
    pool: WorldPool | None = None
    """Where the frames of pixel worlds are; None for symbols."""

    def start_batch(self, env_states: EnvState) -> Any:
        """See `Policy`. Frames are embedded here, once per episode, and remembered with the rest."""
        state, pool = self.agent.initial_state(len(env_states.state)), self.pool
        if pool is None:
            return state, None
        # One environment after the other: a batch's frames and their features at once would be gigabytes.
        embed = lambda world: self.agent.embed(pool.look_up_frames(pool.frames_of(world)))  # noqa: E731
        return state, jax.lax.map(embed, env_states.world)

    def step_batch(self, memory: Any, timestep: TimeStep, keys: PRNGKeyArray, env_states: EnvState):
        """See `Policy`."""
        del env_states  # agents never see it
        state, embeddings = memory
        # The embedding of symbols does not depend on the step: XLA moves it out of the loop.
        seen = self.agent.embed() if embeddings is None else embeddings
        output, state = self.agent.step(state, timestep, seen)
        if self.greedy:
            actions = jnp.argmax(output.logits, axis=-1)
        else:
            actions = jax.vmap(jax.random.categorical)(keys, output.logits)
        return actions.astype(jnp.int32), (state, embeddings)


def make_learned_policy(agent: Agent, environment: Environment, *, greedy: bool = False) -> LearnedPolicy:
    """An agent as a policy for an environment."""
    sees = isinstance(agent.encoder, PixelEncoder)
    if sees and not environment.has_frames:
        raise InputError("the agent sees pixels: its world needs frames (--world.frames DIR)")
    # An agent of symbols may act in a pixel world: ids are all it looks at.
    pool = environment.pool if sees else None
    return LearnedPolicy(environment.rules, environment.num_observations, agent, greedy, pool)
