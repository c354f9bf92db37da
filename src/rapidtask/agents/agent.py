"""The interface of every agent: `initial_state`, `step`, `unroll`, all over a batch of environments.

An agent sees timesteps (ids of observations, its previous action and reward) and the embeddings of the
observation table, never the World. Everything is batched, because what a batch shares (how full its
memories are, for one) decides how much there is to compute.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from rapidtask.agents.encoders import Embeddings, Encoder
from rapidtask.agents.fast_gradients import add_to_rows, product
from rapidtask.envs.environment import TimeStep

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
    beliefs: Float[Array, "I *B N D"] | None = None
    """Every row of a planner over memory rows after every iteration, for analysis."""

    def without_beliefs(self) -> AgentOutput:
        """The output without the planner's rows, whose axes differ from the others'."""
        return AgentOutput(self.logits, self.value, self.auxiliary_loss)


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

    def embed(self, frames: Array | None = None) -> Embeddings:
        """Embed the observation table with the current weights: once per parameter update, not per step."""
        return self.encoder(frames)


def where_first(first: Bool[Array, " B"], fresh: AgentState, state: AgentState) -> AgentState:
    """The fresh state for environments whose episode starts here, the carried one for the others."""
    return jax.tree.map(
        lambda new, old: jnp.where(first.reshape(first.shape + (1,) * (old.ndim - 1)), new, old), fresh, state
    )


class Mlp(eqx.Module):
    """Dense layers with ReLU in between, on the last axis of any array."""

    layers: list[Linear]

    def __init__(self, sizes: tuple[int, ...], key: PRNGKeyArray):
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = [Linear(i, o, k) for i, o, k in zip(sizes[:-1], sizes[1:], keys, strict=True)]

    def __call__(self, x: Float[Array, "*B I"]) -> Float[Array, "*B O"]:
        """Apply the layers."""
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)


class Linear(eqx.Module):
    """x W + b on the last axis of any array, weight `[I, O]`.

    Leading axes are flattened into one product: XLA's CPU back end runs that several times faster than a
    product with batch axes.
    """

    weight: Float[Array, "I O"]
    bias: Float[Array, " O"] | None

    def __init__(
        self, num_in: int, num_out: int, key: PRNGKeyArray, *, bias: bool = True, scale: float = 1.0
    ):
        # Truncated normal of variance scale² / fan-in, as Sonnet and Haiku initialise.
        self.weight = scale * jax.random.truncated_normal(key, -2, 2, (num_in, num_out)) / jnp.sqrt(num_in)
        self.bias = jnp.zeros(num_out) if bias else None

    def __call__(self, x: Float[Array, "*B I"]) -> Float[Array, "*B O"]:
        """Apply the layer."""
        y = product(x.reshape(-1, x.shape[-1]), self.weight)
        if self.bias is not None:
            y = add_to_rows(y, self.bias)
        return y.reshape(*x.shape[:-1], -1)
