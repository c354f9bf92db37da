"""Optimisers: RMSprop as in the paper, Muon for hidden matrices with Adam for the rest."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

OptimiserName = Literal["rmsprop", "adam", "muon"]
OUTPUT_LAYERS = frozenset({"logits", "value"})

REST = "rest"
"""Name of the group of parameters that are no hidden matrices."""

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""Muon's coefficients of the iteration that orthogonalises."""

ADAM_SHARE = 0.2
"""Step size of Adam's parameters relative to Muon's."""


def make_optimiser(
    name: OptimiserName, learning_rate: optax.ScalarOrSchedule, *, clip: float
) -> optax.GradientTransformation:
    """Gradient clipping by global norm, then the optimiser, of `grouped` parameters.

    `rmsprop` has the paper's decay 0.99, momentum 0 and epsilon 1e-4. `muon` orthogonalises the updates of
    hidden matrices; embeddings, gains, biases and output layers take Adam steps of ADAM_SHARE of the size.
    """
    match name:
        case "rmsprop":
            optimiser = optax.rmsprop(learning_rate, decay=0.99, eps=1e-4, momentum=0.0)
        case "adam":
            optimiser = optax.adam(learning_rate)
        case "muon":
            optimiser = optax.contrib.muon(
                learning_rate,
                adam_learning_rate=lambda count: ADAM_SHARE * _at(learning_rate, count),
                # As many as its iterations: a loop, where otherwise each would be compiled.
                ns_coeffs=(NEWTON_SCHULZ,) * 5,
                muon_weight_dimension_numbers=_hidden,
            )
    return optax.chain(optax.clip_by_global_norm(clip), optimiser)


Groups = dict[str, Array]
"""Parameters, or their gradients, in few arrays: hidden matrices of each shape `[M, I, O]`, and the rest."""


def grouped(tree: Any) -> Groups:
    """An agent's parameters, or gradients, in groups: each array is a few programs to compile."""
    members: dict[str, list[Array]] = {}
    for name, leaf in _members(tree):
        members.setdefault(name, []).append(leaf.reshape(-1) if name == REST else leaf)
    return {
        name: jnp.concatenate(arrays) if name == REST else jnp.stack(arrays)
        for name, arrays in members.items()
    }


def ungrouped(groups: Groups, like: Any) -> Any:
    """The tree that was grouped; `like` has its shapes."""
    taken, leaves = dict.fromkeys(groups, 0), []
    for name, leaf in _members(like):
        size = np.size(leaf) if name == REST else 1
        leaves.append(groups[name][taken[name] : taken[name] + size].reshape(leaf.shape))
        taken[name] += size
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _members(tree: Any) -> list[tuple[str, Array]]:
    """Each array with the name of its group: hidden matrices are the weights of dense layers inside."""

    def name(path: tuple, leaf: Array) -> str:
        names = [getattr(entry, "name", "") for entry in path]
        inside = not OUTPUT_LAYERS.intersection(names)
        hidden = names[-1] == "weight" and leaf.ndim == 2 and inside
        return "x".join(map(str, leaf.shape)) if hidden else REST

    return [(name(path, leaf), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def _hidden(groups: Any) -> Any:
    """Which groups Muon updates."""
    return {name: optax.contrib.MuonDimensionNumbers(1, 2) for name in groups} | {REST: None}


def _at(learning_rate: optax.ScalarOrSchedule, count: Any) -> Any:
    return learning_rate(count) if callable(learning_rate) else learning_rate
