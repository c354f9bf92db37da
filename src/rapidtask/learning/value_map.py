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

from rapidtask.agents.agent import AgentOutput, Linear
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep
from rapidtask.policies.edges import UNKNOWN, plan
from rapidtask.worlds.world import Rules

STARTS_HERE_WEIGHT = 8.0
"""Weight of the few rows that start at the current state, at the readout."""


class PrivilegedLabels(eqx.Module):
    """What the experienced edges say about distances, for one sample."""

    distance: Int[Array, "*B V"]
    """Fewest known moves from each observation to the goal; V or more if no known path leads there."""
    after: Int[Array, "*B M"]
    """Distance to the goal after each move from here, -1 if it is not known where the move leads."""


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


def label(memory: Memory, timestep: TimeStep, rules: Rules, num_observations: int) -> PrivilegedLabels:
    """Labels of one sample."""
    edges = known_edges(memory, rules, num_observations)
    distance = plan(edges, jnp.arange(num_observations) == timestep.goal)
    leads_to = edges[timestep.observation]
    return PrivilegedLabels(distance, jnp.where(leads_to == UNKNOWN, -1, distance[leads_to]))


class ValueMapHeads(eqx.Module):
    """Linear classifiers on the planner's insides, dropped after training."""

    successor_head: Linear
    """Per row and iteration: distance of where the row leads."""
    origin_head: Linear
    """Per row and iteration: distance of where the row starts; inverse edges lead there."""
    readout_head: Linear
    """Per row after the current state is appended: "does not start here", or the distance it leads to."""
    action_head: Linear
    """On the policy's features: for each move "not known where it leads", or the distance after it."""
    num_classes: int = eqx.field(static=True)
    num_moves: int = eqx.field(static=True)

    def __init__(self, width: int, iterations: int, num_moves: int, key: PRNGKeyArray):
        # Distances 0 to `iterations`, and "further than can be known".
        self.num_classes = iterations + 2
        self.num_moves = num_moves
        keys = jax.random.split(key, 4)
        self.successor_head = Linear(width, self.num_classes, keys[0])
        self.origin_head = Linear(width, self.num_classes, keys[1])
        self.readout_head = Linear(width, self.num_classes + 1, keys[2])
        self.action_head = Linear(width, num_moves * (self.num_classes + 1), keys[3])

    def losses(
        self, output: AgentOutput, memory: Memory, here: Int[Array, " B"], labels: PrivilegedLabels
    ) -> dict[str, Float[Array, ""]]:
        """Mean cross-entropy of each kind of head over a batch `[B]`."""
        assert output.rows is not None
        mask = output.rows.mask
        far = self.num_classes - 1
        look_up = lambda ids: jnp.take_along_axis(labels.distance, ids, axis=1)  # noqa: E731
        successor, origin = look_up(memory.successor), look_up(memory.origin)

        beliefs = output.rows.beliefs
        # After iteration i a row can know distances up to i.
        cap = jnp.arange(1, beliefs.shape[0] + 1)[:, None, None] + 1
        in_use = jnp.broadcast_to(mask, beliefs.shape[:-1])
        rows = cross_entropy(self.successor_head(beliefs), jnp.minimum(successor, cap), in_use)
        rows += cross_entropy(self.origin_head(beliefs), jnp.minimum(origin, cap), in_use)

        starts_here = memory.origin == here[:, None]
        target = jnp.where(starts_here, 1 + jnp.minimum(successor, far), 0)
        weight = mask * jnp.where(starts_here, STARTS_HERE_WEIGHT, 1.0)
        readout = cross_entropy(self.readout_head(output.rows.readout), target, weight)
        return {"rows": rows, "readout": readout, "actions": self.action_loss(output.features, labels)}

    def action_loss(self, features: Float[Array, "B F"], labels: PrivilegedLabels) -> Float[Array, ""]:
        """The part that needs no rows: any agent can be asked what its moves lead to."""
        logits = self.action_head(features).reshape(*labels.after.shape, self.num_classes + 1)
        target = jnp.where(labels.after < 0, 0, 1 + jnp.minimum(labels.after, self.num_classes - 1))
        return cross_entropy(logits, target, jnp.ones_like(labels.after))


def cross_entropy(
    logits: Float[Array, "*B C"], target: Int[Array, "*B"], weight: Float[Array, "*B"] | Bool[Array, "*B"]
) -> Float[Array, ""]:
    """Weighted mean cross-entropy of classes."""
    log_probability = jax.nn.log_softmax(logits)
    # A product with the one-hot target, because a gather's gradient is a slow scatter on the CPU.
    one_hot = jax.nn.one_hot(target, logits.shape[-1])
    per_item = -jnp.sum(one_hot * log_probability, axis=-1)
    return jnp.sum(per_item * weight) / jnp.maximum(jnp.sum(weight), 1.0)
