"""What the geometry of a torus tells about the places an agent has seen."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from rapidtask.policies.edges import UNKNOWN
from rapidtask.worlds.memory_planning import OFFSETS

UNPLACED = -1


def place_on_torus(edges: Int[Array, "V M"], here: Int[Array, ""], size: int) -> Int[Array, " V"]:
    """Cell y * size + x of each observation relative to `here`, UNPLACED if no known path leads there.

    Args:
        edges: where each move is known to lead, inverse moves included.
        here: the observation that is cell 0.
        size: side of the torus.
    """
    # undo[m, c]: the cell from which move m leads to cell c.
    undo = jnp.asarray(np.stack([_shifted(size, -dx, -dy) for dx, dy in OFFSETS]), jnp.int32)
    known = edges != UNKNOWN
    moves = jnp.arange(len(OFFSETS))

    def sweep(carry):
        cell, _ = carry
        ahead = cell[edges]
        through = jnp.where(known & (ahead != UNPLACED), undo[moves, ahead], UNPLACED).max(axis=1)
        new = jnp.where(cell == UNPLACED, through, cell)
        return new, (new != cell).any()

    start = jnp.where(jnp.arange(edges.shape[0]) == here, 0, UNPLACED)
    return jax.lax.while_loop(lambda carry: carry[1], sweep, (start, jnp.asarray(True)))[0]


def torus_distances(size: int) -> Int[np.ndarray, "C C"]:
    """Fewest moves between any two cells."""
    y, x = np.divmod(np.arange(size * size), size)
    gap = lambda a: np.minimum((a[:, None] - a) % size, (a - a[:, None]) % size)  # noqa: E731
    return gap(x) + gap(y)


def cells_after_moves(size: int) -> list[int]:
    """Cell that each move leads to from cell 0."""
    return [int(_shifted(size, dx, dy)[0]) for dx, dy in OFFSETS]


def _shifted(size: int, dx: int, dy: int) -> Int[np.ndarray, " C"]:
    """Where a displacement leads from each cell."""
    y, x = np.divmod(np.arange(size * size), size)
    return (y + dy) % size * size + (x + dx) % size
