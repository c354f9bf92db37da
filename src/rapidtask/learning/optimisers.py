"""Optimisers: RMSprop as in the paper, Muon for hidden matrices with Adam for the rest."""

from __future__ import annotations

from typing import Any, Literal

import jax
import optax

OptimiserName = Literal["rmsprop", "adam", "muon"]
OUTPUT_LAYERS = frozenset({"logits", "value"})

ADAM_SHARE = 0.2
"""Step size of Adam's parameters relative to Muon's."""


def make_optimiser(
    name: OptimiserName, learning_rate: optax.ScalarOrSchedule, *, clip: float
) -> optax.GradientTransformation:
    """Gradient clipping by global norm, then the optimiser.

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
                muon_weight_dimension_numbers=hidden_matrices,
            )
    return optax.chain(optax.clip_by_global_norm(clip), optimiser)


def hidden_matrices(parameters: Any) -> Any:
    """Which parameters Muon updates: the weights of dense layers inside the network."""

    def mark(path: tuple, leaf: Any) -> optax.contrib.MuonDimensionNumbers | None:
        names = [getattr(entry, "name", "") for entry in path]
        inside = not OUTPUT_LAYERS.intersection(names)
        hidden = names[-1] == "weight" and leaf.ndim == 2 and inside
        return optax.contrib.MuonDimensionNumbers() if hidden else None

    return jax.tree_util.tree_map_with_path(mark, parameters)


def _at(learning_rate: optax.ScalarOrSchedule, count: Any) -> Any:
    return learning_rate(count) if callable(learning_rate) else learning_rate
