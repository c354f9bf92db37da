"""The Memory&Planning Game: an N×N torus whose cells carry new symbols in every episode."""

from __future__ import annotations

import numpy as np

from rapidtask.worlds.torus import OFFSETS, cell_of, state_of
from rapidtask.worlds.world import Rules, World, WorldError, WorldPool, make_pool, make_world

ACTIONS = ("up", "down", "left", "right", "collect")
INVERSE = (1, 0, 3, 2, -1)


def make_torus(size: int = 4, *, respawn: bool = False) -> World:
    """The table of the game."""
    if size < 2:
        raise WorldError(f"size is {size}; a grid needs at least 2 cells a side")
    x, y = cell_of(np.arange(size * size), size)
    moves = np.stack([state_of(x + dx, y + dy, size) for dx, dy in OFFSETS], axis=1)
    return make_world(moves, Rules(ACTIONS, "collect", respawn, INVERSE, torus_size=size))


def make_memory_planning(size: int = 4, *, respawn: bool = False) -> WorldPool:
    """The game's worlds: one torus, N² symbols permuted over its cells in each episode."""
    return make_pool(make_torus(size, respawn=respawn), shuffle_observations=True)
