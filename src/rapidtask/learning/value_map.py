"""The value-map loss: small heads that ask every row of the planner how far its place is from the goal.

The paper probes a trained planner for a map of distances to the goal; training for that map makes it cheap.
Labels are matched to what the agent can know: distances over the edges it has itself experienced in this
episode, and over their inverses where the rules make them inferable. They are privileged only in that the
simulator computes them, so they travel beside the agent's inputs, never among them.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import AgentOutput, Linear, RowTrace
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep
from rapidtask.learning.geometry import UNPLACED, cells_after_moves, place_on_torus, torus_distances
from rapidtask.policies.edges import UNKNOWN, plan, reach
from rapidtask.worlds.world import Rules

STARTS_HERE_WEIGHT = 8.0
"""Weight of the few rows that start at the current state, at the readout."""


class PrivilegedLabels(eqx.Module):
    """What the experienced edges say about distances, for one sample."""

    hops: Int[Array, "*B 2 V"]
    """Fewest known moves from each observation to the goal, and from here to each; V or more if there is no
    known path. A planner needs as many iterations to know the distance."""
    distance: Int[Array, "*B 2 V"]
    """The distance that can be inferred: the known moves, or fewer if the geometry tells of a shorter way."""
    after: Int[Array, "*B M"]
    """Distance to the goal after each move from here, -1 if it leads to no place seen before (on a torus), or
    it is not known where it leads."""
    first: Bool[Array, "*B M V"] | None
    """Which moves begin a shortest known path from here to each observation, if rows are asked for that."""


def known_edges(memory: Memory, rules: Rules, num_observations: int) -> Int[Array, "V M"]:
    """Where each move is known to lead, from the rows of one memory and their inverses."""
    nowhere = num_observations
    is_move = memory.mask & (memory.action < rules.num_moves)
    table = jnp.full((num_observations, rules.num_moves), UNKNOWN, jnp.int32)
    inverse = jnp.asarray(rules.inverse, jnp.int32)[memory.action]
    undoes = is_move & (inverse >= 0)
    table = table.at[jnp.where(undoes, memory.successor, nowhere), inverse].set(memory.origin, mode="drop")
    return table.at[jnp.where(is_move, memory.origin, nowhere), memory.action].set(
        memory.successor, mode="drop"
    )


def label(
    memory: Memory,
    timestep: TimeStep,
    rules: Rules,
    num_observations: int,
    *,
    geometry: bool = False,
    first_moves: bool = False,
) -> PrivilegedLabels:
    """Labels of one sample. First moves are of known paths: with a torus's geometry there are none."""
    edges = known_edges(memory, rules, num_observations)
    here, goal = timestep.observation, timestep.goal
    hops = jnp.stack([plan(edges, jnp.arange(num_observations) == goal), reach(edges, here)])
    if geometry and rules.torus_size is not None:
        return PrivilegedLabels(hops, *infer_on_torus(edges, here, goal, rules.torus_size), None)
    leads_to = edges[here]
    after = jnp.where(leads_to == UNKNOWN, -1, hops[0, leads_to])
    first = begins_shortest_path(edges, leads_to, hops[1]) if first_moves else None
    return PrivilegedLabels(hops, hops, after, first)


def begins_shortest_path(
    edges: Int[Array, "V M"], leads_to: Int[Array, " M"], from_here: Int[Array, " V"]
) -> Bool[Array, "M V"]:
    """Whether each move from here begins a shortest known path to each observation."""
    from_next = jax.vmap(lambda start: reach(edges, start))(leads_to)
    is_known = (leads_to != UNKNOWN)[:, None] & (from_here < edges.shape[0])
    return is_known & (from_next + 1 == from_here)


def infer_on_torus(
    edges: Int[Array, "V M"], here: Int[Array, ""], goal: Int[Array, ""], size: int
) -> tuple[Int[Array, "2 V"], Int[Array, " M"]]:
    """Distances of all observations to the goal and from here, and after each move, by geometry."""
    far = edges.shape[0]
    cell = place_on_torus(edges, here, size)
    between = jnp.asarray(torus_distances(size), jnp.int32)
    to_goal = jnp.where(cell[goal] == UNPLACED, far, between[cell[goal]])
    distance = jnp.where(cell == UNPLACED, far, jnp.stack([to_goal, between[0]])[:, cell])
    cells = jnp.where(cell == UNPLACED, size * size, cell)
    seen = jnp.zeros(size * size, bool).at[cells].set(True, mode="drop")
    next_cells = jnp.asarray(cells_after_moves(size))
    return distance, jnp.where(seen[next_cells], to_goal[next_cells], -1)


class ValueMapHeads(eqx.Module):
    """Linear classifiers on the planner's insides, dropped after training."""

    row_head: Linear
    """Per row and iteration: the distances from where it leads and from where it starts, to each target."""
    readout_head: Linear
    """Per row after the current state is appended: "does not start here", or the distance it leads to."""
    action_head: Linear
    """On the policy's features: for each move "not known where it leads", or the distance after it."""
    first_head: Linear | None
    """Per row and iteration: "not known", or the move that begins a shortest path from here to where it leads
    and to where it starts. A row in the middle then knows all of the way: what it takes to it, and on."""
    num_classes: int = eqx.field(static=True)
    num_targets: int = eqx.field(static=True)
    """1 to ask rows for the distance to the goal, 2 to ask also for that from here."""

    def __init__(
        self,
        width: int,
        max_distance: int,
        num_moves: int,
        key: PRNGKeyArray,
        *,
        num_targets: int = 1,
        first_moves: bool = False,
    ):
        # Distances up to what can be known, and "further".
        self.num_classes = max_distance + 2
        self.num_targets = num_targets
        keys = jax.random.split(key, 3)
        self.row_head = Linear(width, 2 * num_targets * self.num_classes, keys[0])
        self.readout_head = Linear(width, self.num_classes + 1, keys[1])
        self.action_head = Linear(width, num_moves * (self.num_classes + 1), keys[2])
        self.first_head = (
            Linear(width, 2 * (num_moves + 1), jax.random.fold_in(key, 3)) if first_moves else None
        )

    def losses(
        self, output: AgentOutput, here: Int[Array, " B"], labels: PrivilegedLabels
    ) -> dict[str, Float[Array, ""]]:
        """Mean cross-entropy of each kind of head over a batch `[B]`."""
        trace = output.rows
        assert trace is not None
        far = self.num_classes - 1
        places = jnp.concatenate([trace.successor, trace.origin], axis=1)  # [B, 2N]
        look_up = lambda table: jnp.take_along_axis(table[:, : self.num_targets], places[:, None], axis=2)  # noqa: E731
        hops, distance = look_up(labels.hops), jnp.minimum(look_up(labels.distance), far)

        beliefs = trace.beliefs
        # After iteration i a row can know of places up to i moves away.
        iteration = jnp.arange(1, beliefs.shape[0] + 1)[:, None, None, None]
        target = jnp.where(hops <= iteration, distance, far)  # [I, B, targets, 2N]
        target = target.reshape(*target.shape[:2], 2 * self.num_targets, -1)
        target = jnp.swapaxes(target, -1, -2)  # [I, B, N, 2 targets]
        logits = self.row_head(beliefs).reshape(*target.shape, self.num_classes)
        weight = jnp.broadcast_to(trace.mask[..., None], target.shape)
        rows = 2 * self.num_targets * cross_entropy(logits, target, weight)

        starts_here = trace.origin == here[:, None]
        successor = distance[:, 0, : trace.origin.shape[1]]
        parts = {"rows": rows}
        if self.first_head is not None:
            parts["first"] = self._first_loss(trace, places, hops[:, 1], labels)
            # Longer ways are for the summary to join from both ends; a row alone cannot know them.
            within = hops[:, 0, : trace.origin.shape[1]] <= beliefs.shape[0]
            successor = jnp.where(within, successor, far)
        target = jnp.where(starts_here, 1 + successor, 0)
        weight = trace.mask * jnp.where(starts_here, STARTS_HERE_WEIGHT, 1.0)
        readout = cross_entropy(self.readout_head(trace.readout), target, weight)
        return parts | {"readout": readout, "actions": self.action_loss(output.features, labels)}

    def _first_loss(
        self, trace: RowTrace, places: Int[Array, "B 2N"], hops: Int[Array, "B 2N"], labels: PrivilegedLabels
    ) -> Float[Array, ""]:
        assert self.first_head is not None
        assert labels.first is not None
        begins = jnp.take_along_axis(labels.first, places[:, None], axis=2)  # [B, M, 2N]
        iteration = jnp.arange(1, trace.beliefs.shape[0] + 1)[:, None, None, None]
        begins = begins & (hops[:, None] <= iteration)  # [I, B, M, 2N]
        target = jnp.concatenate([~begins.any(axis=2, keepdims=True), begins], axis=2).astype(jnp.float32)
        target = target / target.sum(axis=2, keepdims=True)
        num_classes = target.shape[2]
        # [I, B, classes, 2, N] to [I, B, N, 2, classes]
        target = jnp.moveaxis(target.reshape(*target.shape[:3], 2, -1), (2, 4), (4, 2))
        logits = self.first_head(trace.beliefs).reshape(*trace.beliefs.shape[:3], 2, num_classes)
        weight = jnp.broadcast_to(trace.mask[..., None], target.shape[:-1])
        return 2 * soft_cross_entropy(logits, target, weight)

    def action_loss(self, features: Float[Array, "B F"], labels: PrivilegedLabels) -> Float[Array, ""]:
        """The part that needs no rows: any agent can be asked what its moves lead to."""
        logits = self.action_head(features).reshape(*labels.after.shape, self.num_classes + 1)
        target = jnp.where(labels.after < 0, 0, 1 + jnp.minimum(labels.after, self.num_classes - 1))
        return cross_entropy(logits, target, jnp.ones_like(labels.after))


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
