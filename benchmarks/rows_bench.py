"""What a plan costs against the rows of memory: all pairs masked, neighbours in lists, and the paper's Nxk.

Of the first two the values that are passed on along moves are part.

python benchmarks/rows_bench.py [--rows 100 1000 10000] [--iterations 2]

Rows are all transitions of a world whose three moves permute its states, so that three rows lead to
every place. Weights are fresh; masks and lists give the same plan, and the script checks it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from rapidtask.agents import epn
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.evaluation.report import make_table, print_table
from rapidtask.learning.config import epn_for
from timing import best_seconds, machine

NUM_MOVES = 3
ALL_PAIRS = 3000
"""Rows up to which all pairs are tried: 10,000 would need gigabytes."""


def some_memory(num_rows: int) -> Memory:
    """One memory with every transition of a random world."""
    generator, states = np.random.default_rng(0), num_rows // NUM_MOVES
    moves = np.stack([generator.permutation(states) for _ in range(NUM_MOVES)], axis=1)
    origin, action = (x.reshape(1, -1) for x in np.indices(moves.shape))
    one = jnp.ones_like(origin)
    rows = [jnp.asarray(x, jnp.int32) for x in (origin, action, moves.reshape(1, -1), one, one)]
    return Memory(*rows, *(jnp.zeros(1, jnp.int32) for _ in range(3)))


def main(rows: tuple[int, ...] = (100, 300, 1000, 3000, 10_000), iterations: int = 2) -> None:
    """Measure and print."""
    neighbours = epn_for("fast", "streetlearn")
    recent = replace(
        neighbours, comparisons="attention", recent_rows=50, learned_iterations=None, value_channels=0
    )
    kinds = {"all pairs": (neighbours, 10**9), "lists": (neighbours, 0), "Nxk, k = 50": (recent, 0)}
    caption = f"{iterations} iterations, one memory, one device; {machine()}"
    table = make_table(
        "A plan: milliseconds, MB of working memory", ["rows", *kinds, "pairs / lists"], caption
    )
    for num_rows in rows:
        memory, cells, plans = some_memory(num_rows), {}, {}
        states = num_rows // NUM_MOVES
        here, nothing = jnp.zeros(1, jnp.int32), jnp.zeros(1)
        timestep = TimeStep(here, here + 1, here, nothing, nothing > 0, nothing, nothing > 0, nothing > 0)
        for name, (config, many) in kinds.items():
            if name == "all pairs" and num_rows > ALL_PAIRS:
                continue
            agent = config.make(EnvironmentSpec(states, NUM_MOVES, num_rows), 0)

            def plan(memory: Memory, agent: epn.EPN = agent) -> jax.Array:
                made = agent.plan(memory, timestep, agent.embed(), iterations, only_last=True)  # noqa: B023
                return agent.with_values(made.beliefs[-1], made.memory, agent.embed())

            with mock.patch.object(epn, "MANY_ROWS", many):
                compiled = jax.jit(plan).lower(memory).compile()
            plans[name] = compiled(memory)
            seconds = best_seconds(lambda compiled=compiled, memory=memory: compiled(memory))
            memory_used = compiled.memory_analysis().temp_size_in_bytes  # pyright: ignore[reportOptionalMemberAccess]
            cells[name] = (1e3 * seconds, memory_used / 1e6)
        if "all pairs" in plans:
            np.testing.assert_allclose(plans["all pairs"], plans["lists"], rtol=1e-3, atol=1e-3)
        shown = [f"{cells[name][0]:.2f}, {cells[name][1]:.1f}" if name in cells else "–" for name in kinds]
        ratio = f"{cells['all pairs'][0] / cells['lists'][0]:.1f}" if "all pairs" in cells else "–"
        table.add_row(f"{memory.origin.shape[1]:,}", *shown, ratio)
    print_table(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 300, 1000, 3000, 10_000])
    parser.add_argument("--iterations", type=int, default=2)
    arguments = parser.parse_args()
    main(tuple(arguments.rows), arguments.iterations)
