"""Encoders of frames: the paper's residual network, and principal components that need no gradients."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt8
from numpy.random import Generator

from rapidtask.agents.encoders import Embeddings, Encoder, SymbolEncoder
from rapidtask.agents.layers import to_device
from rapidtask.envs.environment import EnvironmentSpec
from rapidtask.worlds.frame_store import FRAME_SIZE

Vision = Literal["resnet", "whitened"]

SHARPNESS = 4.0
"""Power of the cosine of two whitened views: those that are merely alike count for little."""


class PixelEncoder(Encoder):
    """Embeds frames."""

    def __call__(self, frames: UInt8[Array, "*B V H W 3"] | None = None) -> Embeddings:
        """Embed frames: uint8 until here."""
        if frames is None:
            raise ValueError("a pixel encoder needs the world's frames")
        flat = frames.reshape(-1, *frames.shape[-3:])
        table = self.embed_frames(flat)
        return Embeddings(table.reshape(*frames.shape[:-3], -1), exact=False, sharpness=self.sharpness)

    def embed_frames(self, frames: UInt8[Array, "F H W 3"]) -> Float[Array, "F D"]:
        """Embed each frame."""
        raise NotImplementedError

    @property
    def sharpness(self) -> float:
        """Power of cosines that comparisons of views use."""
        return 1.0


def make_encoder(spec: EnvironmentSpec, width: int, rng: Generator, vision: Vision) -> Encoder:
    """The encoder of what an environment shows: of symbols, or of frames by the name of their network."""
    if not spec.pixels:
        return SymbolEncoder(spec.num_observations, width, rng)
    return ResidualEncoder(width, rng) if vision == "resnet" else WhitenedEncoder(width)


class ResidualEncoder(PixelEncoder):
    """The paper's vision network: IMPALA's residual net (16, 32, 32 channels, a block each), linear to D."""

    stages: list[ResidualStage]
    linear: eqx.nn.Linear

    CHANNELS = (16, 32, 32)

    def __init__(self, width: int, rng: Generator, *, frame_size: int = FRAME_SIZE):
        self.stages = [ResidualStage(i, o, rng) for i, o in pairwise((3, *self.CHANNELS))]
        side = frame_size
        for _ in self.stages:
            side = (side + 1) // 2
        self.linear = eqx.nn.Linear(side * side * self.CHANNELS[-1], width, key=draw_key(rng))

    def embed_frames(self, frames: UInt8[Array, "F H W 3"]) -> Float[Array, "F D"]:
        """See `PixelEncoder`."""
        return jax.vmap(self.embed_frame)(frames)

    def embed_frame(self, frame: UInt8[Array, "H W 3"]) -> Float[Array, " D"]:
        """Embed one frame."""
        x = jnp.moveaxis(frame, -1, 0).astype(jnp.float32) / 255
        for stage in self.stages:
            x = stage(x)
        return self.linear(jax.nn.relu(x).reshape(-1))


def draw_key(rng: Generator) -> PRNGKeyArray:
    """A key for layers that draw their own weights."""
    return jax.random.key(int(rng.integers(2**31)))


class ResidualStage(eqx.Module):
    """Convolution, max-pooling by 2, then one residual block."""

    convolution: eqx.nn.Conv2d
    block: list[eqx.nn.Conv2d]

    def __init__(self, num_in: int, num_out: int, rng: Generator):
        self.convolution = eqx.nn.Conv2d(num_in, num_out, 3, padding=1, key=draw_key(rng))
        self.block = [eqx.nn.Conv2d(num_out, num_out, 3, padding=1, key=draw_key(rng)) for _ in range(2)]

    def __call__(self, x: Float[Array, "C H W"]) -> Float[Array, "D h w"]:
        """Apply the stage."""
        x = self.convolution(x)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3), (1, 2, 2), "SAME")
        y = x
        for convolution in self.block:
            y = convolution(jax.nn.relu(y))
        return x + y


class WhitenedEncoder(PixelEncoder):
    """Frames as principal components of equal variance, of unit length: nothing is learned by gradients.

    A street view must be recognised when it is seen again and told apart from others, no more. The leading
    components of small copies of the frames do that, also in cities whose frames had no part in the fit.
    """

    mean: Float[Array, " P"]
    axes: Float[Array, "P D"]

    SQUARE = 4
    """Frames are averaged over squares of this many pixels a side."""

    def __init__(self, width: int):
        size = 3 * (FRAME_SIZE // self.SQUARE) ** 2
        self.mean, self.axes = to_device(np.zeros(size)), to_device(np.zeros((size, width)))

    @property
    def sharpness(self) -> float:
        """See `PixelEncoder`."""
        return SHARPNESS

    def embed_frames(self, frames: UInt8[Array, "F H W 3"]) -> Float[Array, "F D"]:
        """See `PixelEncoder`."""
        whitened = (self._shrink(frames) - self.mean) @ jax.lax.stop_gradient(self.axes)
        length = jnp.sqrt(jnp.sum(jnp.square(whitened), -1, keepdims=True) + 1e-8)
        return jax.lax.stop_gradient(whitened / length)

    def fit(self, frames: UInt8[Array, "F H W 3"]) -> WhitenedEncoder:
        """The encoder whose components are those of these frames."""
        small = np.asarray(jax.lax.map(lambda frame: self._shrink(frame[None])[0], frames, batch_size=256))
        mean = small.mean(0, dtype=np.float64)
        centred = small - mean.astype(np.float32)
        # Of few frames, products of frame with frame: they have the same variances as those of pixels.
        few = len(small) < len(mean)
        products = (centred @ centred.T if few else centred.T @ centred).astype(np.float64)
        variance, directions = np.linalg.eigh(products / len(small))
        leading = slice(-1, -self.axes.shape[1] - 1, -1)
        # Directions without any variance, if there are few frames, stay out of it.
        variance = np.where(variance[leading] > 1e-6 * variance[-1], variance[leading], np.inf)
        axes, found = np.zeros(self.axes.shape), directions[:, leading] * variance**-0.5
        axes[:, : found.shape[1]] = centred.T @ found * (variance * len(small)) ** -0.5 if few else found
        new = (to_device(mean), to_device(axes))
        return eqx.tree_at(lambda e: (e.mean, e.axes), self, new)

    def _shrink(self, frames: UInt8[Array, "F H W 3"]) -> Float[Array, "F P"]:
        side = FRAME_SIZE // self.SQUARE
        squares = frames.astype(jnp.float32).reshape(-1, side, self.SQUARE, side, self.SQUARE, 3)
        return squares.mean(axis=(2, 4)).reshape(len(frames), -1) / 255
