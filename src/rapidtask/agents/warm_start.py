"""Thinking while walking: values that go on from the last step's."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings, Encoder
from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory, in_fewest_slots
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import TimeStep
from rapidtask.errors import InputError

State = tuple[Memory, Float[Array, "B V C"]]
"""The memory, and what places were worth at the last step."""


class WarmStart(Agent):
    """An EPN whose values are passed on from the last step's while the goal stays: few sweeps a step then
    reach nearly as far as many. It needs no training of its own."""

    epn: EPN

    def __init__(self, agent: Agent):
        if not isinstance(agent, EPN) or agent.values is None or isinstance(agent.encoder, PixelEncoder):
            raise InputError("a warm start needs an EPN with value_channels that sees symbols")
        self.epn = agent

    @property
    def encoder(self) -> Encoder:
        """See `Agent`."""
        return self.epn.encoder

    def initial_state(self, batch_size: int) -> State:
        """See `Agent`."""
        num_places = self.epn.embed().table.shape[-2]
        worth = jnp.zeros((batch_size, num_places, self.epn.config.value_channels))
        return self.epn.initial_state(batch_size), worth

    def step(self, state: State, timestep: TimeStep, embeddings: Embeddings) -> tuple[AgentOutput, State]:
        """See `Agent`."""
        memory, worth = state
        # About another goal the last values say little.
        anew = timestep.first | (timestep.goal != memory.goal)
        start = jnp.where(anew[:, None, None], -jnp.inf, worth)
        before, after = self.epn.step_memory(memory, timestep)

        def act(cut: Memory) -> tuple[AgentOutput, Float[Array, "B V C"]]:
            belief = self.epn.plan(cut, timestep, embeddings, only_last=True).beliefs[-1]
            worth = self.epn.worth(belief, cut, embeddings, start)
            summary = self.epn.read(belief, cut, timestep, embeddings, worth)
            return self.epn.decide(summary, timestep, embeddings), worth

        output, worth = in_fewest_slots(before, act)
        return output, (after, worth)
