"""Episodic memory: the transitions of the current episode, as ids.

Two forms share one data structure. `all` keeps one row per step, as in the paper. `unique` keeps equal
transitions in one row with a count c; adding log c to that row's attention logit makes the two give the same
output, because rows that start equal stay equal through self-attention and max-pooling ignores repeats.

Rows are append-only and dense from the front, so a batch whose memories hold few rows can be planned over in
few slots. Rows are ids, not embeddings: they are embedded with the current weights, never stale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rapidtask.agents.agent import where_first
from rapidtask.envs.environment import TimeStep

FEWEST_SLOTS = 32
"""The smallest bucket of slots. Fewer would be a little quicker, in the first steps of an episode only."""

Result = TypeVar("Result")


class Memory(eqx.Module):
    """Rows of B memories, N slots each, and what is needed to make the next row."""

    origin: Int[Array, "*B N"]
    """Observation id where the action was taken."""
    action: Int[Array, "*B N"]
    """The action."""
    successor: Int[Array, "*B N"]
    """Observation id that the action led to."""
    count: Int[Array, "*B N"]
    """How often the transition was experienced; 0 for an unused slot."""
    written: Int[Array, "*B N"]
    """Step of the episode at which the row was last written."""
    steps: Int[Array, "*B"]
    """Transitions experienced in this episode."""
    observation: Int[Array, "*B"]
    """Observation id at the last step: the next row's origin."""
    goal: Int[Array, "*B"]
    """Goal id at the last step."""

    @property
    def mask(self) -> Bool[Array, "*B N"]:
        """Which slots are in use."""
        return self.count > 0

    @property
    def size(self) -> Int[Array, "*B"]:
        """How many slots are in use; they are the first ones."""
        return self.mask.sum(-1)

    @property
    def log_count(self) -> Float[Array, "*B N"]:
        """What a row's attention logit gains for standing for several: -inf for an unused slot."""
        return jnp.log(self.count.astype(jnp.float32))

    def first_slots(self, num_slots: int) -> Memory:
        """The memory cut to its first slots; the others must be unused."""

        return self.each_row(lambda rows: jax.lax.slice_in_dim(rows, 0, num_slots, axis=rows.ndim - 1))

    def each_row(self, function: Callable[[Array], Array]) -> Memory:
        """The memory with a function applied to every array of rows."""
        rows = lambda m: (m.origin, m.action, m.successor, m.count, m.written)  # noqa: E731
        return eqx.tree_at(rows, self, replace_fn=function)


def empty_memory(batch_size: int, num_slots: int) -> Memory:
    """B memories of N unused slots."""
    # Separate arrays, so that each can be given away (donated) to a jitted call.
    rows = [jnp.zeros((batch_size, num_slots), jnp.int32) for _ in range(5)]
    scalars = [jnp.zeros(batch_size, jnp.int32) for _ in range(3)]
    return Memory(*rows, *scalars)


def remember(memory: Memory, timestep: TimeStep, *, unique: bool, arrival: bool) -> Memory:
    """Add the transition that led to this timestep; at the first timestep of an episode, forget instead.

    Args:
        memory: what is remembered up to the previous timestep.
        timestep: the new one.
        unique: whether an equal transition raises a count instead of taking a row.
        arrival: whether a completed task is recorded as reaching its goal, which the reward tells, even if
            the agent was put elsewhere since; otherwise as reaching what is seen now.
    """
    memory = where_first(timestep.first, empty_memory(*memory.origin.shape), memory)
    num_slots = memory.origin.shape[-1]
    successor = timestep.observation
    if arrival:
        successor = jnp.where(timestep.completed, memory.goal, successor)
    row = (memory.observation, timestep.action, successor)

    slots = jnp.arange(num_slots)
    known = jnp.zeros_like(memory.mask)
    if unique:
        known = (
            (memory.origin == row[0][:, None])
            & (memory.action == row[1][:, None])
            & (memory.successor == row[2][:, None])
            & memory.mask
        )
    is_new = ~known.any(-1)
    # Full memories overwrite: the oldest row of `all`; with `unique` the row written longest ago.
    full = memory.mask.all(-1)
    stalest = jnp.argmin(memory.written, -1)
    target = jnp.where(full, stalest, memory.size)
    write = (slots == target[:, None]) & is_new[:, None]
    valid = ~timestep.first[:, None]
    write, known = write & valid, known & valid

    origin, action, successor = (
        jnp.where(write, new[:, None], old)
        for new, old in zip(row, (memory.origin, memory.action, memory.successor), strict=True)
    )
    steps = jnp.where(timestep.first, 0, memory.steps + 1)
    return Memory(
        origin=origin,
        action=action,
        successor=successor,
        count=jnp.where(write, 1, memory.count + known),
        written=jnp.where(write | known, steps[:, None], memory.written),
        steps=steps,
        observation=timestep.observation,
        goal=timestep.goal,
    )


def slot_buckets(num_slots: int) -> Sequence[int]:
    """Numbers of slots that programs are compiled for: each half as large again as the last, in whole 16s.

    Each takes seconds to compile, and memories of every step may have thousands of slots.
    """
    buckets = [FEWEST_SLOTS]
    while buckets[-1] < num_slots:
        buckets.append(-(-buckets[-1] * 3 // 32) * 16)
    return [*buckets[:-1], num_slots]


def in_fewest_slots(memory: Memory, function: Callable[[Memory], Result]) -> Result:
    """`function(memory)` on the memory cut to the smallest bucket of slots that holds every row in use."""
    buckets = slot_buckets(memory.origin.shape[-1])
    bucket = jnp.searchsorted(jnp.asarray(buckets), memory.size.max())
    branches = [lambda m, n=n: function(m.first_slots(n)) for n in buckets]
    return jax.lax.switch(bucket, branches, memory)


def most_recent(memory: Memory, rows: Float[Array, "B N D"], k: int) -> tuple[Memory, Float[Array, "B K D"]]:
    """The k rows written last."""
    k = min(k, memory.origin.shape[-1])
    _, index = jax.lax.top_k(jnp.where(memory.mask, memory.written, -1), k)
    recent = memory.each_row(lambda x: jnp.take_along_axis(x, index, axis=1))
    return recent, jnp.take_along_axis(rows, index[..., None], axis=1)
