"""Attention among neighbours: rows see the rows that share a place with them, at a cost linear in rows."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rapidtask.agents.encoders import ALIKE, Embeddings
from rapidtask.agents.memory import Memory

MANY_ROWS = 256
"""From so many rows on, neighbours are looked up in lists: quicker than masks of all pairs (docs/log.md)."""

PLACES_AT_ONCE = 320
"""Rows of more places attend in parts of up to so many: twice as quick with 10,000 rows (docs/log.md)."""

KINDS = (("successor", "origin"), ("origin", "successor"), ("origin", "origin"), ("successor", "successor"))
"""What each kind of head compares: an end of its own row with an end of the rows that it sees. They go on
from where its own leads, lead to where it starts, start in the same place, or end in the same place."""


class Ends(eqx.Module):
    """The rows of memories sorted by the place that one of their ends is."""

    slots: Int[Array, "B V M"]
    """For each place the rows that start (or end) there; N where there are fewer."""
    position: Int[Array, "B N"]
    """Where each row stands in `slots`, taken as one list; V * M for a row that is left out."""

    def by_place(self, rows: Float[Array, "B N C"], fill: float = 0.0) -> Float[Array, "B V M C"]:
        """What belongs to rows, laid out by places."""
        return by_slots(rows, self.slots, fill)

    def by_row(self, places: Float[Array, "B V M C"]) -> Float[Array, "B N C"]:
        """Back in the order of rows; zeros for a row that was left out."""
        flat = places.reshape(places.shape[0], -1, places.shape[-1])
        return jax.vmap(lambda x, position: x.at[position].get(mode="fill", fill_value=0))(
            flat, self.position
        )


class Neighbours(eqx.Module):
    """Who sees whom among the rows of memories: the mask of `neighbours`, as lists of rows by place."""

    origin: Ends
    successor: Ends
    bias: Float[Array, "B N 1"]
    """What attention to each row is given; -inf for a slot that is not in use."""

    def attend(
        self, q: Float[Array, "B H N d"], k: Float[Array, "B H N d"], v: Float[Array, "B H N d"]
    ) -> Float[Array, "B H N d"]:
        """Attention of every head to the rows of its kind; a head that sees none gives zeros."""
        num_heads, size = q.shape[1], q.shape[-1]
        kinds = [KINDS[head % 4] for head in range(num_heads)]
        ends = {"origin": self.origin, "successor": self.successor}
        columns: dict[str, list[Array]] = {end: [] for end in ends}
        where: dict[tuple[str, int], int] = {}
        for head, (mine, yours) in enumerate(kinds):
            for name, end, value in (("q", mine, q), ("k", yours, k), ("v", yours, v)):
                where[name, head] = size * len(columns[end])
                columns[end].append(value[:, head])
        # All heads in one gather an end: what it costs is the number of gathers as much as their size.
        joined = {end: jnp.concatenate(parts, axis=-1) for end, parts in columns.items()}

        def among(slots: Slots) -> dict[str, Float[Array, "B v M h"]]:
            """What heads make of rows of some places, by the end that they attend by."""
            laid = {end: by_slots(joined[end], slots[end]) for end in ends}
            bias = {end: by_slots(self.bias, slots[end], -jnp.inf)[..., 0] for end in ends}
            outputs: dict[str, list[Array]] = {mine: [] for mine, _ in kinds}
            for head, (mine, yours) in enumerate(kinds):
                queries, keys, values = (
                    laid[end][..., where[name, head] : where[name, head] + size]
                    for name, end in (("q", mine), ("k", yours), ("v", yours))
                )
                logits = jnp.einsum("bvqd,bvkd->bvqk", queries, keys) / jnp.sqrt(size)
                weights = softmax_or_nothing(logits + bias[yours][:, :, None])
                outputs[mine].append(jnp.einsum("bvqk,bvkd->bvqd", weights, values))
            return {end: jnp.concatenate(heads, axis=-1) for end, heads in outputs.items()}

        mixed = in_parts(among, {end: rows.slots for end, rows in ends.items()}, unused=q.shape[2])
        heads = {
            end: iter(jnp.split(ends[end].by_row(laid), laid.shape[-1] // size, axis=-1))
            for end, laid in mixed.items()
        }
        return jnp.stack([next(heads[mine]) for mine, _ in kinds], axis=1)


def by_slots(rows: Float[Array, "B N C"], slots: Int[Array, "B V M"], fill: float = 0.0) -> Array:
    """What belongs to rows, laid out by places `[B, V, M, C]`; the fill where there is no row."""
    padded = jnp.pad(rows, ((0, 0), (0, 1), (0, 0)), constant_values=fill)
    return jax.vmap(lambda x, slots: x[slots])(padded, slots)


Slots = dict[str, Int[Array, "B V M"]]


def in_parts(
    function: Callable[[Slots], dict[str, Array]], slots: Slots, unused: int
) -> dict[str, Float[Array, "B V M h"]]:
    """A function of the rows of places; of many, part by part: what they read then stays in the cache."""
    num_places = slots["origin"].shape[1]
    parts = -(-num_places // PLACES_AT_ONCE)
    if parts == 1:
        return function(slots)
    size = -(-num_places // parts)

    def cut(x: Array) -> Array:
        x = jnp.pad(x, ((0, 0), (0, parts * size - num_places), (0, 0)), constant_values=unused)
        return jnp.moveaxis(x.reshape(len(x), parts, size, -1), 1, 0)

    def join(x: Array) -> Array:
        return jnp.moveaxis(x, 0, 1).reshape(x.shape[1], parts * size, *x.shape[3:])[:, :num_places]

    return jax.tree.map(join, jax.lax.map(function, jax.tree.map(cut, slots)))


def bias_of_pairs(
    of: Memory,
    to: Memory,
    embeddings: Embeddings,
    row_bias: Float[Array, "B N"],
    num_heads: int,
    gains: Float[Array, "4 H"] | None,
) -> Float[Array, "B H Q N"]:
    """What attention of each row to each other is given: with gains, for each end that they share; without,
    each head sees the rows of its kind alone, and -inf stands for the others."""
    bias = row_bias[:, None, None]
    ends = [(getattr(of, mine), getattr(to, yours)) for mine, yours in KINDS]
    same = [embeddings.similarity(mine[:, :, None], yours[:, None, :]) for mine, yours in ends]
    if gains is None:
        seen = jnp.stack([same[head % 4] > ALIKE for head in range(num_heads)], axis=1)
        return jnp.where(seen, bias, -jnp.inf)
    for gain, match in zip(gains, same, strict=True):
        bias = bias + match[:, None] * gain[:, None, None]
    return bias


def by_looks(memory: Memory, embeddings: Embeddings) -> Memory:
    """The memory with ends named so that what looks alike is called the same."""
    if embeddings.exact:
        return memory
    place = jnp.atleast_2d(embeddings.places())
    look_up = lambda ids: jnp.take_along_axis(place, ids, axis=1)  # noqa: E731
    return eqx.tree_at(lambda m: (m.origin, m.successor), memory, replace_fn=look_up)


def list_neighbours(
    memory: Memory,
    embeddings: Embeddings,
    row_bias: Float[Array, "B N"],
    num_actions: int,
    *,
    one_outcome: bool,
) -> tuple[Memory, Neighbours]:
    """What `bias_of_pairs` says without gains, as lists; and the memory whose ends are their places.

    With one outcome to an action no more rows start in a place than there are actions; on streets, and
    wherever moves can be undone, no more lead to one than twice as many and two.
    """
    most = 2 * num_actions + 2
    starting = num_actions if one_outcome and embeddings.exact else most
    memory = by_looks(memory, embeddings)
    return memory, find_neighbours(memory, row_bias, embeddings.table.shape[-2], (starting, most))


def find_neighbours(
    memory: Memory, bias: Float[Array, "B N"], num_places: int, most: tuple[int, int]
) -> Neighbours:
    """Lists of the rows of each place.

    Args:
        memory: rows, as ids of places.
        bias: what attention to each row is given.
        num_places: how many ids there are, V.
        most: rows of a place that are kept, of those that start there and of those that lead there; of more,
            the last to be added.
    """
    sort: Callable[..., Ends] = jax.vmap(_sort_ends, in_axes=(0, None, None))
    ids = [jnp.where(memory.mask, end, num_places) for end in (memory.origin, memory.successor)]
    origin, successor = (sort(end, num_places, size) for end, size in zip(ids, most, strict=True))
    return Neighbours(origin, successor, bias[..., None])


def _sort_ends(places: Int[Array, " N"], num_places: int, most: int) -> Ends:
    num_rows = len(places)
    order = jnp.argsort(places)
    ordered = places[order]
    # From the last row of each place to its first.
    rank = jnp.searchsorted(ordered, ordered, side="right") - 1 - jnp.arange(num_rows)
    nowhere = num_places * most
    target = jnp.where((ordered < num_places) & (rank < most), ordered * most + rank, nowhere)
    slots = jnp.full(nowhere, num_rows).at[target].set(order, mode="drop")
    position = jnp.zeros(num_rows, target.dtype).at[order].set(target)
    return Ends(slots.reshape(num_places, most), position)


def softmax_or_nothing(logits: Float[Array, "*B N"]) -> Float[Array, "*B N"]:
    """A softmax that gives nothing of no rows: where all logits are -inf. Of any, its weights sum to 1."""
    top = jnp.maximum(jnp.max(logits, axis=-1, keepdims=True), -1e30)
    weights = jnp.exp(logits - jax.lax.stop_gradient(top))
    return weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), 0.5)
