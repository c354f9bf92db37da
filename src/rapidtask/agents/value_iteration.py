"""Value iteration over remembered moves: what each place is worth, as exact far from the goal as near it.

In logs, a reward that is discounted at every move is worth less by the same cost at every move. So the best
way on stands out by as much twenty moves from the goal as two, where values themselves would have faded, and
ways may be longer than any in training.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.random import Generator

from rapidtask.agents.layers import Linear, draw_normal
from rapidtask.agents.moves import COST, Moves, look_up

STANDS_OUT = 5.0
"""Places are worth about exp(-5) by themselves at first: one that stands out is seen from 50 moves away."""
NOTHING = -100.0
"""Value of a place that is not in memory."""


class ValueIteration(eqx.Module):
    """C kinds of value, each V(p) = max(S(p), max over actions p → q of V(q) - their cost).

    What places are worth by themselves, S, is learned: from the rows that start or end there. What a row is
    told does not depend on how far off that is.
    """

    unknown: Float[Array, "2 D"]
    """What a row gains for each action whose outcome is not known where it starts, or ends."""
    source: Linear
    to_row: Linear

    def __init__(self, width: int, num_channels: int, rng: Generator):
        self.unknown = draw_normal(rng, 2, width)
        self.source = Linear(width, 2 * num_channels, rng)
        self.to_row = Linear(4 * num_channels, width, rng)

    def of_unknown(self, moves: Moves) -> Float[Array, "B N D"]:
        """What rows are told before planning: how much is to be found out at their ends."""
        ends = (moves.memory.origin, moves.memory.successor)
        told = jnp.stack([look_up(moves.unknown, end) for end in ends], axis=-1)
        return told @ self.unknown

    def __call__(self, worth: Float[Array, "B V C"], moves: Moves) -> Float[Array, "B N D"]:
        """What rows are told after it: how much is gained along them and back, what their ends are worth."""
        here, there = (look_up(worth, end) for end in (moves.memory.origin, moves.memory.successor))
        forth, back = there - here, here - there + COST - moves.back[..., None]
        told = [jnp.tanh(forth / COST), jnp.tanh(back / COST), jnp.exp(here), jnp.exp(there)]
        return self.to_row(jnp.concatenate(told, axis=-1))

    def worth(
        self,
        belief: Float[Array, "B N D"],
        moves: Moves,
        sweeps: int | None = None,
        start: Float[Array, "B V C"] | None = None,
    ) -> Float[Array, "B V C"]:
        """What each place is worth, in logs: see `spread`."""
        by_row = jnp.split(jax.nn.log_sigmoid(self.source(belief) - STANDS_OUT), 2, axis=-1)
        ends = (moves.neighbours.origin, moves.neighbours.successor)
        of_ends = [end.by_place(part, NOTHING).max(axis=2) for end, part in zip(ends, by_row, strict=True)]
        return spread(jnp.maximum(*of_ends), moves, sweeps, start)


def spread(
    source: Float[Array, "B V C"],
    moves: Moves,
    sweeps: int | None = None,
    start: Float[Array, "B V C"] | None = None,
) -> Float[Array, "B V C"]:
    """V = max(S, max over actions of V where they lead - their cost).

    Args:
        source: what places are worth by themselves, S.
        moves: where actions lead, and what that costs.
        sweeps: how often values are passed on; by default until nothing changes.
        start: values to go on from; by default the sources.
    """
    num_places = source.shape[1]
    fixed = jax.lax.stop_gradient(source)

    def along_moves(value: Float[Array, "B V C"]) -> Float[Array, "B V A C"]:
        padded = jnp.pad(value, ((0, 0), (0, 1), (0, 0)), constant_values=NOTHING)
        return look_up(padded, moves.to) - moves.cost[..., None]

    def sweep(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        value, _, done = carry
        following = jnp.maximum(fixed, along_moves(value).max(axis=2))
        return following, (following != value).any(), done + 1

    most = num_places if sweeps is None else sweeps
    going_on = lambda carry: carry[1] & (carry[2] < most)  # noqa: E731
    first = fixed if start is None else jnp.maximum(fixed, start)
    value, _, _ = jax.lax.while_loop(going_on, sweep, (first, jnp.array(True), jnp.array(0)))

    # The gradient of a maximum is that of what is largest: a value's goes to the source that it comes from.
    # Ways there are followed by doubling: where 1, 2, 4, 8 … moves lead.
    options = along_moves(value)
    best = jnp.take_along_axis(moves.to, options.argmax(axis=2), axis=2)
    stays = fixed >= options.max(axis=2)
    comes_from = jnp.where(stays, jnp.arange(num_places)[:, None], jnp.minimum(best, num_places - 1))
    double = lambda _, places: jnp.take_along_axis(places, places, axis=1)  # noqa: E731
    comes_from = jax.lax.fori_loop(0, math.ceil(math.log2(num_places)), double, comes_from)
    return value + jnp.take_along_axis(source - fixed, comes_from, axis=1)
