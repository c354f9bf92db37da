"""Moves that a memory tells of: those that were made, and those that may undo one.

What undoes what is not given, it is counted in the memory: if turning left was undone by turning right
wherever both were tried, then it will be where right was not tried yet. So each world tells it anew.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rapidtask.agents.memory import Memory
from rapidtask.agents.neighbours import Neighbours

COST = 0.1
"""What a move costs: -log of a discount of 0.9."""
IMPOSSIBLE = 1e-30
"""Probability of a move that cannot be."""


class Moves(eqx.Module):
    """Where moves lead from each place of memories, with certainty or by chance."""

    memory: Memory
    """Rows, whose ends are places."""
    neighbours: Neighbours
    """The rows of each place."""
    to: Int[Array, "B V A"]
    """The place that each action leads to, or probably leads to; V where nothing is known."""
    cost: Float[Array, "B V A"]
    """What that costs: -log of the discount, and of the probability that it leads there."""
    back: Float[Array, "B N"]
    """What it costs to undo each row."""
    unknown: Float[Array, "B V"]
    """Of each place, how many actions were not tried there and lead nobody knows where."""


def find_moves(memory: Memory, neighbours: Neighbours, num_actions: int) -> Moves:
    """All moves of memories whose ends are the places of the lists of neighbours."""
    starts, ends = neighbours.origin, neighbours.successor
    acts = jax.nn.one_hot(memory.action, num_actions) * memory.mask[..., None]

    # How often the second action was tried after the first, and led back. Before that counts as tried once,
    # and as likely as any other.
    next_rows = look_up(starts.slots, memory.successor)
    next_acts = look_up(_pad(acts, 0), next_rows)
    undoes = look_up(_pad(memory.successor, -1), next_rows) == memory.origin[..., None]
    tried = jnp.einsum("bna,bnmc->bac", acts, next_acts)
    undone = jnp.einsum("bna,bnmc->bac", acts, next_acts * undoes[..., None])
    probability = (undone + 1 / num_actions) / (tried + 1)
    untried = 1 - next_acts.max(axis=2)
    chance = jnp.einsum("bna,bac->bnc", acts, probability) * untried

    # Of each place and action the outcome of the newest row; else the likeliest one.
    leaves, arrives = starts.by_place(acts), ends.by_place(chance)
    seen, expected = leaves.max(axis=2) > 0, arrives.max(axis=2)
    num_places = starts.slots.shape[1]
    forth = look_up(_pad(memory.successor, num_places), starts.slots)
    back = look_up(_pad(memory.origin, num_places), ends.slots)
    forth, back = (
        jnp.take_along_axis(to, of_action.argmax(axis=2), axis=2)
        for to, of_action in ((forth, leaves), (back, arrives))
    )
    to = jnp.where(seen, forth, jnp.where(expected > 0, back, num_places))

    # An outcome that was not seen is known as far as it will undo an action, or lead nowhere.
    stays = (acts * (memory.origin == memory.successor)[..., None]).sum(axis=1)
    stays = (stays + 1 / num_actions) / (acts.sum(axis=1) + 1)
    unknown = jnp.where(seen, 0.0, 1 - jnp.maximum(expected, stays[:, None])).sum(axis=2)
    cost = jnp.where(seen, COST, _cost(expected))
    return Moves(memory, neighbours, to, cost, _cost(chance.max(axis=2)), unknown)


def look_up(table: Array, ids: Int[Array, "B ..."]) -> Array:
    """Entries of a table for each environment, `[B, V, ...]`."""
    return jax.vmap(lambda row, index: row[index])(table, ids)


def _pad(rows: Array, entry: int) -> Array:
    """Rows, and one that stands for slots which are not in use."""
    widths = [(0, 1) if axis == 1 else (0, 0) for axis in range(rows.ndim)]
    return jnp.pad(rows, widths, constant_values=entry)


def _cost(chance: Float[Array, "*B"]) -> Float[Array, "*B"]:
    return COST - jnp.log(jnp.maximum(chance, IMPOSSIBLE))
