"""An MRA-style agent: working memory (LSTM), episodic slots with learned keys, contrastive predictions.

Fortunato et al. 2019 (Memory Recall Agent). A slot keeps a step's input embedding and LSTM output under a
learned key; a query reads the nearest slots; contrastive predictive coding (van den Oord et al. 2018) makes
the LSTM's output tell the coming observations from others. docs/rivals.md has equations and deviations.
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
    look_up_steps,
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
from rapidtask.options import Count, CountOrZero, Weight, check_options


@dataclass(frozen=True)
class MRAConfig:
    """The MRA-style agent."""

    embedding_width: Count = 64
    """Width of an observation's embedding, D."""
    torso_width: Count = 256
    """Width of a step's input embedding, the first part of a slot."""
    width: Count = 256
    """Units of the LSTM, the second part of a slot."""
    key_width: Count = 64
    """Width of keys and queries."""
    top_k: CountOrZero = 10
    """Slots read at once, the nearest by key; 0 for all."""
    prediction_steps: CountOrZero = 10
    """How many steps ahead the contrastive loss predicts; 0 for no such loss."""
    prediction_width: Count = 64
    """Width in which predictions are compared with what came."""
    prediction_cost: Weight = 0.1
    """Weight of the contrastive loss."""
    policy_width: Count = 200
    """Units of each layer of the policy network."""
    vision: Vision = "resnet"
    """Of frames: the paper's network, trained with the rest, or principal components fitted beforehand."""

    def __post_init__(self) -> None:
        check_options(self)

    def make(self, spec: EnvironmentSpec, seed: int) -> MRAAgent:
        """Build the agent with fresh parameters and one slot per step of an episode."""
        return MRAAgent(self, spec, default_rng(seed))


class MRAState(eqx.Module):
    """State of an MRA-style agent."""

    lstm: LSTMState
    keys: SlotMemory
    """Keys of the slots."""
    values: SlotMemory
    """Contents of the slots: input embedding and LSTM output."""


class StepOutput(eqx.Module):
    """What one step gives."""

    hidden: Float[Array, "*T B H"]
    read: Float[Array, "*T B E+H"]


class StepInputs(eqx.Module):
    """What one step takes, its products with the input embedding done ahead for the whole sequence."""

    first: Bool[Array, "*T B"]
    embedding: Float[Array, "*T B E"]
    query: Float[Array, "*T B K"]
    gates: Float[Array, "*T B 4*H"]


class MRAAgent(Agent):
    """m = read(q(e, h⁻)); h = LSTM(h⁻, [e, m]); slot ← [e, h] under k(e, h); policy, value: [h, m, x]."""

    encoder: Encoder
    torso: Linear
    lstm: LSTM
    lstm_reads: Linear
    query_inputs: Linear
    query_context: Linear
    key: Linear
    policy: PolicyNetwork
    predict: Linear | None
    target: Linear | None
    config: MRAConfig = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_slots: int = eqx.field(static=True)

    def __init__(self, config: MRAConfig, spec: EnvironmentSpec, rng: Generator):
        torso, width, num_actions = config.torso_width, config.width, spec.num_actions
        num_inputs = input_width(config.embedding_width, num_actions)
        slot = torso + width
        self.config, self.num_actions, self.num_slots = config, num_actions, spec.episode_steps
        self.encoder = make_encoder(spec, config.embedding_width, rng, config.vision)
        self.torso = Linear(num_inputs, torso, rng)
        self.lstm = LSTM(torso, width, rng)
        self.lstm_reads = Linear(slot, 4 * width, rng, bias=False, scale=0.5**0.5)
        self.query_inputs = Linear(torso, config.key_width, rng)
        self.query_context = Linear(width, config.key_width, rng, bias=False)
        # No bias: it would add the same to every slot's score.
        self.key = Linear(slot, config.key_width, rng, bias=False)
        self.policy = PolicyNetwork(width + slot + num_inputs, config.policy_width, num_actions, rng)
        self.predict = self.target = None
        if config.prediction_steps:
            outputs = config.prediction_steps * config.prediction_width
            self.predict = Linear(width, outputs, rng)
            self.target = Linear(config.embedding_width, config.prediction_width, rng, bias=False)

    def initial_state(self, batch_size: int) -> MRAState:
        """See `Agent`."""
        config = self.config
        return MRAState(
            LSTMState.zeros(batch_size, config.width),
            SlotMemory.zeros(batch_size, self.num_slots, config.key_width),
            SlotMemory.zeros(batch_size, self.num_slots, config.torso_width + config.width),
        )

    def step(
        self, state: MRAState, timestep: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, MRAState]:
        """See `Agent`; without the contrastive loss, which needs the future."""
        x = timestep_inputs(timestep, embeddings, self.num_actions)
        state, output = self._write_step(state, self._prepare(x, timestep.first))
        return self._policy(output, x), state

    def unroll(
        self, state: MRAState, timesteps: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, MRAState]:
        """See `Agent`. Two scans: the first finds the slots, the second has gradients (`slots` says why).

        Gradients go from a read to the keys and to the input embeddings in the slots (the paper's jumpy
        backpropagation), but not on into the LSTM outputs there.
        """
        x = timestep_inputs(timesteps, embeddings, self.num_actions)
        inputs = self._prepare(x, timesteps.first)
        frozen, still = jax.lax.stop_gradient((self, inputs))

        def write(state: MRAState, inputs: StepInputs) -> tuple[MRAState, Array]:
            state, output = frozen._write_step(state, inputs)
            return state, output.hidden

        after, hidden = jax.lax.scan(write, state, still)
        slots = join_slot(inputs.embedding, hidden)
        keys, values = join_rows(state.keys, self.key(slots)), join_rows(state.values, slots)

        def read(lstm: LSTMState, step: tuple[StepInputs, Array]) -> tuple[LSTMState, StepOutput]:
            inputs, mask = step
            lstm = forget(inputs.first, lstm)
            return self._control(lstm, inputs, keys, values, mask)

        mask = visible_rows(state.keys, timesteps.first)
        lstm, output = jax.lax.scan(read, state.lstm, (inputs, mask))
        loss = self._prediction_loss(output.hidden, timesteps, embeddings)
        return self._policy(output, x, loss), MRAState(lstm, after.keys, after.values)

    def _prepare(self, x: Float[Array, "*T B I"], first: Bool[Array, "*T B"]) -> StepInputs:
        embedding = jax.nn.relu(self.torso(x))
        return StepInputs(first, embedding, self.query_inputs(embedding), self.lstm.inputs(embedding))

    def _write_step(self, state: MRAState, inputs: StepInputs) -> tuple[MRAState, StepOutput]:
        """Read the slots as they were, then write the step's own."""
        keys, values = state.keys.forget(inputs.first), state.values.forget(inputs.first)
        lstm = forget(inputs.first, state.lstm)
        lstm, output = self._control(lstm, inputs, keys.rows, values.rows, keys.mask)
        slot = join_slot(inputs.embedding, output.hidden)
        return MRAState(lstm, keys.write(self.key(slot)), values.write(slot)), output

    def _control(
        self, lstm: LSTMState, inputs: StepInputs, keys: Array, values: Array, mask: Bool[Array, "B L"]
    ) -> tuple[LSTMState, StepOutput]:
        query = inputs.query + self.query_context(lstm.hidden)
        read = self.read(query, keys, values, mask)
        lstm = self.lstm(lstm, inputs.gates + self.lstm_reads(read))
        return lstm, StepOutput(lstm.hidden, read)

    def read(
        self,
        query: Float[Array, "B K"],
        keys: Float[Array, "B L K"],
        values: Float[Array, "B L W"],
        mask: Bool[Array, "B L"],
    ) -> Float[Array, "B W"]:
        """Softmax-weighted mean of the slots whose keys are nearest to the query (scaled product)."""
        scores = match_rows(query[:, None], keys) / query.shape[-1] ** 0.5
        return sum_rows(attention_weights(scores, mask, self.config.top_k or None), values)[:, 0]

    def _prediction_loss(
        self, hidden: Float[Array, "T B H"], timesteps: TimeStep, embeddings: Embeddings
    ) -> Float[Array, "T B"] | None:
        if self.predict is None or self.target is None:
            return None
        targets = self.target(look_up_steps(embeddings, timesteps.observation))
        predictions = self.predict(hidden).reshape(*hidden.shape[:2], -1, targets.shape[-1])
        return self.config.prediction_cost * contrastive_loss(predictions, targets, timesteps.first)

    def _policy(
        self, output: StepOutput, x: Float[Array, "*T B I"], loss: Float[Array, "*T B"] | None = None
    ) -> AgentOutput:
        return self.policy(jnp.concatenate([output.hidden, output.read, x], axis=-1), loss)


def join_slot(embedding: Float[Array, "*T B E"], hidden: Float[Array, "*T B H"]) -> Float[Array, "*T B E+H"]:
    """The content of a slot; gradients reach the input embedding, not the LSTM's past."""
    return jnp.concatenate([embedding, jax.lax.stop_gradient(hidden)], axis=-1)


def contrastive_loss(
    predictions: Float[Array, "T B P C"], targets: Float[Array, "T B C"], first: Bool[Array, "T B"]
) -> Float[Array, "T B"]:
    """InfoNCE of predicting the targets 1..P steps ahead, as a mean over those P, in nats.

    The candidates for step t of environment b are the target that came, those of the other environments at
    the same time and those of its own environment at other times. A prediction beyond the end of the
    episode or of the sequence costs nothing.
    """
    num_steps, num_environments, num_ahead, _ = predictions.shape
    episode = jnp.cumsum(first, axis=0)
    ahead = jnp.arange(num_steps)[:, None] + 1 + jnp.arange(num_ahead)
    inside = (ahead < num_steps)[:, None]
    ahead = jnp.minimum(ahead, num_steps - 1)
    came = jnp.moveaxis(targets[ahead], 2, 1)
    across = jnp.einsum("tbpc,tdpc->tbpd", predictions, came)
    along = jnp.einsum("tbpc,sbc->tbps", predictions, targets)
    same = jnp.eye(num_environments, dtype=bool)[:, None]
    right = jnp.sum(jnp.where(same, across, 0), axis=-1)
    # The right one is in both lists: once is enough.
    across = jnp.where(same, -jnp.inf, across)
    nats = jax.nn.logsumexp(jnp.concatenate([across, along], axis=-1), axis=-1) - right
    counts = inside & (jnp.moveaxis(episode[ahead], 2, 1) == episode[..., None])
    return jnp.sum(jnp.where(counts, nats, 0), axis=-1) / num_ahead
