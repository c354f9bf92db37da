"""Hand-coded policies that know the geometry of the torus."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from rapidtask.envs.environment import TimeStep
from rapidtask.errors import InputError
from rapidtask.policies.policy import Policy, choose
from rapidtask.worlds.torus import OFFSETS, gap

UNSEEN = -1


class TorusMemory(eqx.Module):
    """A map drawn from where the episode began."""

    symbol: Int[Array, "N N"]
    """Symbol of each cell [x, y] relative to the first, or UNSEEN."""
    position: Int[Array, "2"]
    """The agent's cell (x, y) on that map."""


class TorusExplorer(Policy):
    """Walks shortest paths to a goal once seen; until then explores without visiting a cell twice.

    Exploring goes to a nearest unseen cell, and among those to the one with the fewest unseen neighbours
    (as in a knight's tour), so that no cell is left behind.
    """

    forgets: bool = eqx.field(static=True, default=False)
    """Whether everything is forgotten when a task completes: the within-task optimum."""

    def initial_state(self) -> TorusMemory:
        size = self._size
        return TorusMemory(jnp.full((size, size), UNSEEN, jnp.int32), jnp.zeros(2, jnp.int32))

    def step(self, memory: TorusMemory, timestep: TimeStep, key):
        size = self._size
        offsets = jnp.asarray((*OFFSETS, (0, 0)), jnp.int32)
        symbol = memory.symbol
        position = (memory.position + jnp.where(timestep.first, 0, offsets[timestep.action])) % size
        lost = timestep.completed & self.forgets
        if self.rules.respawn:
            # The agent is put on a cell that it cannot place on its map unless it knows the symbol.
            known = symbol == timestep.observation
            found = jnp.stack(jnp.unravel_index(jnp.argmax(known), known.shape)).astype(jnp.int32)
            position = jnp.where(timestep.completed & known.any(), found, position)
            lost |= timestep.completed & ~known.any()
        symbol = jnp.where(lost, UNSEEN, symbol)
        symbol = symbol.at[position[0], position[1]].set(timestep.observation)

        unseen = symbol == UNSEEN
        cells = jnp.arange(size)
        ahead = (position + offsets[: self.rules.num_moves]) % size  # [M, 2] cell each move leads to
        # apart[m, axis, c]: steps from the cell move m leads to; distance[m, x, y] their sum.
        apart = gap(ahead[:, :, None], cells, size)
        distance = apart[:, 0, :, None] + apart[:, 1, None, :]

        far = 2 * size
        is_goal = symbol == timestep.goal
        to_goal = jnp.where(is_goal, distance, far).min(axis=(1, 2))
        cost = jnp.where(unseen, distance * (4 * size) + unseen_neighbours(unseen), far * 4 * size)
        to_unseen = cost.min(axis=(1, 2))
        score = jnp.where(is_goal.any(), to_goal, to_unseen)
        return self.collect_or(timestep, choose(key, score == score.min())), TorusMemory(symbol, position)

    @property
    def _size(self) -> int:
        if self.rules.torus_size is None:
            raise InputError("this policy knows only the torus, and the world is none")
        return self.rules.torus_size


def unseen_neighbours(unseen: Bool[Array, "N N"]) -> Int[Array, "N N"]:
    """How many of each cell's four neighbours are unseen."""
    shifted = [jnp.roll(unseen, shift, axis) for axis in (0, 1) for shift in (1, -1)]
    return jnp.stack(shifted).sum(axis=0)
