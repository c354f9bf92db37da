"""Pixel worlds: the frames of a pool's states, taken from frame stores and put beside its tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from rapidtask.worlds.frame_store import FrameStore
from rapidtask.worlds.streets import StreetPool

FRAMES_PER_WORLD = 32
"""Room for so many frames per world, on average: pools of one size must have equal shapes, or each would be
compiled anew."""


def attach_frames(pool: StreetPool, directory: str | Path) -> StreetPool:
    """The pool with the frame of every state: the view at its node along its street.

    Args:
        pool: the worlds.
        directory: frame stores, one per city, as `rapidtask cities render` writes them.

    Raises:
        FrameError: if a city has no store there, or a store that lacks a view or is of another graph.
    """
    places = pool.places
    which = np.full(places.tail.shape, -1, np.int64)
    parts, total = [], 0
    for number in np.unique(places.city).tolist():
        city, worlds = places.cities[number], places.city == number
        store = FrameStore(Path(directory) / city.name)
        found = store.find(city, places.tail[worlds], places.first[worlds])
        # Worlds share streets: each frame is kept once.
        used = np.unique(found[found >= 0])
        which[worlds] = np.where(found >= 0, total + np.searchsorted(used, found), -1)
        parts.append(store.frames[used])
        total += len(used)
    capacity = pool.num_worlds * FRAMES_PER_WORLD
    if total > capacity:
        capacity = places.tail.size
    frames = np.zeros((capacity, *parts[0].shape[1:]), np.uint8)
    np.concatenate(parts, out=frames[:total])
    return dataclasses.replace(
        pool, frames=jnp.asarray(frames), frame_ids=jnp.asarray(which.astype(np.int32))
    )
