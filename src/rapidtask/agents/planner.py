"""The planner: iterated self-attention over memory rows, with weights shared by all iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from numpy.random import Generator

from rapidtask.agents.fast_gradients import product
from rapidtask.agents.layers import LayerNorm, Linear, Mlp
from rapidtask.agents.memory import Memory
from rapidtask.agents.neighbours import Neighbours, softmax_or_nothing

BlockName = Literal["paper", "residual", "recall", "norm_after", "no_norm"]
Bias = Float[Array, "B H Q N"] | Neighbours
"""What each head's attention of each row to each other is given; or, of rows that see few others, to whom."""


class Plan(eqx.Module):
    """What the planner makes of memories."""

    memory: Memory
    """What the belief's rows are about: the memory, or its k most recent rows (Nxk)."""
    beliefs: Float[Array, "I B N D"]
    """The belief before planning and after each iteration, or the last one alone."""
    attention: list[Float[Array, "B H N M"]]
    """If asked for: how much, in each iteration, the belief's rows attend to the memory's."""


class Attention(eqx.Module):
    """Multi-head attention of queries `[B, Q, D]` to rows `[B, N, D]`, with an additive bias."""

    # Not "value": that is the name of the agent's baseline, an output layer, which is optimised differently.
    to_query: Linear
    to_key: Linear
    to_value: Linear
    to_output: Linear
    num_heads: int = eqx.field(static=True)

    def __init__(self, width: int, num_heads: int, rng: Generator):
        self.to_query, self.to_key, self.to_value = (Linear(width, width, rng, bias=False) for _ in range(3))
        self.to_output = Linear(width, width, rng)
        self.num_heads = num_heads

    def __call__(
        self, queries: Float[Array, "B Q D"], rows: Float[Array, "B N D"], bias: Bias
    ) -> Float[Array, "B Q D"]:
        """Attend; a bias of -inf hides a row, and a head that sees none adds nothing."""
        q, k, v = self._project(queries, rows)
        if isinstance(bias, Neighbours):
            mixed = bias.attend(q, k, v)
        else:
            mixed = jnp.einsum("bhqn,bhnd->bhqd", _weights(q, k, bias), v)
        return self.to_output(jnp.swapaxes(mixed, 1, 2).reshape(queries.shape))

    def weights(
        self, queries: Float[Array, "B Q D"], rows: Float[Array, "B N D"], bias: Float[Array, "B H Q N"]
    ) -> Float[Array, "B H Q N"]:
        """How much each query attends to each row."""
        q, k, _ = self._project(queries, rows)
        return _weights(q, k, bias)

    def _project(
        self, queries: Float[Array, "B Q D"], rows: Float[Array, "B N D"]
    ) -> tuple[Float[Array, "B H Q d"], Float[Array, "B H N d"], Float[Array, "B H N d"]]:
        """Queries, keys and values of every head."""
        of_queries, of_rows = [self.to_query], [self.to_key, self.to_value]
        if queries is rows:
            q, k, v = self._heads(rows, of_queries + of_rows)
        else:
            (q,), (k, v) = self._heads(queries, of_queries), self._heads(rows, of_rows)
        return q, k, v

    def _heads(self, x: Float[Array, "B N D"], layers: list[Linear]) -> Float[Array, "L B H N d"]:
        """What several layers make of rows, by heads: in one product."""
        weight = jnp.concatenate([layer.weight for layer in layers], axis=1)
        y = product(x.reshape(-1, x.shape[-1]), weight)
        return jnp.transpose(y.reshape(*x.shape[:2], len(layers), self.num_heads, -1), (2, 0, 3, 1, 4))


def _weights(
    q: Float[Array, "B H Q d"], k: Float[Array, "B H N d"], bias: Float[Array, "B H Q N"]
) -> Float[Array, "B H Q N"]:
    return softmax_or_nothing(jnp.einsum("bhqd,bhnd->bhqn", q, k) / jnp.sqrt(q.shape[-1]) + bias)


class Block(eqx.Module):
    """One iteration of the planner: attention, then a 2-layer MLP.

    `paper`: B ← MLP(ReLU(B + MHA(LN(B)))). `residual`: B ← B + MHA(LN(B)), then B ← B + MLP(LN(B)).
    `recall`: B ← R + MHA(LN(B)), then B ← B + MLP(LN(B)), R the rows before planning; as in value iteration,
    a row is made anew from what it is and what the last iteration says of others, so it can come to rest.
    What the paper's footnote found worse: `norm_after`, B ← MLP(ReLU(B + LN(MHA(B)))), and `no_norm`.
    """

    attention: Attention
    attention_norm: LayerNorm | None
    mlp: Mlp
    mlp_norm: LayerNorm | None
    name: BlockName = eqx.field(static=True)

    def __init__(self, name: BlockName, width: int, num_heads: int, rng: Generator):
        self.attention = Attention(width, num_heads, rng)
        self.attention_norm = None if name == "no_norm" else LayerNorm(width)
        self.mlp = Mlp((width, width, width), rng)
        self.mlp_norm = LayerNorm(width) if name in ("residual", "recall") else None
        self.name = name

    def __call__(
        self,
        belief: Float[Array, "B Q D"],
        rows: Float[Array, "B N D"] | None,
        bias: Bias,
        start: Float[Array, "B Q D"] | None = None,
    ) -> Float[Array, "B Q D"]:
        """One iteration of `belief` attending to `rows`, or to itself if there are none.

        What it attends to is added to the belief; with `recall` to `start`, if that is given.
        """
        attended = self.attention(*self._attended(belief, rows), bias)
        if self.name == "norm_after":
            assert self.attention_norm is not None
            attended = self.attention_norm(attended)
        if self.mlp_norm is None:
            return self.mlp(jax.nn.relu(belief + attended))
        belief = (start if self.name == "recall" and start is not None else belief) + attended
        return belief + self.mlp(self.mlp_norm(belief))

    def weights(
        self, belief: Float[Array, "B Q D"], rows: Float[Array, "B N D"] | None, bias: Float[Array, "B H Q N"]
    ) -> Float[Array, "B H Q N"]:
        """The attention weights of that iteration."""
        return self.attention.weights(*self._attended(belief, rows), bias)

    def _attended(
        self, belief: Float[Array, "B Q D"], rows: Float[Array, "B N D"] | None
    ) -> tuple[Float[Array, "B Q D"], Float[Array, "B N D"]]:
        """The queries, and the rows they attend to."""
        before = self.attention_norm if self.name in ("paper", "residual", "recall") else None
        norm = before or (lambda x: x)
        queries = norm(belief)
        return queries, queries if rows is None else norm(rows)


class AllToAll(eqx.Module):
    """Every row attends to every row that it is let see, in each iteration."""

    block: Block

    def __call__(
        self,
        rows: Float[Array, "B N D"],
        bias: Bias,
        iterations: int,
        further: Int[Array, ""] | None = None,
        *,
        start: Float[Array, "B N D"] | None = None,
        only_last: bool = False,
    ) -> Float[Array, "I B N D"]:
        """All rows before planning, or after the `further` iterations, and after each iteration; or at last.

        Planning starts from the rows, or from another belief about them. Nothing is learned from further
        iterations: gradients end at the belief that they come to.
        """
        start = rows if start is None else start
        if further is not None:
            fixed, fixed_rows, fixed_bias = jax.tree.map(
                lambda x: jax.lax.stop_gradient(x) if eqx.is_array(x) else x, (self.block, rows, bias)
            )
            think = lambda _, belief: fixed(belief, None, fixed_bias, fixed_rows)  # noqa: E731
            further_on = jax.lax.fori_loop(0, further, think, jax.lax.stop_gradient(start))
            start = jnp.where(further > 0, further_on, start)
        think = lambda belief: self.block(belief, None, bias, rows)  # noqa: E731
        return iterate(think, start, iterations, only_last=only_last)


class MostRecent(eqx.Module):
    """The paper's Nxk: k rows, the belief, attend to all N rows and then to themselves, in each iteration."""

    to_memory: Block
    to_itself: Block

    def __call__(
        self,
        belief: Float[Array, "B K D"],
        rows: Float[Array, "B N D"],
        bias_to_memory: Float[Array, "B H K N"],
        bias_to_itself: Float[Array, "B H K K"],
        iterations: int,
    ) -> Float[Array, "I B K D"]:
        """The belief before planning and after each iteration."""

        def attend(current: Float[Array, "B K D"]) -> Float[Array, "B K D"]:
            attended = self.to_memory(current, rows, bias_to_memory, belief)
            return self.to_itself(attended, None, bias_to_itself)

        return iterate(attend, belief, iterations)


def iterate(
    function: Callable[[Array], Array], start: Array, iterations: int, *, only_last: bool = False
) -> Array:
    """What a function makes of `start`, applied again and again: before, and after each time; or at last."""

    def step(current: Array, _: None) -> tuple[Array, list[Array]]:
        following = function(current)
        return following, [] if only_last else [following]

    # One program for any number of iterations.
    last, after = jax.lax.scan(step, start, length=iterations)
    return last[None] if only_last else jnp.concatenate([start[None], *after])
