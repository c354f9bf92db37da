"""How fast street worlds are: worlds sampled per second, and environment steps next to the grid's.

    python benchmarks/street_bench.py

Compilation is excluded; each figure is the best of several repeats, because a shared machine only ever
makes things slower.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import numpy as np

from rapidtask.cities.catalogue import load_cities
from rapidtask.envs.environment import Environment, EnvState
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.envs.street_options import StreetLearn
from rapidtask.worlds.streets import NeighbourhoodOptions, sample_pool

NUM_ENVIRONMENTS = 1024
NUM_STEPS = 400
REPEATS = 5


def best_time(run: Callable[[], object]) -> float:
    """Seconds of the fastest of REPEATS runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - start)
    return min(times)


def worlds_per_second(options: NeighbourhoodOptions, num_worlds: int = 2048) -> float:
    """Worlds sampled per second, tables and distances included, from all training cities."""
    cities = load_cities("train")
    sample_pool(cities, 8, 0, options)  # the cities' own tables
    return num_worlds / best_time(lambda: sample_pool(cities, num_worlds, 0, options).worlds.distance)


def steps_per_second(environment: Environment) -> float:
    """Environment steps per second with random actions, restarts included, all environments in one scan."""

    @eqx.filter_jit
    def run(environment: Environment, states: EnvState, actions: jax.Array) -> tuple[EnvState, jax.Array]:
        def step(carry: tuple[EnvState, jax.Array], actions: jax.Array):
            states, total = carry
            states, timesteps = environment.step_batch(states, actions)
            return (states, total + timesteps.reward.sum()), None

        return jax.lax.scan(step, (states, jax.numpy.zeros(())), actions)[0]

    states, _ = environment.reset_batch(jax.random.split(jax.random.key(0), NUM_ENVIRONMENTS))
    shape = (NUM_STEPS, NUM_ENVIRONMENTS)
    actions = jax.random.randint(jax.random.key(1), shape, 0, environment.num_actions)
    jax.block_until_ready(run(environment, states, actions))
    return NUM_ENVIRONMENTS * NUM_STEPS / best_time(lambda: run(environment, states, actions))


def main() -> None:
    """Measure and print."""
    device = jax.devices()[0].device_kind
    print(f"{os.cpu_count()} CPUs, {device}, numpy {np.__version__}, jax {jax.__version__}")
    for rules in ("paper", "release"):
        for num_intersections in (5, 9, 12):
            options = NeighbourhoodOptions(rules, num_intersections)
            rate = worlds_per_second(options)
            print(f"worlds, {rules} rules, {num_intersections:2} intersections: {rate:8,.0f} per second")
    # The paper's street rules draw a new start with each goal; so does the grid with respawn.
    pairs: tuple[tuple[Literal["paper", "release"], bool], ...] = (("paper", True), ("release", False))
    for rules, respawn in pairs:
        grid = steps_per_second(MemoryPlanning(episode_steps=200, respawn=respawn).make())
        print(f"steps, 4x4 grid, respawn {respawn!s:5}:      {grid:12,.0f} per second")
        rate = steps_per_second(StreetLearn(rules=rules, num_intersections=5).make())
        share = rate / grid
        print(f"steps, streets, {rules:7} rules:      {rate:12,.0f} per second, {share:.2f} of that grid's")


if __name__ == "__main__":
    main()
