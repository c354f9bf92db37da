"""Agents that remember by rule: all that they learn is what to make of a memory."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.memory import Memory, in_fewest_slots
from rapidtask.envs.environment import TimeStep

MOST_PARTS = 16
"""Steps are computed in up to this many equal parts, sorted by how full their memories are: the more parts,
the fewer slots are empty, and 16 steps a part are no dearer than 64 (docs/log.md)."""

FEW_STEPS = 512
"""Up to so many steps are computed in one part with all slots: quicker than to compile more programs."""


class EpisodicAgent(Agent):
    """An agent whose state is an episodic memory that no weight has a part in.

    What it does at a step depends on the memory of that step and on nothing that it computed before. So its
    steps can be learned from one by one, in any order. Implementations give `step_memory` and `act`.
    """

    def step_memory(self, memory: Memory, timestep: TimeStep) -> tuple[Memory, Memory]:
        """The memory to act on at this timestep `[B]`, and the memory after it."""
        raise NotImplementedError

    def act(self, memory: Memory, timestep: TimeStep, embeddings: Embeddings) -> AgentOutput:
        """Choose, given memories `[B]`."""
        raise NotImplementedError

    def step(self, state: Memory, timestep: TimeStep, embeddings: Embeddings) -> tuple[AgentOutput, Memory]:
        """See `Agent`. Memories are cut to as few slots as the fullest of them needs."""
        before, after = self.step_memory(state, timestep)
        return in_fewest_slots(before, lambda cut: self.act(cut, timestep, embeddings)), after

    def unroll_memory(self, memory: Memory, timesteps: TimeStep) -> tuple[Memory, Memory]:
        """The memories `[T, B]` to act on at each timestep, and the memory after the last."""

        def step(memory: Memory, timestep: TimeStep) -> tuple[Memory, Memory]:
            before, after = self.step_memory(memory, timestep)
            return after, before

        memory, memories = jax.lax.scan(step, memory, timesteps)
        return memories, memory

    def unroll(
        self, state: Memory, timesteps: TimeStep, embeddings: Embeddings
    ) -> tuple[AgentOutput, Memory]:
        """See `Agent`: all steps at once, in parts whose memories are about equally full."""
        memories, state = self.unroll_memory(state, timesteps)
        num_steps, batch_size = timesteps.action.shape
        order = jnp.argsort(memories.size.reshape(-1))
        parts = 1 if len(order) <= FEW_STEPS else num_parts(len(order))
        step, environment = jnp.divmod(order.reshape(parts, -1), batch_size)
        memories, timesteps = jax.tree.map(lambda x: x[step, environment], (memories, timesteps))
        output = _act_in_parts(self, embeddings, memories, timesteps, environment)
        back = jnp.argsort(order)

        def restore(x: Array) -> Array:
            flat = x.reshape(num_steps * batch_size, *x.shape[2:])
            return flat[back].reshape(num_steps, batch_size, *x.shape[2:])

        return jax.tree.map(restore, output), state


def num_parts(num_steps: int) -> int:
    """How many equal parts so many steps are computed in."""
    return max(n for n in range(1, MOST_PARTS + 1) if num_steps % n == 0)


def _act_in_parts(
    agent: EpisodicAgent,
    embeddings: Embeddings,
    memories: Memory,
    timesteps: TimeStep,
    environment: Int[Array, "P S"],
) -> AgentOutput:
    """Act on memories `[P, S]`, each of several parts in as few slots as it needs.

    The gradient is computed part by part, within the program for its number of slots: differentiated from
    outside, each of these programs would keep room for what all of them need.
    """
    learned, fixed = eqx.partition((agent, embeddings), eqx.is_inexact_array)
    steps = (memories, timesteps, environment)

    def act_on(learned: Any, memory: Memory, timestep: TimeStep, environment: Int[Array, " S"]):
        agent, embeddings = eqx.combine(learned, fixed)
        if embeddings.table.ndim == 3:
            embeddings = embeddings.of_environments(environment)
        return agent.act(memory, timestep, embeddings)

    if len(environment) == 1:
        return jax.tree.map(lambda x: x[None], act_on(learned, *jax.tree.map(lambda x: x[0], steps)))

    @jax.custom_vjp
    def act(learned: Any, steps: Any) -> AgentOutput:
        def part(steps: Any) -> AgentOutput:
            memory, *rest = steps
            return in_fewest_slots(memory, lambda cut: act_on(learned, cut, *rest))

        return jax.lax.map(part, steps)

    def forward(learned: Any, steps: Any) -> tuple[AgentOutput, Any]:
        return act(learned, steps), (learned, steps)

    def backward(saved: Any, cotangents: AgentOutput) -> tuple[Any, None]:
        learned, steps = saved

        def part(steps_and_cotangents: Any) -> Any:
            (memory, *rest), cotangent = steps_and_cotangents

            def gradient(cut: Memory) -> Any:
                _, pull_back = jax.vjp(lambda learned: act_on(learned, cut, *rest), learned)
                return pull_back(cotangent)[0]

            return in_fewest_slots(memory, gradient)

        gradients = jax.lax.map(part, (steps, cotangents))
        return jax.tree.map(lambda gradient: gradient.sum(0), gradients), None

    act.defvjp(forward, backward)
    return act(learned, steps)
