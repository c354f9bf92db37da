"""The planner: iterated self-attention over memory rows, with weights shared by all iterations."""

from __future__ import annotations

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from rapidtask.agents.agent import Linear, Mlp
from rapidtask.agents.fast_gradients import normalise

BlockName = Literal["paper", "residual", "norm_after", "no_norm"]


class LayerNorm(eqx.Module):
    """Normalisation of the last axis with a learned scale and offset."""

    scale: Float[Array, " D"]
    offset: Float[Array, " D"]

    def __init__(self, width: int):
        self.scale, self.offset = jnp.ones(width), jnp.zeros(width)

    def __call__(self, x: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        """Normalise."""
        return normalise(x, self.scale, self.offset)


class Attention(eqx.Module):
    """Multi-head attention of queries `[B, Q, D]` to rows `[B, N, D]`, with an additive bias."""

    # Not "value": that is the name of the agent's baseline, an output layer, which is optimised differently.
    to_query: Linear
    to_key: Linear
    to_value: Linear
    to_output: Linear
    num_heads: int = eqx.field(static=True)

    def __init__(self, width: int, num_heads: int, key: PRNGKeyArray):
        if width % num_heads:
            raise ValueError(f"width {width} is not a multiple of {num_heads} heads")
        keys = jax.random.split(key, 4)
        self.to_query, self.to_key, self.to_value = (Linear(width, width, k, bias=False) for k in keys[:3])
        self.to_output = Linear(width, width, keys[3])
        self.num_heads = num_heads

    def __call__(
        self, queries: Float[Array, "B Q D"], rows: Float[Array, "B N D"], bias: Float[Array, "B H Q N"]
    ) -> Float[Array, "B Q D"]:
        """Attend; a bias of -inf hides a row (not all of them)."""
        q = self._heads(self.to_query(queries))
        k, v = self._heads(self.to_key(rows)), self._heads(self.to_value(rows))
        logits = jnp.einsum("bhqd,bhnd->bhqn", q, k) / jnp.sqrt(q.shape[-1]) + bias
        mixed = jnp.einsum("bhqn,bhnd->bhqd", jax.nn.softmax(logits, axis=-1), v)
        return self.to_output(jnp.swapaxes(mixed, 1, 2).reshape(queries.shape))

    def _heads(self, x: Float[Array, "B N D"]) -> Float[Array, "B H N d"]:
        split = x.reshape(*x.shape[:2], self.num_heads, -1)
        return jnp.swapaxes(split, 1, 2)


class Block(eqx.Module):
    """One iteration of the planner: attention, then a 2-layer MLP.

    `paper`: B ← MLP(ReLU(B + MHA(LN(B)))). `residual`: B ← B + MHA(LN(B)), then B ← B + MLP(LN(B)).
    What the paper's footnote found worse: `norm_after`, B ← MLP(ReLU(B + LN(MHA(B)))), and `no_norm`.
    """

    attention: Attention
    attention_norm: LayerNorm | None
    mlp: Mlp
    mlp_norm: LayerNorm | None
    name: BlockName = eqx.field(static=True)

    def __init__(self, name: BlockName, width: int, num_heads: int, key: PRNGKeyArray):
        attention_key, mlp_key = jax.random.split(key)
        self.attention = Attention(width, num_heads, attention_key)
        self.attention_norm = None if name == "no_norm" else LayerNorm(width)
        self.mlp = Mlp((width, width, width), mlp_key)
        self.mlp_norm = LayerNorm(width) if name == "residual" else None
        self.name = name

    def __call__(
        self, belief: Float[Array, "B Q D"], rows: Float[Array, "B N D"] | None, bias: Float[Array, "B H Q N"]
    ) -> Float[Array, "B Q D"]:
        """One iteration of `belief` attending to `rows`, or to itself if there are none."""
        norm = self.attention_norm or (lambda x: x)
        if self.name == "norm_after":
            attended = norm(self.attention(belief, belief if rows is None else rows, bias))
        else:
            queries = norm(belief)
            attended = self.attention(queries, queries if rows is None else norm(rows), bias)
        if self.mlp_norm is None:
            return self.mlp(jax.nn.relu(belief + attended))
        belief = belief + attended
        return belief + self.mlp(self.mlp_norm(belief))


class AllToAll(eqx.Module):
    """Every row attends to every row, in each iteration."""

    block: Block

    def __call__(
        self, rows: Float[Array, "B N D"], bias: Float[Array, "B H N N"], iterations: int
    ) -> list[Float[Array, "B N D"]]:
        """All rows after each iteration; without iterations, the rows."""
        beliefs = [rows]
        for _ in range(iterations):
            beliefs.append(self.block(beliefs[-1], None, bias))
        return beliefs[1:] or beliefs


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
    ) -> list[Float[Array, "B K D"]]:
        """The belief after each iteration; without iterations, as it was given."""
        beliefs = [belief]
        for _ in range(iterations):
            attended = self.to_memory(beliefs[-1], rows, bias_to_memory)
            beliefs.append(self.to_itself(attended, None, bias_to_itself))
        return beliefs[1:] or beliefs
