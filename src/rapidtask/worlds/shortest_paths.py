"""Fewest moves between the states of worlds."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

UNREACHABLE = np.iinfo(np.int16).max
"""Distance to a state that no moves lead to, and from or to padding."""


def shortest_distances(
    moves: Int[np.ndarray, "E M"], num_states: Int[np.ndarray, " W"], slots: int
) -> Int[np.ndarray, "E S"]:
    """Fewest moves between all states of each world: breadth-first over all worlds, 64 goals a machine word.

    Args:
        moves: the state each move leads to; the states of all worlds are numbered through, world after world.
        num_states: states of each world, at most `slots`.
        slots: goals S.

    Returns:
        Distance to each state of the same world by its number within the world, int16; else UNREACHABLE.
    """
    num_flat, words = len(moves), -(-slots // 64)
    local = np.arange(num_flat) - np.repeat(np.cumsum(num_states) - num_states, num_states)
    reached = np.zeros((num_flat, words), np.uint64)
    reached[np.arange(num_flat), local // 64] = np.uint64(1) << (local % 64).astype(np.uint64)
    distance = np.zeros((num_flat, words * 64), np.int16)
    while True:
        bits = np.unpackbits(reached.view(np.uint8), axis=1, bitorder="little")
        grown = reached.copy()
        for move in range(moves.shape[1]):
            grown |= reached[moves[:, move]]
        if np.array_equal(grown, reached):
            return np.where(bits, distance, UNREACHABLE)[:, :slots]
        # Every goal that this sweep could not reach yet is one step further away.
        distance += 1 - bits
        reached = grown
