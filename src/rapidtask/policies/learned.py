"""A learned agent as a policy, so that it is evaluated like every other."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from rapidtask.agents.agent import Agent
from rapidtask.envs.environment import Environment, EnvState, TimeStep
from rapidtask.policies.policy import Policy


class LearnedPolicy(Policy):
    """Draws actions from an agent's logits, or takes the likeliest."""

    agent: Agent
    greedy: bool = eqx.field(static=True, default=False)

    def initial_batch(self, batch_size: int) -> Any:
        """See `Policy`."""
        return self.agent.initial_state(batch_size)

    def step_batch(self, memory: Any, timestep: TimeStep, keys: PRNGKeyArray, env_states: EnvState):
        """See `Policy`."""
        del env_states  # agents never see it
        # The embedding of the table does not depend on the step: XLA moves it out of the loop.
        output, memory = self.agent.step(memory, timestep, self.agent.embed())
        if self.greedy:
            return jnp.argmax(output.logits, axis=-1).astype(jnp.int32), memory
        return jax.vmap(jax.random.categorical)(keys, output.logits).astype(jnp.int32), memory


def make_learned_policy(agent: Agent, environment: Environment, *, greedy: bool = False) -> LearnedPolicy:
    """An agent as a policy for an environment."""
    return LearnedPolicy(environment.rules, environment.num_observations, agent, greedy)
