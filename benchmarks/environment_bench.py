"""How fast the environment core is, next to the plain NumPy environment that the tests check it against.

python benchmarks/environment_bench.py
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from rapidtask.envs.environment import Environment
from rapidtask.envs.registry import MemoryPlanning
from timing import best_seconds, machine

BATCH_SIZES = (256, 1024, 4096, 16384)
NUM_STEPS = 1010
"""Ten episodes and their resets."""
NUMPY_STEPS = 20_000


def steps_per_second(environment: Environment, batch_size: int) -> float:
    """Steps per second with random actions, resets included, all in one compiled scan.

    Environments and actors have keys of their own, as in training.
    """

    @eqx.filter_jit
    def run(environment: Environment, keys: jax.Array, action_keys: jax.Array) -> jax.Array:
        states, _ = environment.reset_batch(keys)

        def step(carry, t):
            states, goals = carry
            bits = jax.vmap(lambda key: jax.random.bits(jax.random.fold_in(key, t)))(action_keys)
            actions = (bits % environment.num_actions).astype(jnp.int32)
            states, timesteps = environment.step_batch(states, actions)
            return (states, goals + timesteps.completed), None

        start = (states, jnp.zeros(batch_size, jnp.int32))
        return jax.lax.scan(step, start, jnp.arange(NUM_STEPS))[0][1]

    keys = jax.random.split(jax.random.key(0), batch_size)
    action_keys = jax.random.split(jax.random.key(1), batch_size)
    return batch_size * NUM_STEPS / best_seconds(lambda: run(environment, keys, action_keys))


def numpy_steps_per_second() -> float:
    """Steps per second of the plain environment, one after the other."""
    game = load_numpy_environment().NumpyMemoryPlanning(np.random.default_rng(0))
    actions = np.random.default_rng(1).integers(5, size=NUMPY_STEPS).tolist()
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        game.reset()
        for action in actions:
            _, _, over = game.step(action)
            if over:
                game.reset()
        rates.append(NUMPY_STEPS / (time.perf_counter() - start))
    return max(rates)


def load_numpy_environment() -> ModuleType:
    """The tests' environment, which is not part of the package."""
    path = Path(__file__).resolve().parent.parent / "tests" / "numpy_environment.py"
    spec = importlib.util.spec_from_file_location("numpy_environment", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Measure and print."""
    console = Console()
    console.print(machine())
    plain = numpy_steps_per_second()
    table = Table(title="Memory&Planning Game, 4x4, random actions", title_justify="left")
    for heading in ("environment", "batch", "steps per second", "times NumPy"):
        table.add_column(heading, justify="left" if heading == "environment" else "right")
    table.add_row("plain NumPy", "1", f"{plain:,.0f}", "1")
    for respawn in (False, True):
        environment = MemoryPlanning(respawn=respawn).make()
        rates = {size: steps_per_second(environment, size) for size in BATCH_SIZES}
        best = max(rates.values())
        for size, rate in rates.items():
            name = "rapidtask, respawn" if respawn else "rapidtask"
            style = "bold" if rate == best else None
            table.add_row(name, f"{size:,}", f"{rate:,.0f}", f"{rate / plain:,.0f}", style=style)
    console.print(table)


if __name__ == "__main__":
    main()
