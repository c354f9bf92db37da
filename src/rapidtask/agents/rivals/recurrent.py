"""What the rivals share: their inputs, the LSTM cell, the policy network."""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from numpy.random import Generator

from rapidtask.agents.agent import AgentOutput, where_first
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.layers import Linear, Mlp
from rapidtask.envs.environment import TimeStep

State = TypeVar("State")


def look_up_steps(embeddings: Embeddings, ids: Int[Array, "*T B"]) -> Float[Array, "*T B D"]:
    """Embeddings of ids `[B]` or `[T, B]`, where `Embeddings.look_up` wants the environment first."""
    if ids.ndim == 1 or embeddings.table.ndim == 2:
        return embeddings.look_up(ids)
    return jnp.swapaxes(embeddings.look_up(jnp.swapaxes(ids, 0, 1)), 0, 1)


def input_width(embedding_width: int, num_actions: int) -> int:
    """Width of `timestep_inputs`."""
    return 2 * embedding_width + num_actions + 1


def timestep_inputs(timesteps: TimeStep, embeddings: Embeddings, num_actions: int) -> Float[Array, "*T B I"]:
    """What a recurrent agent is fed: observation, goal, previous action (one-hot), previous reward.

    No action led to the first timestep of an episode: its one-hot is zero.
    """
    action = jax.nn.one_hot(jnp.where(timesteps.first, -1, timesteps.action), num_actions)
    return jnp.concatenate(
        [
            look_up_steps(embeddings, timesteps.observation),
            look_up_steps(embeddings, timesteps.goal),
            action,
            timesteps.reward[..., None],
        ],
        axis=-1,
    )


class LSTMState(eqx.Module):
    """What an LSTM carries."""

    hidden: Float[Array, "B H"]
    """Its output."""
    cell: Float[Array, "B H"]
    """Its memory cells."""

    @staticmethod
    def zeros(batch_size: int, width: int) -> LSTMState:
        """The state before an episode."""
        return LSTMState(jnp.zeros((batch_size, width)), jnp.zeros((batch_size, width)))


class LSTM(eqx.Module):
    """One LSTM layer, forget bias 1. Inputs are projected apart, so that a sequence's are in one product."""

    inputs: Linear
    recurrent: Linear

    def __init__(self, num_in: int, width: int, rng: Generator):
        self.inputs = Linear(num_in, 4 * width, rng, scale=(num_in / (num_in + width)) ** 0.5)
        self.recurrent = Linear(width, 4 * width, rng, bias=False, scale=(width / (num_in + width)) ** 0.5)

    def __call__(self, state: LSTMState, projected: Float[Array, "B 4*H"]) -> LSTMState:
        """Advance by one step, given `self.inputs(x)`."""
        gates = projected + self.recurrent(state.hidden)
        write, forget, update, output = jnp.split(gates, 4, axis=-1)
        cell = jax.nn.sigmoid(forget + 1) * state.cell + jax.nn.sigmoid(write) * jnp.tanh(update)
        return LSTMState(jax.nn.sigmoid(output) * jnp.tanh(cell), cell)


def forget(first: Bool[Array, " B"], state: State) -> State:
    """Zero the state (any pytree with a leading batch axis) of environments whose episode starts here."""
    return where_first(first, jax.tree.map(jnp.zeros_like, state), state)


class PolicyNetwork(eqx.Module):
    """The form of the paper's policy network: a 2-layer MLP, ReLU, linear policy and baseline heads."""

    torso: Mlp
    logits: Linear
    value: Linear

    def __init__(self, num_in: int, width: int, num_actions: int, rng: Generator):
        self.torso = Mlp((num_in, width, width), rng)
        # Small, so that every agent starts with a nearly uniform policy.
        self.logits = Linear(width, num_actions, rng, scale=0.1)
        self.value = Linear(width, 1, rng, scale=0.1)

    def __call__(
        self, x: Float[Array, "*B I"], auxiliary_loss: Float[Array, "*B"] | None = None
    ) -> AgentOutput:
        """The agent's output, given what it knows."""
        features = jax.nn.relu(self.torso(x))
        loss = jnp.zeros(x.shape[:-1]) if auxiliary_loss is None else auxiliary_loss
        return AgentOutput(self.logits(features), self.value(features)[..., 0], loss)
