"""Thinking while walking: plans that go on from the last step's belief."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings, Encoder
from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory, in_fewest_slots
from rapidtask.envs.environment import TimeStep
from rapidtask.errors import InputError

State = tuple[Memory, Float[Array, "B N D"]]
"""The memory, and the last belief about its rows."""


class WarmStart(Agent):
    """An EPN whose plans go on from the last step's belief while the goal stays: few iterations a step then
    reach as far as many. It needs no training of its own, only plans that come to rest."""

    epn: EPN

    def __init__(self, agent: Agent):
        if not isinstance(agent, EPN) or agent.config.block != "recall" or agent.config.recent_rows:
            # Other blocks see the rows in their first iteration alone, and would never see new ones.
            raise InputError('a warm start needs an EPN with block="recall" and without recent_rows')
        self.epn = agent

    @property
    def encoder(self) -> Encoder:
        """See `Agent`."""
        return self.epn.encoder

    def initial_state(self, batch_size: int) -> State:
        """See `Agent`."""
        memory = self.epn.initial_state(batch_size)
        return memory, jnp.zeros((*memory.origin.shape, self.epn.config.width))

    def step(self, state: State, timestep: TimeStep, embeddings: Embeddings) -> tuple[AgentOutput, State]:
        """See `Agent`."""
        memory, belief = state
        # About another goal the belief says little: starting from it is worse than anew (docs/log.md).
        anew = timestep.first | (timestep.goal != memory.goal)
        before, after = self.epn.step_memory(memory, timestep)

        def act(cut: Memory) -> tuple[AgentOutput, Float[Array, "B N D"]]:
            new = anew[:, None] | ((cut.count == 1) & (cut.written == cut.steps[:, None]))
            rows = self.epn.row(cut, timestep.observation, timestep.goal, embeddings)
            start = jnp.where(new[..., None], rows, belief[:, : rows.shape[1]])
            plan = self.epn.plan(cut, timestep, embeddings, start=start, only_last=True)
            summary = self.epn.read(plan.beliefs[-1], cut, timestep, embeddings)
            kept = jax.lax.dynamic_update_slice(belief, plan.beliefs[-1], (0, 0, 0))
            return self.epn.decide(summary, timestep, embeddings), kept

        output, belief = in_fewest_slots(before, act)
        return output, (after, belief)
