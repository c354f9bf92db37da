"""Labels of the value-map loss: what an agent can infer of distances from what it has experienced.

Labels are matched to what the agent can know: distances over the edges it has itself experienced in this
episode, and over their inverses where the rules make them inferable. They are privileged only in that the
simulator computes them, so they travel beside the agent's inputs, never among them.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep
from rapidtask.learning.geometry import UNPLACED, cells_after_moves, place_on_torus, torus_distances
from rapidtask.policies.edges import UNKNOWN, plan, reach
from rapidtask.worlds.world import Rules

TO_GOAL, FROM_HERE, TO_UNTRIED = range(3)
"""What distances are measured to or from: the targets of labels, in their order."""


class PrivilegedLabels(eqx.Module):
    """What the experienced edges say about distances, for one sample."""

    hops: Int[Array, "*B targets V"]
    """Fewest known moves from each observation to the goal, from here to each, and (if asked for) from each
    until a move never tried before has been made; V or more if there is no known path. A planner needs as
    many iterations to know the distance."""
    distance: Int[Array, "*B targets V"]
    """The distance that can be inferred: the known moves, or fewer if the geometry tells of a shorter way."""
    after: Int[Array, "*B moves M"]
    """Distance to the goal after each move from here, -1 if it leads to no place seen before (on a torus), or
    it is not known where it leads; then (if asked for) moves left until one never tried has been made."""
    first: Bool[Array, "*B M V"] | None
    """Which moves begin a shortest known path from here to each observation, if rows are asked for that."""

    advice: Float[Array, "*B M"] | None
    """What an edge planner would do, as probabilities of moves, if ways are labelled."""


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
    ways: bool = False,
) -> PrivilegedLabels:
    """Labels of one sample.

    Args:
        memory: the experienced transitions.
        timestep: where the agent is and wants to go.
        rules: which moves undo each other, and whether the world is a torus.
        num_observations: size of the vocabulary, V.
        geometry: whether to use what a torus tells about visited places; it has no labels of ways.
        ways: whether to label the first moves of known paths, and distances to moves never tried.
    """
    edges = known_edges(memory, rules, num_observations)
    here, goal = timestep.observation, timestep.goal
    hops = jnp.stack([plan(edges, jnp.arange(num_observations) == goal), reach(edges, here)])
    if geometry and rules.torus_size is not None:
        return PrivilegedLabels(hops, *infer_on_torus(edges, here, goal, rules.torus_size), None, None)
    leads_to = edges[here]
    is_tried = leads_to != UNKNOWN
    after = jnp.where(is_tried, hops[TO_GOAL, leads_to], -1)
    if not ways:
        return PrivilegedLabels(hops, hops, after[None], None, None)
    to_untried = 1 + plan(edges, (edges == UNKNOWN).any(axis=1))
    hops = jnp.concatenate([hops, to_untried[None]])
    left = jnp.where(is_tried, to_untried[leads_to], 0)
    return PrivilegedLabels(
        hops,
        hops,
        jnp.stack([after, left]),
        begins_shortest_path(edges, leads_to, hops[FROM_HERE]),
        advise(after, left, rules, num_observations),
    )


def advise(
    to_goal: Int[Array, " M"], to_untried: Int[Array, " M"], rules: Rules, num_observations: int
) -> Float[Array, " M"]:
    """The first move of a shortest known path to the goal; without one, to a move never tried.

    Of moves never tried, those that can be undone come first: they teach two edges.
    """
    is_known = (to_goal >= 0) & (to_goal < num_observations)
    can_be_undone = jnp.asarray(rules.inverse[: rules.num_moves]) >= 0
    explore = 2 * to_untried + ((to_untried == 0) & ~can_be_undone)
    left = jnp.where(is_known.any(), jnp.where(is_known, to_goal, num_observations), explore)
    best = left == left.min()
    return best / best.sum()


def begins_shortest_path(
    edges: Int[Array, "V M"], leads_to: Int[Array, " M"], from_here: Int[Array, " V"]
) -> Bool[Array, "M V"]:
    """Whether each move from here begins a shortest known path to each observation."""
    from_next = jax.vmap(lambda start: reach(edges, start))(leads_to)
    is_known = (leads_to != UNKNOWN)[:, None] & (from_here < edges.shape[0])
    return is_known & (from_next + 1 == from_here)


def infer_on_torus(
    edges: Int[Array, "V M"], here: Int[Array, ""], goal: Int[Array, ""], size: int
) -> tuple[Int[Array, "2 V"], Int[Array, "1 M"]]:
    """Distances of all observations to the goal and from here, and after each move, by geometry."""
    far = edges.shape[0]
    cell = place_on_torus(edges, here, size)
    between = jnp.asarray(torus_distances(size), jnp.int32)
    to_goal = jnp.where(cell[goal] == UNPLACED, far, between[cell[goal]])
    distance = jnp.where(cell == UNPLACED, far, jnp.stack([to_goal, between[0]])[:, cell])
    cells = jnp.where(cell == UNPLACED, size * size, cell)
    seen = jnp.zeros(size * size, bool).at[cells].set(True, mode="drop")
    next_cells = jnp.asarray(cells_after_moves(size))
    return distance, jnp.where(seen[next_cells], to_goal[next_cells], -1)[None]
