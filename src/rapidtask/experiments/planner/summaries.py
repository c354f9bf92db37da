"""What the policy network is given by a frozen planner, after each of its iterations."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep
from rapidtask.experiments.planner.situations import Situations

ITERATIONS = 6
"""Planner iterations that are looked at, as in the paper."""
BATCH = 64
"""Situations planned at a time."""
SLOTS = 48
"""Memories are planned over in the smallest multiple of this that holds them: few programs to compile."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What decoders read in K situations, on the host: no gradient goes back to the planner."""

    summary: Float[np.ndarray, "I K D"]
    """The max-pooled readout after each iteration."""
    here: Float[np.ndarray, "K E"]
    """Embedding of the current state."""
    goal: Float[np.ndarray, "K E"]
    """Embedding of the goal."""
    match: Float[np.ndarray, " K"]
    """How alike the two are, 1 for the same; 0 everywhere if the policy network is not told."""
    distance: Int[np.ndarray, " K"]
    """Fewest moves to the goal: what is to be decoded."""


@eqx.filter_jit
def plan_and_summarise(agent: EPN, memory: Memory, timestep: TimeStep) -> Float[Array, "I B D"]:
    """The summary that the policy network would be given, had the planner stopped after each iteration."""
    embeddings = agent.embed()
    plan = agent.plan(memory, timestep, embeddings, ITERATIONS)
    return jax.lax.map(lambda b: agent.read(b, plan.memory, timestep, embeddings), plan.beliefs[1:])


def decoder_inputs(agent: EPN, situations: Situations) -> Inputs:
    """Plan in every situation; memories of like size together."""
    slots = -(-situations.num_rows // SLOTS) * SLOTS
    summary = np.zeros((ITERATIONS, len(situations), agent.config.width), np.float32)
    for num_slots in np.unique(slots):
        members = np.flatnonzero(slots == num_slots)
        for start in range(0, len(members), BATCH):
            index = members[start : start + BATCH]
            # The last batch is filled up: one program per number of slots.
            batch = situations.take(np.resize(index, BATCH))
            planned = plan_and_summarise(agent, batch.memories(int(num_slots)), batch.timesteps())
            summary[:, index] = np.asarray(planned)[:, : len(index)]
    embeddings = agent.embed()
    here, goal = jnp.asarray(situations.here_ids()), jnp.asarray(situations.goal_ids())
    told = 0.0 if agent.policy_match is None else 1.0
    return Inputs(
        summary,
        np.asarray(embeddings.look_up(here)),
        np.asarray(embeddings.look_up(goal)),
        told * np.asarray(embeddings.similarity(here, goal)),
        situations.distance,
    )
