"""Hashes of places: numbers that look random, and are the same whenever the same place is asked for."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt64


def mix(*parts: np.ndarray | int) -> UInt64[np.ndarray, " ..."]:
    """A 64-bit hash of whole numbers, element by element; the parts broadcast against each other."""
    total = np.zeros((), np.uint64)
    with np.errstate(over="ignore"):
        for part in parts:
            total = (total ^ np.asarray(part).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            # The finaliser of splitmix64: every input bit reaches every output bit.
            total = (total ^ (total >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            total = (total ^ (total >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            total = total ^ (total >> np.uint64(31))
    return total


def share(*parts: np.ndarray | int) -> Float[np.ndarray, " ..."]:
    """A hash as a number in [0, 1)."""
    return (mix(*parts) >> np.uint64(11)).astype(np.float64) / 2.0**53


def pick(count: int, *parts: np.ndarray | int) -> np.ndarray:
    """A hash as a whole number below `count`."""
    return (mix(*parts) % np.uint64(count)).astype(np.int64)


def place_hash(lat: np.ndarray, lng: np.ndarray) -> UInt64[np.ndarray, " N"]:
    """Hashes of places, by their coordinates to about 10 cm: not by how a file numbers them."""
    return mix(*(np.round(degrees * 1e6).astype(np.int64) for degrees in (lat, lng)))
