"""Where the planner's rows look: its attention weights, computed once more beside it."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory
from rapidtask.agents.planner import AllToAll, Block
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


def block_weights(
    block: Block, belief: Float[Array, "B N D"], bias: Float[Array, "B H N N"]
) -> Float[Array, "B H N N"]:
    """The weights with which every row attends to every row in one iteration."""
    attention = block.attention
    norm = None if block.name == "norm_after" else block.attention_norm
    rows = belief if norm is None else norm(belief)

    def heads(x: Float[Array, "B N D"]) -> Float[Array, "B H N d"]:
        return jnp.swapaxes(x.reshape(*x.shape[:2], attention.num_heads, -1), 1, 2)

    query, key = heads(attention.to_query(rows)), heads(attention.to_key(rows))
    logits = jnp.einsum("bhqd,bhnd->bhqn", query, key) / jnp.sqrt(query.shape[-1]) + bias
    return jax.nn.softmax(logits, axis=-1)


@eqx.filter_jit
def attention_weights(
    agent: EPN, memory: Memory, timestep: TimeStep, iterations: int
) -> tuple[Float[Array, "I B H N N"], Float[Array, "I B N D"]]:
    """The weights of every iteration, and the rows after it."""
    assert isinstance(agent.planner, AllToAll)
    embeddings = agent.embed()
    belief = agent.row(memory, timestep.observation, timestep.goal, embeddings)
    bias = agent._bias(memory, memory, embeddings)
    weights, beliefs = [], []
    for _ in range(iterations):
        weights.append(block_weights(agent.planner.block, belief, bias))
        belief = agent.planner.block(belief, None, bias)
        beliefs.append(belief)
    shape = (*weights[0].shape[:1], agent.config.num_heads, *weights[0].shape[2:])
    return jnp.stack([jnp.broadcast_to(w, shape) for w in weights]), jnp.stack(beliefs)


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
