"""Compiled programs: forgotten in time by a long process, and kept for the next one."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

import jax

MANY_MAPS = 30_000
"""Compiled programs hold memory maps, of which Linux gives a process 65,530; one more ends it."""
CACHE_BYTES = 1_000_000_000
"""Size of the cache beyond which the programs that were not used for longest go; a training has a few MB."""


def forget_programs() -> None:
    """Forget compiled programs where they have become many."""
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MANY_MAPS:
        jax.clear_caches()
        gc.collect()


def use_compilation_cache() -> None:
    """Keep compiled programs between runs, so that a command waits for the compiler only once.

    They are where JAX is told to keep them (JAX_COMPILATION_CACHE_DIR), else in the user's cache, if it can
    be written; JAX_ENABLE_COMPILATION_CACHE=false keeps none.
    """
    # Programs need not know the lines of code that they were made from.
    jax.config.update("jax_traceback_in_locations_limit", 0)
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    with suppress(OSError, RuntimeError):  # no home, or one that is a file, is full or belongs to others
        users = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or users) / "rapidtask" / "xla"
        cache.mkdir(parents=True, exist_ok=True)
        if os.access(cache, os.W_OK | os.X_OK):
            limit_size(cache, CACHE_BYTES)
            jax.config.update("jax_compilation_cache_dir", str(cache))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def limit_size(folder: Path, most: int) -> None:
    """Delete the files of a folder that were not read or written for longest, until it has so many bytes."""
    files = [(path, path.stat()) for path in folder.iterdir()]
    size = sum(status.st_size for _, status in files)
    for path, status in sorted(files, key=lambda file: max(file[1].st_atime, file[1].st_mtime)):
        if size <= most:
            return
        path.unlink(missing_ok=True)
        size -= status.st_size
