"""Policies that remember the edges they experienced and plan over them."""

from __future__ import annotations

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from rapidtask.envs.environment import TimeStep
from rapidtask.policies.policy import Policy, choose
from rapidtask.worlds.world import Rules

UNKNOWN = -1


class EdgeMemory(eqx.Module):
    """The edges experienced so far, by observation id."""

    successor: Int[Array, "V M"]
    """Observation that each move led to from each observation, or UNKNOWN."""
    observation: Int[Array, ""]
    """Where the agent was at the last step."""
    goal: Int[Array, ""]
    """The goal at the last step."""


class EdgePlanner(Policy):
    """Takes a shortest path over known edges to the goal; with none, to the nearest move never tried.

    The same planner is four reference policies: what it infers and when it forgets are options.
    """

    inverses: bool = eqx.field(static=True, default=False)
    """Whether an experienced move also teaches the move that undoes it."""
    forgets: bool = eqx.field(static=True, default=False)
    """Whether everything is forgotten when a task completes."""

    def initial_state(self) -> EdgeMemory:
        nowhere = jnp.asarray(UNKNOWN, jnp.int32)
        successor = jnp.full((self.num_observations, self.rules.num_moves), UNKNOWN, jnp.int32)
        return EdgeMemory(successor, nowhere, nowhere)

    def step(self, memory: EdgeMemory, timestep: TimeStep, key):
        successor = self.remember(memory, timestep)
        here, goal = timestep.observation, timestep.goal
        to_goal = plan(successor, jnp.arange(self.num_observations) == goal)
        is_frontier = (successor == UNKNOWN).any(axis=1)
        to_frontier = plan(successor, is_frontier)

        untried = successor[here] == UNKNOWN
        explore = jnp.where(is_frontier[here], untried, best_moves(successor[here], to_frontier))
        goal_known = to_goal[here] < self.num_observations
        move = choose(key, jnp.where(goal_known, best_moves(successor[here], to_goal), explore))
        return self.collect_or(timestep, move), EdgeMemory(successor, here, goal)

    def remember(self, memory: EdgeMemory, timestep: TimeStep) -> Int[Array, "V M"]:
        """The known edges, with the one just experienced."""
        successor, action = memory.successor, timestep.action
        reached = timestep.observation
        if self.rules.respawn:
            # A completed task moved the agent elsewhere; the reward tells that its action led to the goal.
            reached = jnp.where(timestep.completed, memory.goal, reached)
        rules = self.rules if self.inverses else replace(self.rules, inverse=())
        successor = add_edges(successor, memory.observation, action, reached, ~timestep.first, rules)
        if self.forgets:
            successor = jnp.where(timestep.completed, UNKNOWN, successor)
        return successor


def add_edges(
    successor: Int[Array, "V M"],
    origin: Int[Array, "*R"],
    action: Int[Array, "*R"],
    reached: Int[Array, "*R"],
    real: Bool[Array, "*R"],
    rules: Rules,
) -> Int[Array, "V M"]:
    """The known edges with those that real actions revealed, and with their inverses by the rules."""
    # Writing at row V drops the write.
    nowhere = successor.shape[0]
    moved = real & (action < rules.num_moves)
    inverse = jnp.asarray(rules.inverse, jnp.int32)[action]
    undone = jnp.where(moved & (inverse >= 0), reached, nowhere)
    successor = successor.at[undone, inverse].set(origin, mode="drop")
    return successor.at[jnp.where(moved, origin, nowhere), action].set(reached, mode="drop")


def plan(successor: Int[Array, "V M"], targets: Bool[Array, " V"]) -> Int[Array, " V"]:
    """Fewest known moves from each observation to a target; V or more where no known path leads."""
    far = successor.shape[0]
    known = successor != UNKNOWN

    def sweep(carry):
        distance, _ = carry
        through = jnp.where(known, distance[successor], far).min(axis=1) + 1
        shorter = jnp.minimum(distance, through)
        return shorter, (shorter < distance).any()

    distance = jnp.where(targets, 0, far)
    return jax.lax.while_loop(lambda carry: carry[1], sweep, (distance, jnp.asarray(True)))[0]


def best_moves(successor: Int[Array, " M"], distance: Int[Array, " V"]) -> Bool[Array, " M"]:
    """The known moves that lead closest to the targets of `distance`."""
    after = jnp.where(successor == UNKNOWN, distance.shape[0] + 1, distance[successor])
    return after == after.min()
