"""The transformer agent: a causal transformer over the transitions of the episode, gated as in GTrXL.

Parisotto et al. 2020 (stabilizing transformers for reinforcement learning): layer norms on what the layers
read, gates as in a GRU where they are added. Each token is a transition: what was seen before and is seen
now, the action and reward between them, and the goal. A token attends to itself and to all earlier ones of
its episode; where it stands is told by rotating queries and keys (Su et al. 2021), so only differences count.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.random import Generator, default_rng

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings, Encoder
from rapidtask.agents.layers import LayerNorm, Linear, Mlp, to_device
from rapidtask.agents.rivals.recurrent import PolicyNetwork, input_width, look_up_steps, timestep_inputs
from rapidtask.agents.rivals.slots import SlotMemory, carry_rows, join_rows, step_of_episode, visible_rows
from rapidtask.agents.vision import Vision, make_encoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.errors import InputError
from rapidtask.options import Count, check_options

FIRST_GATE = 2.0
"""How far gates are closed before they learn: at first each layer passes on what it was given (GTrXL)."""


@dataclass(frozen=True)
class TransformerConfig:
    """The transformer agent."""

    embedding_width: Count = 64
    """Width of an observation's embedding, D."""
    width: Count = 128
    """Width of a token, and of each layer."""
    num_layers: Count = 2
    """Layers: attention, then a 2-layer MLP."""
    num_heads: Count = 4
    """Attention heads of a layer."""
    policy_width: Count = 200
    """Units of each layer of the policy network."""
    vision: Vision = "resnet"
    """Of frames: the paper's network, trained with the rest, or principal components fitted beforehand."""

    def __post_init__(self) -> None:
        check_options(self)
        if self.width % (2 * self.num_heads):
            raise InputError(f"width is {self.width}, not a multiple of twice num_heads, {self.num_heads}")

    def make(self, spec: EnvironmentSpec, seed: int) -> TransformerAgent:
        """Build the agent with fresh parameters, and memory for every step of an episode."""
        return TransformerAgent(self, spec, default_rng(seed))


class TransformerState(eqx.Module):
    """What a transformer carries: of each layer the keys and values of the episode's tokens."""

    layers: list[SlotMemory]
    observation: Int[Array, " B"]
    """What was seen at the last step."""


class Gate(eqx.Module):
    """A GRU's gates in place of a residual sum (GTrXL)."""

    of_new: Linear
    of_old: Linear
    candidate: Linear
    closed: Float[Array, " D"]

    def __init__(self, width: int, rng: Generator):
        self.of_new = Linear(width, 3 * width, rng, bias=False, scale=0.5**0.5)
        self.of_old = Linear(width, 2 * width, rng, bias=False, scale=0.5**0.5)
        self.candidate = Linear(width, width, rng, bias=False, scale=0.5**0.5)
        self.closed = to_device(np.full(width, FIRST_GATE))

    def __call__(self, old: Float[Array, "*B D"], new: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        """What to go on with, given what a layer was given and what it makes of it."""
        reset, update, candidate = jnp.split(self.of_new(new), 3, axis=-1)
        old_reset, old_update = jnp.split(self.of_old(old), 2, axis=-1)
        reset = jax.nn.sigmoid(reset + old_reset)
        update = jax.nn.sigmoid(update + old_update - self.closed)
        return (1 - update) * old + update * jnp.tanh(candidate + self.candidate(reset * old))


class Layer(eqx.Module):
    """Gated attention of tokens to those before them, then a gated MLP."""

    attention_norm: LayerNorm
    queries: Linear
    keys_and_values: Linear
    output: Linear
    attention_gate: Gate
    mlp_norm: LayerNorm
    mlp: Mlp
    mlp_gate: Gate
    num_heads: int = eqx.field(static=True)

    def __init__(self, width: int, num_heads: int, rng: Generator):
        self.attention_norm, self.mlp_norm = LayerNorm(width), LayerNorm(width)
        self.queries = Linear(width, width, rng, bias=False)
        self.keys_and_values = Linear(width, 2 * width, rng, bias=False)
        self.output = Linear(width, width, rng)
        self.mlp = Mlp((width, 2 * width, width), rng)
        self.attention_gate, self.mlp_gate = Gate(width, rng), Gate(width, rng)
        self.num_heads = num_heads

    def look(
        self, x: Float[Array, "*T B D"], position: Int[Array, "*T B"]
    ) -> tuple[Float[Array, "*T B D"], Float[Array, "*T B 2*D"]]:
        """What tokens ask, and the row each leaves to be asked: its key and value."""
        normal = self.attention_norm(x)
        key, value = jnp.split(self.keys_and_values(normal), 2, axis=-1)
        turn = lambda y: rotate(y, position, self.num_heads)  # noqa: E731
        return turn(self.queries(normal)), jnp.concatenate([turn(key), value], axis=-1)

    def __call__(
        self,
        x: Float[Array, "T B D"],
        queries: Float[Array, "T B D"],
        own: Float[Array, "T B 2*D"],
        rows: Float[Array, "B L 2*D"],
        mask: Bool[Array, "T B L"],
    ) -> Float[Array, "T B D"]:
        """Tokens after the layer: each attends to its own row and to those that it may see."""
        heads = lambda y: y.reshape(*y.shape[:2], self.num_heads, -1)  # noqa: E731
        queries = heads(queries) * (queries.shape[-1] / self.num_heads) ** -0.5
        (key, value), (own_key, own_value) = (map(heads, jnp.split(y, 2, axis=-1)) for y in (rows, own))
        scores = jnp.where(mask[:, :, None], jnp.einsum("tbhd,blhd->tbhl", queries, key), -jnp.inf)
        own_score = jnp.sum(queries * own_key, axis=-1, keepdims=True)
        weights = jax.nn.softmax(jnp.concatenate([scores, own_score], axis=-1))
        mixed = jnp.einsum("tbhl,blhd->tbhd", weights[..., :-1], value) + weights[..., -1:] * own_value
        x = self.attention_gate(x, jax.nn.relu(self.output(mixed.reshape(x.shape))))
        return self.mlp_gate(x, jax.nn.relu(self.mlp(self.mlp_norm(x))))


class TransformerAgent(Agent):
    """Tokens of transitions, gated layers of attention, policy and baseline from the last layer and x."""

    encoder: Encoder
    torso: Linear
    layers: list[Layer]
    policy: PolicyNetwork
    num_actions: int = eqx.field(static=True)
    num_slots: int = eqx.field(static=True)

    def __init__(self, config: TransformerConfig, spec: EnvironmentSpec, rng: Generator):
        # The inputs of every rival, and what was seen before.
        num_inputs = input_width(config.embedding_width, spec.num_actions) + config.embedding_width
        self.encoder = make_encoder(spec, config.embedding_width, rng, config.vision)
        self.torso = Linear(num_inputs, config.width, rng)
        self.layers = [Layer(config.width, config.num_heads, rng) for _ in range(config.num_layers)]
        self.policy = PolicyNetwork(config.width + num_inputs, config.policy_width, spec.num_actions, rng)
        self.num_actions, self.num_slots = spec.num_actions, spec.episode_steps

    def initial_state(self, batch_size: int) -> TransformerState:
        """See `Agent`."""
        width = self.torso.weight.shape[1]
        layers = [SlotMemory.zeros(batch_size, self.num_slots, 2 * width) for _ in self.layers]
        return TransformerState(layers, jnp.zeros(batch_size, jnp.int32))

    def step(
        self, state: TransformerState, timestep: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, TransformerState]:
        """See `Agent`."""
        inputs = self._inputs(timestep, state.observation, embeddings)
        x, layers = self.torso(inputs), []
        for layer, memory in zip(self.layers, state.layers, strict=True):
            memory = memory.forget(timestep.first)
            queries, row = layer.look(x, memory.count)
            x = layer(x[None], queries[None], row[None], memory.rows, memory.mask[None])[0]
            layers.append(memory.write(row))
        return self._output(x, inputs), TransformerState(layers, timestep.observation)

    def unroll(
        self, state: TransformerState, timesteps: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, TransformerState]:
        """See `Agent`: all steps at once, each under a mask that shows it what came before."""
        before = jnp.concatenate([state.observation[None], timesteps.observation[:-1]])
        inputs = self._inputs(timesteps, before, embeddings)
        x, layers, first = self.torso(inputs), [], timesteps.first
        mask = visible_rows(state.layers[0], first)
        position = step_of_episode(state.layers[0].count, first)
        for layer, memory in zip(self.layers, state.layers, strict=True):
            queries, new_rows = layer.look(x, position)
            x = layer(x, queries, new_rows, join_rows(memory, new_rows), mask)
            layers.append(carry_rows(memory, new_rows, first))
        return self._output(x, inputs), TransformerState(layers, timesteps.observation[-1])

    def _inputs(
        self, timesteps: TimeStep, before: Int[Array, "*T B"], embeddings: Embeddings
    ) -> Float[Array, "*T B I"]:
        """The inputs of every rival, and what was seen before: nothing at an episode's first timestep."""
        seen = look_up_steps(embeddings, before) * ~timesteps.first[..., None]
        return jnp.concatenate([timestep_inputs(timesteps, embeddings, self.num_actions), seen], axis=-1)

    def _output(self, x: Float[Array, "*T B D"], inputs: Float[Array, "*T B I"]) -> AgentOutput:
        return self.policy(jnp.concatenate([x, inputs], axis=-1))


def rotate(
    x: Float[Array, "*B D"], position: Int[Array, "*B"], num_heads: int, longest: float = 1000.0
) -> Float[Array, "*B D"]:
    """Turn pairs of a head's numbers by the position times a frequency, from 1 down to 1 / `longest`."""
    heads = x.reshape(*x.shape[:-1], num_heads, 2, -1)
    frequency = longest ** -(jnp.arange(heads.shape[-1]) / heads.shape[-1])
    angle = (position[..., None] * frequency)[..., None, :]
    a, b = heads[..., 0, :], heads[..., 1, :]
    turned = jnp.stack([a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -2)
    return turned.reshape(x.shape)
