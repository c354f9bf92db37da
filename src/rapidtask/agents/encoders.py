"""Encoders: from a world's observation table to embeddings that memories and states look up by id."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.random import Generator

from rapidtask.agents.layers import draw_normal, to_device

ALIKE = 0.5
"""From this similarity on, two observations are taken for the same place where that must be decided."""


class Embeddings(eqx.Module):
    """The embedded observation table: one for all environments (symbols) or one for each (frames)."""

    table: Float[Array, "*B V D"]
    """Embedding of each observation id."""
    exact: bool = eqx.field(static=True)
    """Whether two embeddings are alike only if their ids are equal, as for symbols."""
    sharpness: float = eqx.field(static=True, default=1.0)
    """Power that cosines are raised to, if not 1: then opposite embeddings are no more than unlike."""

    def of_environments(self, index: Int[Array, " B"]) -> Embeddings:
        """Of a table for each environment, those of some of them."""
        return eqx.tree_at(lambda e: e.table, self, self.table[index])

    def look_up(self, ids: Int[Array, "*B"]) -> Float[Array, "*B D"]:
        """Embeddings of ids `[B, …]`; with a table per environment the leading axis is its own."""
        return self._rows(self.table, ids)

    def project(self, weight: Float[Array, "D O"], ids: Int[Array, "*B"]) -> Float[Array, "*B O"]:
        """`look_up(ids) @ weight`, computed once per table entry instead of once per id."""
        flat = self.table.reshape(-1, self.table.shape[-1]) @ weight
        return self._rows(flat.reshape(*self.table.shape[:-1], -1), ids)

    def similarity(self, a: Int[Array, "*B"], b: Int[Array, "*B"]) -> Float[Array, "*B"]:
        """Sharpened cosine of embeddings: each of a's ids `[B, …]` with each of b's, as they broadcast."""
        if self.exact:
            return (a == b).astype(self.table.dtype)
        cosines = self._cosines()
        if cosines.ndim == 2:
            return cosines[a, b]
        # Each of a's ids with each of b's, as products: a gather per environment is slow on a CPU.
        pairs = self._pick(cosines, a) @ jnp.swapaxes(self._one_hot(b), -1, -2)
        return pairs.reshape(jnp.broadcast_shapes(a.shape, b.shape))

    def places(self) -> Int[Array, "*B V"]:
        """What each id is called by all that look alike: the first of them."""
        return jnp.argmax(self._cosines() > ALIKE, axis=-1)

    def _cosines(self) -> Float[Array, "*B V V"]:
        """Sharpened cosine of each entry of the table with each."""
        norm = jnp.sqrt(jnp.sum(jnp.square(self.table), -1, keepdims=True) + 1e-8)
        unit = self.table / norm
        cosines = unit @ jnp.swapaxes(unit, -1, -2)
        return cosines if self.sharpness == 1.0 else jnp.maximum(cosines, 0.0) ** self.sharpness

    def _rows(self, tables: Float[Array, "*B V D"], ids: Int[Array, "*B"]) -> Float[Array, "*B D"]:
        if tables.ndim == 2:
            return tables[ids]
        return self._pick(tables, ids).reshape(*ids.shape, -1)

    def _one_hot(self, ids: Int[Array, "B ..."]) -> Float[Array, "B M V"]:
        return jax.nn.one_hot(ids.reshape(len(ids), -1), self.table.shape[-2])

    def _pick(self, tables: Float[Array, "B V D"], ids: Int[Array, "B ..."]) -> Float[Array, "B M D"]:
        """Rows of a table per environment."""
        return self._one_hot(ids) @ tables


class Encoder(eqx.Module):
    """Embeds an observation table."""

    def __call__(self, frames: Array | None = None) -> Embeddings:
        """Embed the table; symbols need no frames."""
        raise NotImplementedError


class SymbolEncoder(Encoder):
    """One-hot symbols through a linear layer: a learned table, as in the paper."""

    table: Float[Array, "V D"]

    def __init__(self, num_observations: int, width: int, rng: Generator):
        self.table = draw_normal(rng, num_observations, width, scale=width**-0.5)

    def __call__(self, frames: Array | None = None) -> Embeddings:
        """See `Encoder`."""
        return Embeddings(self.table, exact=True)


class OrthonormalEncoder(Encoder):
    """Symbols as fixed orthonormal vectors: told apart from the start, nothing to learn.

    An agent taken to a world with more symbols than it has room for gives the further ones the first vectors
    again; comparisons go by id and still tell them apart.
    """

    num_observations: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def __call__(self, frames: Array | None = None) -> Embeddings:
        """See `Encoder`."""
        which = np.arange(self.num_observations) % self.width
        return Embeddings(to_device(np.eye(self.width)[which]), exact=True)
