"""Layers of the agents' networks."""

from __future__ import annotations

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.random import Generator

from rapidtask.agents.fast_gradients import add_to_rows, normalise, product


def draw_normal(rng: Generator, *shape: int, scale: float = 1.0) -> Float[Array, "..."]:
    """Normal numbers. Weights are drawn by NumPy: to draw them by JAX, each shape would be compiled."""
    return jnp.asarray(scale * rng.normal(size=shape), jnp.float32)


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
        self.weight = jnp.asarray(scale * num_in**-0.5 * weight, jnp.float32)
        self.bias = jnp.zeros(num_out) if bias else None

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
        self.scale, self.offset = jnp.ones(width), jnp.zeros(width)

    def __call__(self, x: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        """Normalise."""
        return normalise(x, self.scale, self.offset)
