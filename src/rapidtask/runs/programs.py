"""Compiled programs, which a long process must forget in time."""

from __future__ import annotations

import gc
from pathlib import Path

import jax

MANY_MAPS = 30_000
"""Compiled programs hold memory maps, of which Linux gives a process 65,530; one more ends it."""


def forget_programs() -> None:
    """Forget compiled programs where they have become many."""
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MANY_MAPS:
        jax.clear_caches()
        gc.collect()
