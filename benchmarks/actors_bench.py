"""Training through Gymnasium: steps per second with and without lag, beside the same game in JAX.

    python benchmarks/actors_bench.py

Iterations of recipe `fast` on the Memory&Planning Game, one device, compilation left out. The game's own
environment is stepped through Gymnasium, one world after the other, here and in processes of their own.
"""

from __future__ import annotations

import time
from dataclasses import replace

import jax
from rich.console import Console
from rich.table import Table

from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.learning.config import epn_for, learning_for
from rapidtask.runs.config import RunConfig
from rapidtask.runs.worlds import open_worlds
from timing import machine

ITERATIONS = 6
"""Timed, after two that compile."""


def steps_per_second(config: RunConfig, num_workers: int) -> float:
    """Environment steps per second of acting and learning."""
    with open_worlds(config, num_workers, None) as worlds:
        trainer = worlds.make_trainer()
        environment = worlds.environment
        state = trainer.init(environment)  # pyright: ignore
        for iteration in range(ITERATIONS + 2):
            if iteration == 2:
                began = time.perf_counter()
            state, metrics = trainer.iterate(environment, state)  # pyright: ignore
            jax.block_until_ready(metrics)
        return ITERATIONS * trainer.steps_per_iteration / (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    learning = replace(learning_for("fast", "epn"), cpu_devices=1)
    steps = 10 * learning.num_envs * 101
    game = RunConfig(agent=epn_for("fast"), learning=learning, steps=steps)
    lived = replace(
        game, world=GymnasiumWorlds(id="rapidtask:rapidtask/MemoryPlanning-v0", num_observations=16)
    )
    lagging = replace(lived, learning=replace(learning, lag=1))
    console, table = Console(), Table("environments", "rollouts behind", "steps/s", "of the game in JAX")
    rows = (
        ("in JAX", game, 0, 0),
        ("Gymnasium, the learner's process", lived, 0, 0),
        ("Gymnasium, the learner's process", lagging, 0, 1),
        ("Gymnasium, two processes", lived, 2, 0),
        ("Gymnasium, two processes", lagging, 2, 1),
    )
    peer = 0.0
    for name, config, workers, lag in rows:
        speed = steps_per_second(config, workers)
        peer = peer or speed
        table.add_row(name, str(lag), f"{speed:,.0f}", f"{speed / peer:.2f}")
    console.print(table)
    console.print(machine())


if __name__ == "__main__":
    main()
