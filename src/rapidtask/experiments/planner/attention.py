"""Where the planner's rows look."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep

KINDS = (
    "goes on from it",
    "leads to it",
    "starts there too",
    "ends there too",
    "touches the goal",
    "itself",
    "elsewhere",
)
"""What a row may be to the row that looks at it; the first that holds counts, "itself" before all others."""


@eqx.filter_jit
def attention_weights(
    agent: EPN, memory: Memory, timestep: TimeStep, iterations: int
) -> tuple[Float[Array, "I B H N N"], Float[Array, "I B N D"]]:
    """The weights of every iteration, and the rows after it."""
    plan = agent.plan(memory, timestep, agent.embed(), iterations, with_attention=True)
    return jnp.stack(plan.attention), plan.beliefs[1:]


def relations(memory: Memory) -> dict[str, Bool[np.ndarray, "B N N"]]:
    """For each kind, which rows (last axis) are that to which (second axis); every pair in use has one."""
    origin, successor, mask = (np.asarray(x) for x in (memory.origin, memory.successor, memory.mask))
    pair = lambda mine, yours: mine[:, :, None] == yours[:, None, :]  # noqa: E731
    goal = np.asarray(memory.goal)[:, None]
    at_goal = (origin == goal) | (successor == goal)
    itself = np.broadcast_to(np.eye(origin.shape[1], dtype=bool), pair(origin, origin).shape)
    holds = {
        "itself": itself,
        "goes on from it": pair(successor, origin),
        "leads to it": pair(origin, successor),
        "starts there too": pair(origin, origin),
        "ends there too": pair(successor, successor),
        "touches the goal": np.broadcast_to(at_goal[:, None, :], itself.shape),
        "elsewhere": np.ones_like(itself),
    }
    free = mask[:, :, None] & mask[:, None, :]
    found: dict[str, np.ndarray] = {}
    for kind, where in holds.items():
        found[kind] = where & free
        free = free & ~where
    return {kind: found[kind] for kind in KINDS}
