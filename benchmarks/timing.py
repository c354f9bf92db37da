"""What the benchmarks share: timing without compilation, this machine's peak, and its description."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp

REPEATS = 5


def best_seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of several calls: others on the machine can only make them slower.

    The first call compiles and is not counted.
    """
    jax.block_until_ready(run())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - start)
    return min(times)


def matmul_peak(size: int = 2048) -> float:
    """Floating-point operations per second of a large matrix product, as XLA compiles it here."""
    a = jnp.ones((size, size))
    product = jax.jit(jnp.matmul)
    return 2 * size**3 / best_seconds(lambda: product(a, a))


def machine() -> str:
    """The machine in one line."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    kind = jax.devices()[0].device_kind
    return f"{os.cpu_count()} CPUs ({platform.machine()}), {kind}, jax {jax.__version__}, load {load:.1f}"
