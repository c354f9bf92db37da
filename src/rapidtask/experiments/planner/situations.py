"""Situations to ask a planner about: somewhere, a goal, and a memory of every transition of a new world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep


@dataclass(frozen=True, eq=False)
class Situations:
    """K situations; situations of the same `group` share their world, its symbols and the goal."""

    worlds: Any
    """A pool of them, on the host: a `World` of NumPy arrays."""
    world: Int[np.ndarray, " K"]
    """Which of the worlds."""
    symbols: Int[np.ndarray, "K S"]
    """Observation id of each state."""
    here: Int[np.ndarray, " K"]
    """The current state."""
    goal: Int[np.ndarray, " K"]
    """The goal state."""
    group: Int[np.ndarray, " K"]
    """Which situations belong together, as the states of one map."""

    def __len__(self) -> int:
        return len(self.world)

    @property
    def distance(self) -> Int[np.ndarray, " K"]:
        """Fewest moves to the goal: what is to be decoded."""
        return np.asarray(self.worlds.distance)[self.world, self.here, self.goal].astype(np.int32)

    @property
    def num_moves(self) -> int:
        """Moves from each state, M."""
        return self.worlds.rules.num_moves

    @property
    def num_rows(self) -> Int[np.ndarray, " K"]:
        """Rows of each memory."""
        return np.asarray(self.worlds.num_states)[self.world] * self.num_moves

    def take(self, index: np.ndarray) -> Situations:
        """Some of the situations."""
        _, *parts = vars(self).values()
        return Situations(self.worlds, *(part[index] for part in parts))

    def ids(self, states: Int[np.ndarray, " K"]) -> Int[np.ndarray, " K"]:
        """Observation ids of a state in each situation."""
        return self.symbols[np.arange(len(self)), states]

    def memories(self, num_slots: int) -> Memory:
        """Memories `[K, N]` that hold every state and move once, in as many slots as asked for.

        Row `s * M + m` is move m from state s, so that rows of states that exist come first.
        """
        states, moves = np.divmod(np.arange(num_slots), self.num_moves)
        there: Bool[np.ndarray, "K N"] = states < self.worlds.num_states[self.world][:, None]
        # Slots beyond the world are unused: any state will do.
        states = np.minimum(states, self.symbols.shape[1] - 1)
        reached = np.asarray(self.worlds.next_state)[self.world[:, None], states, moves]
        used = lambda ids: jax.device_put(np.where(there, ids, 0).astype(np.int32))  # noqa: E731
        return Memory(
            origin=used(self.symbols[:, states]),
            action=used(moves),
            successor=used(np.take_along_axis(self.symbols, reached, axis=1)),
            count=used(1),
            written=used(np.arange(1, num_slots + 1)),
            steps=jax.device_put(there.sum(axis=1).astype(np.int32)),
            observation=jax.device_put(self.ids(self.here)),
            goal=jax.device_put(self.ids(self.goal)),
        )

    def timesteps(self) -> TimeStep:
        """What the agent sees, `[K]`: where it is and where it should go, in the midst of an episode."""
        zeros = jnp.zeros(len(self), jnp.int32)
        return TimeStep(
            observation=jax.device_put(self.ids(self.here)),
            goal=jax.device_put(self.ids(self.goal)),
            action=zeros,
            reward=jnp.zeros(len(self)),
            completed=zeros > 0,
            discount=jnp.ones(len(self)),
            first=zeros > 0,
            last=zeros > 0,
        )


def sample_situations(worlds: Any, count: int, generator: np.random.Generator) -> Situations:
    """Random states and goals (they may be the same), each in a world and with symbols of its own."""
    world = generator.integers(len(worlds.num_states), size=count)
    states = worlds.num_states[world]
    here, goal = (generator.integers(states) for _ in range(2))
    symbols = _symbols(worlds, count, generator)
    return Situations(worlds, world, symbols, here, goal, np.arange(count))


def sample_maps(worlds: Any, count: int, generator: np.random.Generator) -> Situations:
    """Every state of random worlds, each world with one random goal: as many maps."""
    world = generator.permutation(len(worlds.num_states))[:count]
    if len(world) < count:  # one world with new symbols each time
        world = generator.integers(len(worlds.num_states), size=count)
    goal = generator.integers(worlds.num_states[world])
    return all_states(worlds, world, goal, _symbols(worlds, count, generator))


def all_states(worlds: Any, world: np.ndarray, goal: np.ndarray, symbols: np.ndarray) -> Situations:
    """The maps of G worlds `[G]` with a goal each, `[G]`: one situation for every state."""
    states = worlds.num_states[world]
    group = np.repeat(np.arange(len(world)), states)
    here = np.concatenate([np.arange(n) for n in states])
    return Situations(worlds, world[group], symbols[group], here, goal[group], group)


def _symbols(worlds: Any, count: int, generator: np.random.Generator) -> Int[np.ndarray, "K S"]:
    ids = np.tile(np.arange(worlds.num_observations, dtype=np.int32), (count, 1))
    return generator.permuted(ids, axis=1)[:, : worlds.next_state.shape[1]]
