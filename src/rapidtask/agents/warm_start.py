"""Thinking while walking: plans that are kept, and values that go on from the last step's."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings, Encoder
from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory, in_fewest_slots
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import TimeStep
from rapidtask.errors import InputError


class Thought(eqx.Module):
    """What is carried from step to step."""

    memory: Memory
    size: Int[Array, " B"]
    """How many rows the last plan was about."""
    belief: Float[Array, "B N D"]
    """The last plan, and before its first step nothing."""
    worth: Float[Array, "B V C"]
    """What places were worth at the last step."""


class WarmStart(Agent):
    """An EPN that thinks on while its goal stays; it needs no training of its own.

    A plan about the same rows and goal is kept, if all environments have such. If values are passed on by few
    sweeps a step they go on from the last step's, and reach nearly as far as by many.
    """

    epn: EPN

    def __init__(self, agent: Agent):
        if not isinstance(agent, EPN) or agent.values is None or isinstance(agent.encoder, PixelEncoder):
            raise InputError("a warm start needs an EPN with value_channels that sees symbols")
        self.epn = agent

    @property
    def encoder(self) -> Encoder:
        """See `Agent`."""
        return self.epn.encoder

    def initial_state(self, batch_size: int) -> Thought:
        """See `Agent`."""
        config, num_places = self.epn.config, self.epn.embed().table.shape[-2]
        belief = jnp.zeros((batch_size, self.epn.num_slots, config.width))
        worth = jnp.zeros((batch_size, num_places, config.value_channels))
        size = jnp.zeros(batch_size, jnp.int32)
        return Thought(self.epn.initial_state(batch_size), size, belief, worth)

    def step(self, state: Thought, timestep: TimeStep, embeddings: Embeddings) -> tuple[AgentOutput, Thought]:
        """See `Agent`."""
        anew = timestep.first | (timestep.goal != state.memory.goal)
        before, after = self.epn.step_memory(state.memory, timestep)
        kept = (~anew & self._says_the_same(before, state.size)).all()
        # Values at rest are made from nothing; those that are not go on, but say little of another goal.
        at_rest = self.epn.config.sweeps is None
        start = None if at_rest else jnp.where(anew[:, None, None], -jnp.inf, state.worth)

        def act(cut: Memory) -> tuple[AgentOutput, Array, Array]:
            slots = cut.origin.shape[1]
            plan = lambda: self.epn.plan(cut, timestep, embeddings, only_last=True).beliefs[-1]  # noqa: E731
            belief = jax.lax.cond(kept, lambda: state.belief[:, :slots], plan)
            pass_on = lambda: self.epn.worth(belief, cut, embeddings, start)  # noqa: E731
            worth = jax.lax.cond(kept & at_rest, lambda: state.worth, pass_on)
            summary = self.epn.read(belief, cut, timestep, embeddings, worth)
            belief = jnp.pad(belief, ((0, 0), (0, self.epn.num_slots - slots), (0, 0)))
            return self.epn.decide(summary, timestep, embeddings), belief, worth

        output, belief, worth = in_fewest_slots(before, act)
        return output, Thought(after, before.size, belief, worth)

    def _says_the_same(self, memory: Memory, size: Int[Array, " B"]) -> Bool[Array, " B"]:
        """Whether a plan over so many rows of the memory is one over all that it says now."""
        config = self.epn.config
        if config.memory != "set" or config.state_in_rows:
            return jnp.zeros(size.shape, bool)  # counts, or where the agent is, have changed
        # A full memory may have lost a row for another.
        return (memory.size == size) & (size < self.epn.num_slots)
