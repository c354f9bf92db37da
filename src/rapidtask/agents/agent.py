"""The interface of every agent: `initial_state`, `step`, `unroll`, all over a batch of environments.

An agent sees timesteps (ids of observations, its previous action and reward) and the embeddings of the
observation table, never the World. Everything is batched, because what a batch shares (how full its
memories are, for one) decides how much there is to compute.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from rapidtask.agents.encoders import Embeddings, Encoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep

AgentState = Any
"""What an agent carries from step to step: a pytree with a leading batch axis."""


class AgentOutput(eqx.Module):
    """What an agent makes of one timestep."""

    logits: Float[Array, "*B A"]
    """Unnormalised log-probabilities of the actions."""
    value: Float[Array, "*B"]
    """Baseline: expected discounted return."""
    auxiliary_loss: Float[Array, "*B"]
    """The agent's own losses at this step (reconstruction, contrastive); only `unroll` need fill it."""


class Agent(eqx.Module):
    """A learned agent.

    Implementations hold their parameters and give `initial_state` and `step`; `unroll` scans `step` unless
    an agent can do better (the EPN is not recurrent: it evaluates all steps at once).
    """

    encoder: eqx.AbstractVar[Encoder]

    def initial_state(self, batch_size: int) -> AgentState:
        """State before the first step of a run. Episodes reset themselves at `timestep.first`."""
        raise NotImplementedError

    def step(
        self, state: AgentState, timestep: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, AgentState]:
        """One timestep `[B]` of every environment."""
        raise NotImplementedError

    def unroll(
        self, state: AgentState, timesteps: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, AgentState]:
        """Timesteps `[T, B]` in order; equal to repeated `step`, episodes ending anywhere."""

        def step(state: AgentState, timestep: TimeStep) -> tuple[AgentState, AgentOutput]:
            output, state = self.step(state, timestep, embeddings)
            return state, output

        state, outputs = jax.lax.scan(step, state, timesteps)
        return outputs, state

    def for_rollout(self, key: PRNGKeyArray) -> Self:
        """The agent as it is to act and to learn in one rollout; most are the same in all."""
        return self

    def after_rollout(self) -> Self:
        """The agent as it is between rollouts."""
        return self

    def embed(self, frames: Array | None = None) -> Embeddings:
        """Embed the observation table with the current weights: once per parameter update, not per step."""
        return self.encoder(frames)


class AgentConfig(Protocol):
    """Options of an agent: a dataclass that can make it with fresh weights."""

    def make(self, spec: EnvironmentSpec, seed: int) -> Agent:
        """Build the agent for environments of such a shape."""
        ...


def where_first(first: Bool[Array, " B"], fresh: AgentState, state: AgentState) -> AgentState:
    """The fresh state for environments whose episode starts here, the carried one for the others."""
    return jax.tree.map(
        lambda new, old: jnp.where(first.reshape(first.shape + (1,) * (old.ndim - 1)), new, old), fresh, state
    )
