"""Layers of the agents' networks."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from rapidtask.agents.fast_gradients import add_to_rows, normalise, product


class Mlp(eqx.Module):
    """Dense layers with ReLU in between, on the last axis of any array."""

    layers: list[Linear]

    def __init__(self, sizes: tuple[int, ...], key: PRNGKeyArray):
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = [Linear(i, o, k) for i, o, k in zip(sizes[:-1], sizes[1:], keys, strict=True)]

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

    def __init__(
        self, num_in: int, num_out: int, key: PRNGKeyArray, *, bias: bool = True, scale: float = 1.0
    ):
        # Truncated normal of variance scale² / fan-in, as Sonnet and Haiku initialise.
        self.weight = scale * jax.random.truncated_normal(key, -2, 2, (num_in, num_out)) / jnp.sqrt(num_in)
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
