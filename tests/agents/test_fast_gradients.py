"""Gradients written out by hand equal the derived ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapidtask.agents.fast_gradients import PART, add_to_rows, normalise, product


def plain_normalise(x, scale, offset):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * scale + offset


@pytest.mark.parametrize("rows", [7, PART, 3 * PART, 3 * PART + 1])
def test_gradients_equal_the_derived_ones(rows):
    keys = jax.random.split(jax.random.key(0), 4)
    x = jax.random.normal(keys[0], (rows, 6))
    weight, bias = jax.random.normal(keys[1], (6, 5)), jax.random.normal(keys[2], (5,))
    upstream = jax.random.normal(keys[3], (rows, 5))
    scale, offset = jnp.linspace(0.5, 2.0, 5), bias

    def loss(product, add, normalise, x, weight, bias, scale):
        return jnp.sum(normalise(add(product(x, weight), bias), scale, offset) * upstream)

    arguments = (x, weight, bias, scale)
    ours = lambda *a: loss(product, add_to_rows, normalise, *a)  # noqa: E731
    derived = lambda *a: loss(jnp.matmul, jnp.add, plain_normalise, *a)  # noqa: E731
    every = tuple(range(len(arguments)))
    (value, gradients), (expected, derivatives) = (
        jax.jit(jax.value_and_grad(function, every))(*arguments) for function in (ours, derived)
    )
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for got, want in zip(gradients, derivatives, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)
