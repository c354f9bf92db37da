"""Encoders: from a world's observation table to embeddings that memories and states look up by id."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt8


class Embeddings(eqx.Module):
    """The embedded observation table: one for all environments (symbols) or one for each (frames)."""

    table: Float[Array, "*B V D"]
    """Embedding of each observation id."""
    exact: bool = eqx.field(static=True)
    """Whether two embeddings are alike only if their ids are equal, as for symbols."""

    def look_up(self, ids: Int[Array, "*B"]) -> Float[Array, "*B D"]:
        """Embeddings of ids `[B, …]`; with a table per environment the leading axis is its own."""
        return gather_rows(self.table, ids)

    def project(self, weight: Float[Array, "D O"], ids: Int[Array, "*B"]) -> Float[Array, "*B O"]:
        """`look_up(ids) @ weight`, computed once per table entry instead of once per id."""
        flat = self.table.reshape(-1, self.table.shape[-1]) @ weight
        return gather_rows(flat.reshape(*self.table.shape[:-1], -1), ids)

    def similarity(self, a: Int[Array, "*B"], b: Int[Array, "*B"]) -> Float[Array, "*B"]:
        """Cosine of the embeddings of two arrays of ids `[B, …]` that broadcast against each other."""
        if self.exact:
            return (a == b).astype(self.table.dtype)
        norm = jnp.sqrt(jnp.sum(jnp.square(self.table), -1, keepdims=True) + 1e-8)
        unit = self.table / norm
        cosines = unit @ jnp.swapaxes(unit, -1, -2)
        if cosines.ndim == 2:
            return cosines[a, b]
        return jax.vmap(lambda table, a, b: table[a, b])(cosines, a, b)


def gather_rows(table: Float[Array, "*B V D"], ids: Int[Array, "*B"]) -> Float[Array, "*B D"]:
    """Rows of one table, or of one table per leading index."""
    return table[ids] if table.ndim == 2 else jax.vmap(lambda table, ids: table[ids])(table, ids)


class Encoder(eqx.Module):
    """Embeds an observation table."""

    def __call__(self, frames: Array | None = None) -> Embeddings:
        """Embed the table; symbols need no frames."""
        raise NotImplementedError


class SymbolEncoder(Encoder):
    """One-hot symbols through a linear layer: a learned table, as in the paper."""

    table: Float[Array, "V D"]

    def __init__(self, num_observations: int, width: int, key: PRNGKeyArray):
        self.table = jax.random.normal(key, (num_observations, width)) / jnp.sqrt(width)

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
        return Embeddings(jnp.eye(self.width)[jnp.arange(self.num_observations) % self.width], exact=True)


class PixelEncoder(Encoder):
    """The paper's vision network: IMPALA's residual net (16, 32, 32 channels, a block each), linear to D."""

    stages: list[ResidualStage]
    linear: eqx.nn.Linear

    CHANNELS = (16, 32, 32)

    def __init__(self, width: int, key: PRNGKeyArray, *, frame_size: int = 84):
        keys = jax.random.split(key, len(self.CHANNELS) + 1)
        inputs = (3, *self.CHANNELS[:-1])
        self.stages = [ResidualStage(i, o, k) for i, o, k in zip(inputs, self.CHANNELS, keys, strict=False)]
        side = frame_size
        for _ in self.stages:
            side = (side + 1) // 2
        self.linear = eqx.nn.Linear(side * side * self.CHANNELS[-1], width, key=keys[-1])

    def __call__(self, frames: UInt8[Array, "*B V H W 3"] | None = None) -> Embeddings:
        """Embed frames: uint8 until here."""
        if frames is None:
            raise ValueError("a pixel encoder needs the world's frames")
        flat = frames.reshape(-1, *frames.shape[-3:])
        table = jax.vmap(self.embed_frame)(flat)
        return Embeddings(table.reshape(*frames.shape[:-3], -1), exact=False)

    def embed_frame(self, frame: UInt8[Array, "H W 3"]) -> Float[Array, " D"]:
        """Embed one frame."""
        x = jnp.moveaxis(frame, -1, 0).astype(jnp.float32) / 255
        for stage in self.stages:
            x = stage(x)
        return self.linear(jax.nn.relu(x).reshape(-1))


class ResidualStage(eqx.Module):
    """Convolution, max-pooling by 2, then one residual block."""

    convolution: eqx.nn.Conv2d
    block: list[eqx.nn.Conv2d]

    def __init__(self, num_in: int, num_out: int, key: PRNGKeyArray):
        keys = jax.random.split(key, 3)
        self.convolution = eqx.nn.Conv2d(num_in, num_out, 3, padding=1, key=keys[0])
        self.block = [eqx.nn.Conv2d(num_out, num_out, 3, padding=1, key=k) for k in keys[1:]]

    def __call__(self, x: Float[Array, "C H W"]) -> Float[Array, "D h w"]:
        """Apply the stage."""
        x = self.convolution(x)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3), (1, 2, 2), "SAME")
        y = x
        for convolution in self.block:
            y = convolution(jax.nn.relu(y))
        return x + y
