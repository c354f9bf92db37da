"""The value-map loss: small heads that ask every row of the planner how far its place is from the goal.

The paper probes a trained planner for a map of distances to the goal; training for that map makes it cheap.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import AgentOutput, Linear, RowTrace
from rapidtask.learning.labels import FROM_HERE, TO_GOAL, TO_UNTRIED, PrivilegedLabels

LEADS_TO, STARTS_AT = range(2)
"""The two ends of a row."""
STARTS_HERE_WEIGHT = 8.0
"""Weight of the few rows that start at the current state, at the readout."""


class ValueMapHeads(eqx.Module):
    """Linear classifiers on the planner's insides, dropped after training."""

    row_head: Linear
    """Per row and iteration: the distances from where it leads and from where it starts, to each target."""
    readout_head: Linear
    """Per row after the current state is appended: "does not start here", or the distance it leads to. With
    ways, for each move from here: "no known way through this row begins so", or the length of the whole way
    to the goal, and to a move never tried."""
    action_head: Linear
    """On the policy's features: for each move "not known where it leads", or the distance after it; with ways
    also the moves left until one is made that was never tried."""
    first_head: Linear | None
    """With ways, per row and iteration: "not known", or the move that begins a shortest path from here to
    where it leads and to where it starts. A row in the middle of a way can then join its two halves."""
    num_classes: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)
    """Distances that rows are asked for: to the goal, from here, to moves never tried."""

    def __init__(
        self,
        width: int,
        max_distance: int,
        num_moves: int,
        key: PRNGKeyArray,
        *,
        num_targets: int = 1,
        ways: bool = False,
    ):
        """Make heads for labels with or without ways; rows are asked for those with all three targets."""
        rows_know_ways = ways and num_targets == 3
        # Distances up to what can be known, and "further".
        self.num_classes = max_distance + 2
        self.num_targets = num_targets
        keys = jax.random.split(key, 4)
        self.row_head = Linear(width, 2 * num_targets * self.num_classes, keys[0])
        num_ends = 2 if ways else 1  # the goal, and moves never tried
        num_readouts = num_ends * num_moves if rows_know_ways else 1
        self.readout_head = Linear(width, num_readouts * (self.num_classes + 1), keys[1])
        self.action_head = Linear(width, num_ends * num_moves * (self.num_classes + 1), keys[2])
        self.first_head = Linear(width, 2 * (num_moves + 1), keys[3]) if rows_know_ways else None

    def losses(
        self,
        output: AgentOutput,
        here: Int[Array, " B"],
        labels: PrivilegedLabels,
        read_after: Int[Array, " B"] | None = None,
    ) -> dict[str, Float[Array, ""]]:
        """Mean cross-entropy of each kind of head over a batch `[B]`.

        Args:
            output: what the agent made of its memories, with its rows.
            here: where the agents are.
            labels: what the rows are asked for.
            read_after: iterations after which each plan was acted on, if not after the last.
        """
        trace = output.rows
        assert trace is not None
        far = self.num_classes - 1
        hops = at_both_ends(trace, labels.hops[:, : self.num_targets])  # [B, targets, 2, N]
        distance = jnp.minimum(at_both_ends(trace, labels.distance[:, : self.num_targets]), far)

        iteration = jnp.arange(1, trace.beliefs.shape[0] + 1)[:, None, None, None, None]
        # After iteration i a row can know of places up to i moves away.
        needed = hops if self.first_head is None else iterations_needed(hops)
        target = jnp.where(needed <= iteration, distance, far)  # [I, B, targets, 2, N]
        target = jnp.moveaxis(target, -1, 2)
        logits = self.row_head(trace.beliefs).reshape(*target.shape, self.num_classes)
        weight = jnp.broadcast_to(trace.mask[..., None, None], target.shape)
        parts = {"rows": 2 * self.num_targets * cross_entropy(logits, target, weight)}
        if self.first_head is None:
            parts["readout"] = self._readout_loss(trace, here, distance[:, TO_GOAL, 0])
        else:
            last = trace.beliefs.shape[0] if read_after is None else read_after[:, None, None]
            parts |= self._way_losses(trace, here, hops, labels, last)
        return parts | {"actions": self.action_loss(output.features, labels)}

    def _readout_loss(
        self, trace: RowTrace, here: Int[Array, " B"], distance: Int[Array, "B N"]
    ) -> Float[Array, ""]:
        starts_here = trace.origin == here[:, None]
        target = jnp.where(starts_here, 1 + distance, 0)
        weight = trace.mask * jnp.where(starts_here, STARTS_HERE_WEIGHT, 1.0)
        return cross_entropy(self.readout_head(trace.readout), target, weight)

    def _way_losses(
        self,
        trace: RowTrace,
        here: Int[Array, " B"],
        hops: Int[Array, "B targets 2 N"],
        labels: PrivilegedLabels,
        read_after: Int[Array, "B 1 1"] | int,
    ) -> dict[str, Float[Array, ""]]:
        assert self.first_head is not None
        assert labels.first is not None
        far = self.num_classes - 1
        begins = at_both_ends(trace, labels.first)  # [B, M, 2, N]
        iteration = jnp.arange(1, trace.beliefs.shape[0] + 1)[:, None, None, None, None]
        needed = iterations_needed(hops)[:, None, FROM_HERE]
        known = begins & (needed <= iteration)  # [I, B, M, 2, N]
        target = jnp.concatenate([~known.any(axis=2, keepdims=True), known], axis=2).astype(jnp.float32)
        target = jnp.moveaxis(target / target.sum(axis=2, keepdims=True), (2, 4), (4, 2))
        logits = self.first_head(trace.beliefs).reshape(target.shape)
        weight = jnp.broadcast_to(trace.mask[..., None], target.shape[:-1])
        first = 2 * soft_cross_entropy(logits, target, weight)

        # The way through a row: to where it starts, over it, and on from where it leads.
        starts_here = (trace.origin == here[:, None])[:, None]
        begins = jnp.where(starts_here, begins[:, :, LEADS_TO], begins[:, :, STARTS_AT])[:, None]
        onward, come = hops[:, (TO_GOAL, TO_UNTRIED), LEADS_TO], hops[:, FROM_HERE, STARTS_AT][:, None]
        joined = (onward <= read_after) & (come <= read_after)  # [B, 2, N]
        length = jnp.where(joined[:, :, None] & begins, (come + 1 + onward)[:, :, None], far)  # [B, 2, M, N]
        target = jnp.moveaxis(jnp.where(length < far, 1 + length, 0), -1, 1)
        logits = self.readout_head(trace.readout).reshape(*target.shape, -1)
        weight = jnp.broadcast_to(trace.mask[..., None, None], target.shape)
        readout = 2 * cross_entropy(logits, target, weight)
        return {"first": first, "readout": readout}

    def action_loss(self, features: Float[Array, "B F"], labels: PrivilegedLabels) -> Float[Array, ""]:
        """The part that needs no rows: any agent can be asked what its moves lead to."""
        logits = self.action_head(features).reshape(*labels.after.shape, self.num_classes + 1)
        target = jnp.where(labels.after < 0, 0, 1 + jnp.minimum(labels.after, self.num_classes - 1))
        return labels.after.shape[-2] * cross_entropy(logits, target, jnp.ones_like(labels.after))


def iterations_needed(hops: Int[Array, "B targets 2 N"]) -> Int[Array, "B targets 2 N"]:
    """Iterations after which a row can know distances at its two ends.

    Distances come to a row from the rows that go on from where it leads, and from those that lead to where
    it starts. What lies behind its other end it knows from its own transition at once, or an iteration later
    from a neighbour there.
    """
    leads_to, starts_at = hops[:, :, LEADS_TO], hops[:, :, STARTS_AT]
    is_ahead = jnp.arange(hops.shape[1])[:, None] != FROM_HERE
    near, other = jnp.where(is_ahead, leads_to, starts_at), jnp.where(is_ahead, starts_at, leads_to)
    other = jnp.where(other == near + 1, near, other + 1)
    return jnp.stack([jnp.where(is_ahead, near, other), jnp.where(is_ahead, other, near)], axis=2)


def at_both_ends(trace: RowTrace, table: Array) -> Array:
    """What a table `[B, K, V]` holds for where each row leads and for where it starts: `[B, K, 2, N]`."""
    places = jnp.concatenate([trace.successor, trace.origin], axis=1)
    found = jnp.take_along_axis(table, places[:, None], axis=2)
    return found.reshape(*found.shape[:2], 2, -1)


def cross_entropy(
    logits: Float[Array, "*B C"], target: Int[Array, "*B"], weight: Float[Array, "*B"] | Bool[Array, "*B"]
) -> Float[Array, ""]:
    """Weighted mean cross-entropy of classes."""
    # A product with the one-hot target, because a gather's gradient is a slow scatter on the CPU.
    return soft_cross_entropy(logits, jax.nn.one_hot(target, logits.shape[-1]), weight)


def soft_cross_entropy(
    logits: Float[Array, "*B C"], target: Float[Array, "*B C"], weight: Float[Array, "*B"] | Bool[Array, "*B"]
) -> Float[Array, ""]:
    """Weighted mean cross-entropy of distributions over classes."""
    per_item = -jnp.sum(target * jax.nn.log_softmax(logits), axis=-1)
    return jnp.sum(per_item * weight) / jnp.maximum(jnp.sum(weight), 1.0)
