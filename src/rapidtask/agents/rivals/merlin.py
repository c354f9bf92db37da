"""A MERLIN-style agent: what it writes to memory is learned by having to reconstruct what it saw.

Wayne et al. 2018 (MERLIN), in the deterministic form of Hung et al. 2019 (RMA): a latent z of the inputs and
of the controller's last state and reads is trained to reconstruct observation, goal, previous action and
reward; z is written to an external memory at every step; a 2-layer LSTM reads it by cosine similarity.
docs/rivals.md has the equations and all the deviations.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from numpy.random import Generator, default_rng

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings, Encoder
from rapidtask.agents.layers import Linear
from rapidtask.agents.rivals.recurrent import (
    LSTM,
    LSTMState,
    PolicyNetwork,
    forget,
    input_width,
    timestep_inputs,
)
from rapidtask.agents.rivals.slots import (
    SlotMemory,
    attention_weights,
    join_rows,
    match_rows,
    sum_rows,
    visible_rows,
)
from rapidtask.agents.vision import Vision, make_encoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.options import Count, CountOrZero, Share, Weight, check_options


@dataclass(frozen=True)
class MerlinConfig:
    """The MERLIN-style agent."""

    embedding_width: Count = 64
    """Width of an observation's embedding, D."""
    width: Count = 256
    """Units of each of the controller's two LSTM layers."""
    latent_width: Count = 200
    """Width of the latent z, and of a memory row."""
    num_heads: Count = 3
    """Read heads."""
    top_k: CountOrZero = 0
    """Rows that a head may read at once, the best matching ones (RMA: 50); 0 for all, as MERLIN."""
    retroactive: bool = True
    """Whether a row is also given a discounted sum of the latents that follow it, as in MERLIN."""
    retroactive_discount: Share = 0.9
    """Discount of that sum, per step."""
    reconstruction_cost: Weight = 1.0
    """Weight of the reconstruction losses."""
    policy_width: Count = 200
    """Units of each layer of the policy network."""
    vision: Vision = "resnet"
    """Of frames: the paper's network, trained with the rest, or principal components fitted beforehand."""

    def __post_init__(self) -> None:
        check_options(self)

    def make(self, spec: EnvironmentSpec, seed: int) -> MerlinAgent:
        """Build the agent with fresh parameters and a memory of one row per step of an episode."""
        return MerlinAgent(self, spec, default_rng(seed))


class ControllerState(eqx.Module):
    """What goes from step to step apart from the memory."""

    lower: LSTMState
    upper: LSTMState
    reads: Float[Array, "B M"]
    """What the heads read at the last step."""


class MerlinState(eqx.Module):
    """State of a MERLIN-style agent."""

    controller: ControllerState
    memory: SlotMemory
    """Rows: the latents."""


class View(eqx.Module):
    """The memory as one step sees it."""

    rows: Float[Array, "B L W"]
    scale: Float[Array, "B L"]
    """1 / length of each row, which turns products into cosines."""
    mask: Bool[Array, "B L"]
    """Which rows can be read."""


class StepOutput(eqx.Module):
    """What one step of the controller gives."""

    latent: Float[Array, "*T B W"]
    hidden: Float[Array, "*T B 2*H"]
    reads: Float[Array, "*T B M"]


class MerlinAgent(Agent):
    """z = f(x, h⁻, m⁻); h = LSTM²(z); m = read(memory, h); memory ← z; policy and baseline from [z, h, m]."""

    encoder: Encoder
    latent_inputs: Linear
    latent_context: Linear
    latent_output: Linear
    lower: LSTM
    upper: LSTM
    keys: Linear
    policy: PolicyNetwork
    decode_observation: Linear
    decode_goal: Linear
    decode_action: Linear
    decode_reward: Linear
    config: MerlinConfig = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_slots: int = eqx.field(static=True)

    def __init__(self, config: MerlinConfig, spec: EnvironmentSpec, rng: Generator):
        latent, width, embedding = config.latent_width, config.width, config.embedding_width
        num_actions = spec.num_actions
        self.config, self.num_actions, self.num_slots = config, num_actions, spec.episode_steps
        num_inputs = input_width(embedding, num_actions)
        num_context = 2 * width + config.num_heads * self.read_width
        share = num_inputs / (num_inputs + num_context)
        self.encoder = make_encoder(spec, embedding, rng, config.vision)
        self.latent_inputs = Linear(num_inputs, 2 * latent, rng, scale=share**0.5)
        self.latent_context = Linear(num_context, 2 * latent, rng, bias=False, scale=(1 - share) ** 0.5)
        self.latent_output = Linear(2 * latent, latent, rng)
        self.lower = LSTM(latent, width, rng)
        self.upper = LSTM(latent + width, width, rng)
        self.keys = Linear(2 * width, config.num_heads * (self.read_width + 1), rng)
        self.policy = PolicyNetwork(latent + num_context, config.policy_width, num_actions, rng)
        self.decode_observation = Linear(latent, embedding, rng)
        self.decode_goal = Linear(latent, embedding, rng)
        self.decode_action = Linear(latent, num_actions, rng)
        self.decode_reward = Linear(latent, 1, rng)

    @property
    def read_width(self) -> int:
        """Width of what one head reads: a latent, and with retroactive writes the sum of those after it."""
        return self.config.latent_width * (2 if self.config.retroactive else 1)

    def initial_state(self, batch_size: int) -> MerlinState:
        """See `Agent`."""
        lstm = LSTMState.zeros(batch_size, self.config.width)
        reads = jnp.zeros((batch_size, self.config.num_heads * self.read_width))
        memory = SlotMemory.zeros(batch_size, self.num_slots, self.config.latent_width)
        return MerlinState(ControllerState(lstm, lstm, reads), memory)

    def step(
        self, state: MerlinState, timestep: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, MerlinState]:
        """See `Agent`; without the reconstruction loss."""
        x = timestep_inputs(timestep, embeddings, self.num_actions)
        state, output = self._write_step(state, timestep.first, self.latent_inputs(x))
        return self._policy(output), state

    def unroll(
        self, state: MerlinState, timesteps: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, MerlinState]:
        """See `Agent`. Two scans: the first finds the rows, the second has gradients (`slots` says why)."""
        first = timesteps.first
        x = self.latent_inputs(timestep_inputs(timesteps, embeddings, self.num_actions))
        frozen, still = jax.lax.stop_gradient((self, x))

        def write(state: MerlinState, inputs: tuple[Array, Array]) -> tuple[MerlinState, Array]:
            state, output = frozen._write_step(state, *inputs)
            return state, output.latent

        after, latents = jax.lax.scan(write, state, (first, still))

        rows = jax.lax.stop_gradient(join_rows(state.memory, latents))
        scale = inverse_lengths(rows)

        def read(
            controller: ControllerState, inputs: tuple[Array, Array, Array]
        ) -> tuple[ControllerState, StepOutput]:
            first, x, mask = inputs
            return self._control(forget(first, controller), x, View(rows, scale, mask))

        mask = visible_rows(state.memory, first)
        controller, output = jax.lax.scan(read, state.controller, (first, x, mask))
        loss = self.config.reconstruction_cost * self.reconstruction_loss(
            output.latent, timesteps, embeddings
        )
        return self._policy(output, loss), MerlinState(controller, after.memory)

    def reconstruction_loss(
        self, latent: Float[Array, "T B W"], timesteps: TimeStep, embeddings: Embeddings
    ) -> Float[Array, "T B"]:
        """How badly the latent tells what was seen: nats for ids, squared error for the reward.

        An observation is reconstructed up to which entry of the world's table it is, for symbols and frames
        alike.
        """
        equation = "tbd,vd->tbv" if embeddings.table.ndim == 2 else "tbd,bvd->tbv"

        def nats(logits: Float[Array, "T B K"], ids: Array) -> Float[Array, "T B"]:
            chosen = jnp.sum(logits * jax.nn.one_hot(ids, logits.shape[-1]), -1)
            return jax.nn.logsumexp(logits, axis=-1) - chosen

        def table_nats(decoded: Float[Array, "T B D"], ids: Array) -> Float[Array, "T B"]:
            return nats(jnp.einsum(equation, decoded, embeddings.table), ids)

        observation = table_nats(self.decode_observation(latent), timesteps.observation)
        goal = table_nats(self.decode_goal(latent), timesteps.goal)
        action = jnp.where(timesteps.first, 0, nats(self.decode_action(latent), timesteps.action))
        reward = 0.5 * jnp.square(self.decode_reward(latent)[..., 0] - timesteps.reward)
        return observation + goal + action + reward

    def _write_step(
        self, state: MerlinState, first: Bool[Array, " B"], x: Float[Array, "B K"]
    ) -> tuple[MerlinState, StepOutput]:
        """Read the memory as it was, then write the step's own latent, without gradient."""
        memory = state.memory.forget(first)
        view = View(memory.rows, inverse_lengths(memory.rows), memory.mask)
        controller, output = self._control(forget(first, state.controller), x, view)
        return MerlinState(controller, memory.write(jax.lax.stop_gradient(output.latent))), output

    def _control(
        self, state: ControllerState, x: Float[Array, "B K"], view: View
    ) -> tuple[ControllerState, StepOutput]:
        """One step of latent, controller and reads."""
        context = jnp.concatenate([state.lower.hidden, state.upper.hidden, state.reads], axis=-1)
        latent = self.latent_output(jnp.tanh(x + self.latent_context(context)))
        lower = self.lower(state.lower, self.lower.inputs(latent))
        upper_inputs = jnp.concatenate([latent, lower.hidden], axis=-1)
        upper = self.upper(state.upper, self.upper.inputs(upper_inputs))
        hidden = jnp.concatenate([lower.hidden, upper.hidden], axis=-1)
        reads = self.read(self.keys(hidden), view)
        return ControllerState(lower, upper, reads), StepOutput(latent, hidden, reads)

    def read(self, keys: Float[Array, "B K"], view: View) -> Float[Array, "B M"]:
        """Read by cosine similarity: `keys` holds every head's key, then every head's strength."""
        config = self.config
        batch_size, num_heads, width = keys.shape[0], config.num_heads, config.latent_width
        strength = jax.nn.softplus(keys[:, -num_heads:])[..., None]
        key = keys[:, :-num_heads].reshape(batch_size, num_heads, self.read_width)
        key = key * inverse_lengths(key)[..., None]
        visible = view.mask[:, None]
        scores = match_rows(key[..., :width], view.rows) * view.scale[:, None]
        if config.retroactive:
            later = later_rows(view.rows.shape[1], config.retroactive_discount)
            matches = match_rows(key[..., width:], view.rows) * view.scale[:, None]
            scores = scores + jnp.where(visible, matches, 0) @ later.T
        weights = attention_weights(strength * scores, view.mask, config.top_k or None)
        if config.retroactive:
            # The sum of later rows is linear in the rows: weigh those instead of keeping the sums.
            weights = jnp.concatenate([weights, jnp.where(visible, weights @ later, 0)], axis=1)
        return sum_rows(weights, view.rows).reshape(batch_size, -1)

    def _policy(self, output: StepOutput, loss: Float[Array, "*T B"] | None = None) -> AgentOutput:
        return self.policy(jnp.concatenate([output.latent, output.hidden, output.reads], axis=-1), loss)


def inverse_lengths(rows: Float[Array, "*B W"]) -> Float[Array, "*B"]:
    """1 / length of each row."""
    return jax.lax.rsqrt(jnp.sum(jnp.square(rows), axis=-1) + 1e-6)


def later_rows(num_rows: int, discount: float) -> Float[Array, "L L"]:
    """Share of row j in the retroactive half of row i: (1 - γ) γ^(j - i - 1) for j > i, else 0."""
    later = jnp.arange(num_rows) - jnp.arange(num_rows)[:, None]
    return jnp.where(later > 0, (1 - discount) * discount ** (later - 1.0), 0.0)
