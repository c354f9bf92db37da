"""Gradients written out where XLA's CPU back end makes slow programs of the derived ones.

Sums over many rows are what it is slow at: they are written as matrix products here, and the products that
give weights their gradients are summed in parts.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PART = 128
"""Rows of each part of a weight's gradient."""


def sum_of_rows(x: Float[Array, "R O"]) -> Float[Array, " O"]:
    """Sum over the first axis."""
    return (jnp.ones((1, x.shape[0]), x.dtype) @ x)[0]


@jax.custom_vjp
def product(x: Float[Array, "R I"], weight: Float[Array, "I O"]) -> Float[Array, "R O"]:
    """`x @ weight`."""
    return x @ weight


def _product_forward(x, weight):
    return x @ weight, (x, weight)


def _product_backward(residuals, gradient):
    x, weight = residuals
    if x.shape[0] > PART and x.shape[0] % PART == 0:
        parts = [a.reshape(-1, PART, a.shape[-1]) for a in (x, gradient)]
        to_weight = jnp.einsum("gri,gro->gio", *parts).sum(0)
    else:
        to_weight = x.T @ gradient
    return gradient @ weight.T, to_weight


product.defvjp(_product_forward, _product_backward)


@jax.custom_vjp
def add_to_rows(x: Float[Array, "R O"], bias: Float[Array, " O"]) -> Float[Array, "R O"]:
    """`x + bias`."""
    return x + bias


add_to_rows.defvjp(lambda x, bias: (x + bias, None), lambda _, gradient: (gradient, sum_of_rows(gradient)))


@jax.custom_vjp
def normalise(
    x: Float[Array, "*B D"], scale: Float[Array, " D"], offset: Float[Array, " D"]
) -> Float[Array, "*B D"]:
    """Layer normalisation of the last axis."""
    return _normalise_forward(x, scale, offset)[0]


def _normalise_forward(x, scale, offset):
    centred = x - x.mean(-1, keepdims=True)
    inverse_deviation = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)
    normal = centred * inverse_deviation
    return normal * scale + offset, (normal, inverse_deviation, scale)


def _normalise_backward(residuals, gradient):
    normal, inverse_deviation, scale = residuals
    scaled = gradient * scale
    along = (scaled * normal).mean(-1, keepdims=True)
    to_x = inverse_deviation * (scaled - scaled.mean(-1, keepdims=True) - normal * along)
    flat = lambda a: a.reshape(-1, a.shape[-1])  # noqa: E731
    return to_x, sum_of_rows(flat(gradient * normal)), sum_of_rows(flat(gradient))


normalise.defvjp(_normalise_forward, _normalise_backward)
