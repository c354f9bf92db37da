"""The LSTM agent: all that it knows of an episode is in its recurrent state (RL², A2C-LSTM).

Duan et al. 2016 and Wang et al. 2016 (learning to reinforcement learn): previous action and reward are
inputs, so that learning inside an episode can happen in the activations.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
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
from rapidtask.agents.vision import Vision, make_encoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.options import Count, check_options


@dataclass(frozen=True)
class LSTMConfig:
    """The LSTM agent."""

    embedding_width: Count = 64
    """Width of an observation's embedding, D."""
    torso_width: Count = 256
    """Units between the inputs and the LSTM."""
    width: Count = 256
    """Units of the LSTM."""
    policy_width: Count = 200
    """Units of each layer of the policy network."""
    vision: Vision = "resnet"
    """Of frames: the paper's network, trained with the rest, or principal components fitted beforehand."""

    def __post_init__(self) -> None:
        check_options(self)

    def make(self, spec: EnvironmentSpec, seed: int) -> LSTMAgent:
        """Build the agent with fresh parameters; its size does not depend on the episode's length."""
        return LSTMAgent(self, spec, default_rng(seed))


class LSTMAgent(Agent):
    """e = ReLU(W x); h = LSTM(h, e); policy and baseline from [h, x]."""

    encoder: Encoder
    torso: Linear
    lstm: LSTM
    policy: PolicyNetwork
    num_actions: int = eqx.field(static=True)

    def __init__(self, config: LSTMConfig, spec: EnvironmentSpec, rng: Generator):
        num_inputs = input_width(config.embedding_width, spec.num_actions)
        self.encoder = make_encoder(spec, config.embedding_width, rng, config.vision)
        self.torso = Linear(num_inputs, config.torso_width, rng)
        self.lstm = LSTM(config.torso_width, config.width, rng)
        self.policy = PolicyNetwork(config.width + num_inputs, config.policy_width, spec.num_actions, rng)
        self.num_actions = spec.num_actions

    def initial_state(self, batch_size: int) -> LSTMState:
        """See `Agent`."""
        return LSTMState.zeros(batch_size, self.lstm.recurrent.weight.shape[0])

    def step(
        self, state: LSTMState, timestep: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, LSTMState]:
        """See `Agent`."""
        x = timestep_inputs(timestep, embeddings, self.num_actions)
        state = self.lstm(forget(timestep.first, state), self._project(x))
        return self._output(state.hidden, x), state

    def unroll(
        self, state: LSTMState, timesteps: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, LSTMState]:
        """See `Agent`. Only the recurrent product is left inside the scan."""
        x = timestep_inputs(timesteps, embeddings, self.num_actions)

        def step(state: LSTMState, step_inputs: tuple[Array, Array]) -> tuple[LSTMState, Array]:
            first, projected = step_inputs
            state = self.lstm(forget(first, state), projected)
            return state, state.hidden

        state, hidden = jax.lax.scan(step, state, (timesteps.first, self._project(x)))
        return self._output(hidden, x), state

    def _project(self, x: Float[Array, "*T B I"]) -> Float[Array, "*T B G"]:
        return self.lstm.inputs(jax.nn.relu(self.torso(x)))

    def _output(self, hidden: Float[Array, "*T B H"], x: Float[Array, "*T B I"]) -> AgentOutput:
        return self.policy(jnp.concatenate([hidden, x], axis=-1))
