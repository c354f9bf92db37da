"""Slot memories of the recurrent agents: one row per step of the episode, read by attention.

Rows are kept in the order of their steps, without gaps, so "how much later" is a difference of indices. An
agent acting one step at a time writes into `SlotMemory`. When it is unrolled for a gradient, a memory inside
the scan would be saved once per step (T copies of `[B, N, W]`); instead a first scan without gradients finds
the rows, and the second sees all of them at once (`join_rows`) under a mask (`visible_rows`) that shows each
step what was written before it, in its own episode.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class SlotMemory(eqx.Module):
    """The rows written in each environment's episode, in order."""

    rows: Float[Array, "B N W"]
    """Row i was written at step i; meaningless from `count` on (a reset only clears the count)."""
    count: Int[Array, " B"]
    """Steps of the episode so far."""

    @staticmethod
    def zeros(batch_size: int, num_slots: int, width: int) -> SlotMemory:
        """An empty memory."""
        return SlotMemory(jnp.zeros((batch_size, num_slots, width)), jnp.zeros(batch_size, jnp.int32))

    @property
    def mask(self) -> Bool[Array, "B N"]:
        """Which rows are written."""
        return jnp.arange(self.rows.shape[1]) < self.count[:, None]

    def forget(self, first: Bool[Array, " B"]) -> SlotMemory:
        """Empty the memories of environments whose episode starts here."""
        return SlotMemory(self.rows, jnp.where(first, 0, self.count))

    def write(self, row: Float[Array, "B W"]) -> SlotMemory:
        """Write the next row. A full memory stays as it is."""
        environments = jnp.arange(row.shape[0])
        return SlotMemory(self.rows.at[environments, self.count].set(row, mode="drop"), self.count + 1)


def join_rows(memory: SlotMemory, new_rows: Float[Array, "T B W"]) -> Float[Array, "B N+T W"]:
    """The carried rows, moved up against the new ones that follow them, in the order of time."""
    num_slots = memory.rows.shape[1]
    source = jnp.arange(num_slots) - (num_slots - jnp.minimum(memory.count, num_slots)[:, None])
    carried = jnp.take_along_axis(memory.rows, jnp.maximum(source, 0)[..., None], axis=1)
    return jnp.concatenate([carried, jnp.swapaxes(new_rows, 0, 1)], axis=1)


def step_of_episode(count: Int[Array, " B"], first: Bool[Array, "T B"]) -> Int[Array, "T B"]:
    """How many steps of its episode came before each step, if there were `count` before them all."""
    time = jnp.arange(len(first))[:, None]
    return time - jax.lax.cummax(jnp.where(first, time, -count), axis=0)


def carry_rows(memory: SlotMemory, new_rows: Float[Array, "T B W"], first: Bool[Array, "T B"]) -> SlotMemory:
    """The memory after writing rows step by step, episodes starting where `first` says: all at once."""
    num_slots = memory.rows.shape[1]
    count = 1 + step_of_episode(memory.count, first)[-1]
    start = num_slots + len(first) - count
    rows = join_rows(memory, new_rows)
    source = jnp.minimum(start[:, None] + jnp.arange(num_slots), rows.shape[1] - 1)
    return SlotMemory(jnp.take_along_axis(rows, source[..., None], axis=1), count)


def visible_rows(memory: SlotMemory, first: Bool[Array, "T B"]) -> Bool[Array, "T B N+T"]:
    """Which of the joined rows each step may read: earlier ones of its own episode that found a slot."""
    num_slots, num_steps = memory.rows.shape[1], first.shape[0]
    time = jnp.arange(num_steps)[:, None]
    episode = jnp.cumsum(first, axis=0)
    carried = jnp.arange(num_slots) >= num_slots - memory.count[:, None]
    # [reading step, environment, writing step]
    new = (episode[:, :, None] == episode.T) & (time[:, :, None] > time[:, 0])
    new &= (step_of_episode(memory.count, first) < num_slots).T
    return jnp.concatenate([(episode == 0)[..., None] & carried, new], axis=-1)


def attention_weights(
    scores: Float[Array, "B R L"], mask: Bool[Array, "B L"], top_k: int | None = None
) -> Float[Array, "B R L"]:
    """Softmax over the visible rows, or over the `top_k` best of them; zero when nothing is visible."""
    keep = mask[:, None, :]
    if top_k is not None and top_k < scores.shape[-1]:
        visible = jax.lax.stop_gradient(jnp.where(keep, scores, -jnp.inf))
        # By index: a score that is computed once more may differ by a rounding from the one that was chosen.
        chosen = jax.lax.top_k(visible, top_k)[1]
        keep = keep & jax.nn.one_hot(chosen, scores.shape[-1], dtype=bool).any(axis=-2)
    best = jax.lax.stop_gradient(jnp.max(jnp.where(keep, scores, -1e9), axis=-1, keepdims=True))
    weights = jnp.where(keep, jnp.exp(jnp.where(keep, scores - best, 0)), 0)
    return weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), 1e-9)


def match_rows(queries: Float[Array, "B R W"], rows: Float[Array, "B L W"]) -> Float[Array, "B R L"]:
    """Product of every query with every row."""
    return jnp.einsum("brw,blw->brl", queries, rows)


def sum_rows(weights: Float[Array, "B R L"], rows: Float[Array, "B L W"]) -> Float[Array, "B R W"]:
    """Weighted sums of rows."""
    return jnp.einsum("brl,blw->brw", weights, rows)
