"""Layers of the agents' networks."""

from __future__ import annotations

from itertools import pairwise

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float
from numpy.random import Generator

from rapidtask.agents.fast_gradients import add_to_rows, normalise, product


def to_device(weights: Float[np.ndarray, "..."]) -> Float[Array, "..."]:
    """Weights as JAX's. `jnp.asarray` and `jnp.zeros` would compile a program for each shape."""
    return jax.device_put(weights.astype(np.float32))


def draw_normal(rng: Generator, *shape: int, scale: float = 1.0) -> Float[Array, "..."]:
    """Normal numbers, drawn by NumPy: JAX would compile a program for each shape."""
    return to_device(scale * rng.normal(size=shape))


class Mlp(eqx.Module):
    """Dense layers with ReLU in between, on the last axis of any array."""

    layers: list[Linear]

    def __init__(self, sizes: tuple[int, ...], rng: Generator):
        self.layers = [Linear(i, o, rng) for i, o in pairwise(sizes)]

    def __call__(self, x: Float[Array, "*B I"]) -> Float[Array, "*B O"]:
        """Apply the layers."""
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)


class Linear(eqx.Module):
    """x W + b on the last axis of any array, weight `[I, O]`.

    Leading axes are flattened into one product: XLA's CPU back end runs that several times faster than a
    product with batch axes.
    """

    weight: Float[Array, "I O"]
    bias: Float[Array, " O"] | None

    def __init__(self, num_in: int, num_out: int, rng: Generator, *, bias: bool = True, scale: float = 1.0):
        # A normal of variance scale² / fan-in, cut off at two deviations, as Sonnet and Haiku initialise.
        weight = rng.normal(size=(num_in, num_out))
        while (beyond := abs(weight) > 2).any():
            weight[beyond] = rng.normal(size=beyond.sum())
        self.weight = to_device(scale * num_in**-0.5 * weight)
        self.bias = to_device(np.zeros(num_out)) if bias else None

    def __call__(self, x: Float[Array, "*B I"]) -> Float[Array, "*B O"]:
        """Apply the layer."""
        y = product(x.reshape(-1, x.shape[-1]), self.weight)
        if self.bias is not None:
            y = add_to_rows(y, self.bias)
        return y.reshape(*x.shape[:-1], -1)


class LayerNorm(eqx.Module):
    """Normalisation of the last axis with a learned scale and offset."""

    scale: Float[Array, " D"]
    offset: Float[Array, " D"]

    def __init__(self, width: int):
        self.scale, self.offset = to_device(np.ones(width)), to_device(np.zeros(width))

    def __call__(self, x: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        """Normalise."""
        return normalise(x, self.scale, self.offset)
