"""How fast `gymnasium.make_vec` is, next to Gymnasium's SyncVectorEnv of our environment and of a peer's.

python benchmarks/vector_bench.py
"""

from __future__ import annotations

import time

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import rapidtask  # noqa: F401, the import registers the environments
from timing import machine

GAME = "rapidtask/MemoryPlanning-v0"
NUM_ENVS = 4096


def steps_per_second(envs: gymnasium.vector.VectorEnv, num_steps: int, repeats: int = 5) -> float:
    """Steps per second with random actions drawn ahead, resets included; the fastest of some repeats."""
    generator = np.random.default_rng(0)
    actions = generator.integers(envs.single_action_space.n, size=(num_steps, envs.num_envs))  # pyright: ignore
    envs.reset(seed=0)
    envs.step(actions[0])  # compiles
    rates = []
    for _ in range(repeats):
        began = time.perf_counter()
        for row in actions:
            envs.step(row)
        rates.append(envs.num_envs * num_steps / (time.perf_counter() - began))
    envs.close()
    return max(rates)


def main() -> None:
    """Measure and print."""
    console = Console()
    console.print(machine())
    rows = {
        "FrozenLake, SyncVectorEnv": (gymnasium.make_vec("FrozenLake-v1", 64, "sync"), 200),
        "rapidtask, SyncVectorEnv": (gymnasium.make_vec(GAME, 64, "sync"), 20),
        "rapidtask, make_vec": (gymnasium.make_vec(GAME, NUM_ENVS), 202),
        "rapidtask, make_vec, show_previous": (gymnasium.make_vec(GAME, NUM_ENVS, show_previous=True), 202),
    }
    table = Table(title="random actions, through Gymnasium", title_justify="left")
    for heading in ("environments", "batch", "steps per second", "times FrozenLake"):
        table.add_column(heading, justify="left" if heading == "environments" else "right")
    peer = None
    for name, (envs, num_steps) in rows.items():
        size, rate = envs.num_envs, steps_per_second(envs, num_steps)
        peer = peer or rate
        table.add_row(name, f"{size:,}", f"{rate:,.0f}", f"{rate / peer:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
