"""How fast the planner is, as a share of this machine's peak, and what a step costs in long episodes.

python benchmarks/planner_bench.py
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from rapidtask.agents.agent import AgentOutput
from rapidtask.agents.epn import EPN, EPNConfig
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.learning.config import epn_for
from timing import best_seconds, machine, matmul_peak

SLOTS = (16, 64, 100, 200)
ROWS = 16384
"""Samples times slots in one batch: about what a minibatch of training holds."""
EPISODE_STEPS = (100, 400, 1600, 6400)
NUM_OBSERVATIONS, NUM_ACTIONS = 16, 5
"""The 4x4 grid: at most 80 different transitions, however long the episode."""

MEMORIES = {
    "all": {"memory": "all"},
    "nxk, k = 50": {"memory": "all", "recent_rows": 50},
    "unique": {"memory": "unique"},
}
EXPECTED = {"all": "quadratic", "nxk, k = 50": "linear", "unique": "flat"}


def forward_flops(config: EPNConfig, num_slots: int) -> float:
    """Floating-point operations of the matrix products of one all-to-all plan; a gradient takes 3 times that.

    Rows are looked up from projected tables, so embedding them takes none; softmax, normalisation and
    matching are not counted, although they take time.
    """
    d, n = config.width, num_slots
    projections = 4 * 2 * n * d * d  # queries, keys, values, output
    attention = 2 * 2 * n * n * d
    mlp = 2 * 2 * n * d * d
    policy = 2 * (3 * d * d + d * d + d * (NUM_ACTIONS + 1))
    return config.iterations * (projections + attention + mlp) + mlp + policy


def random_memory(num_slots: int, num_rows: int, batch_size: int) -> tuple[Memory, TimeStep]:
    """Memories `[B, N]` with so many rows in use, and timesteps `[B]` to plan at."""
    generator = np.random.default_rng(0)
    shape = (batch_size, num_slots)
    ids = [generator.integers(high, size=shape) for high in (NUM_OBSERVATIONS, NUM_ACTIONS, NUM_OBSERVATIONS)]
    used = np.broadcast_to(np.arange(num_slots) < num_rows, shape)
    written = np.broadcast_to(np.arange(1, num_slots + 1), shape)
    zero = jnp.zeros(batch_size, jnp.int32)
    places = [generator.integers(NUM_OBSERVATIONS, size=batch_size) for _ in range(2)]
    memory = Memory(*(jnp.asarray(x, jnp.int32) for x in (*ids, used, written * used, zero, *places)))
    here, goal = memory.observation, memory.goal
    false = jnp.zeros(batch_size, bool)
    return memory, TimeStep(here, goal, zero, jnp.zeros(batch_size), false, 1.0 - false, false, false)


def loss(agent: EPN, memory: Memory, timestep: TimeStep) -> jax.Array:
    """Something of every output that training differentiates."""
    output = agent.act(memory, timestep, agent.embed())
    return jnp.mean(jnp.square(output.logits)) + jnp.mean(jnp.square(output.value))


@eqx.filter_jit
def forward(agent: EPN, memory: Memory, timestep: TimeStep) -> jax.Array:
    """Logits of a batch."""
    return agent.act(memory, timestep, agent.embed()).logits


@eqx.filter_jit
def gradient(agent: EPN, memory: Memory, timestep: TimeStep) -> EPN:
    """Gradient of the loss of a batch."""
    return eqx.filter_grad(loss)(agent, memory, timestep)


@eqx.filter_jit
def step(agent: EPN, memory: Memory, timestep: TimeStep) -> tuple[AgentOutput, Memory]:
    """One step at the end of an episode: what `EPN.step` does when the largest bucket of slots is needed."""
    before, after = agent.step_memory(memory, timestep)
    return agent.act(before, timestep, agent.embed()), after


def make(config: EPNConfig, episode_steps: int) -> EPN:
    """An agent with fresh weights."""
    return config.make(EnvironmentSpec(NUM_OBSERVATIONS, NUM_ACTIONS, episode_steps), 0)


def speed_table(config: EPNConfig) -> Table:
    """Samples per second and share of the peak at each number of slots, all of them in use."""
    table = Table(
        title=f"Planner, {config.block} block, width {config.width}, {config.iterations} iterations, "
        f"comparisons {config.comparisons}: samples per second",
        title_justify="left",
        caption="of peak: matrix products counted, against a 2048 x 2048 product",
        caption_justify="left",
    )
    for heading in ("slots", "batch", "MFLOP", "forward", "of peak", "gradient", "of peak", "peak"):
        table.add_column(heading, justify="right")
    for num_slots in SLOTS:
        batch_size = ROWS // num_slots
        inputs = (make(config, num_slots), *random_memory(num_slots, num_slots, batch_size))
        flops = forward_flops(config, num_slots)
        # The peak before and after: on a shared machine it moves as much as what is measured against it.
        peak = matmul_peak()
        forwards, gradients = (
            batch_size / best_seconds(functools.partial(compute, *inputs)) for compute in (forward, gradient)
        )
        peak = max(peak, matmul_peak())
        table.add_row(
            f"{num_slots}",
            f"{batch_size}",
            f"{flops / 1e6:.1f}",
            f"{forwards:,.0f}",
            f"{forwards * flops / peak:.0%}",
            f"{gradients:,.0f}",
            f"{gradients * 3 * flops / peak:.0%}",
            f"{peak / 1e9:.0f} GF/s",
        )
    return table


def step_seconds(config: EPNConfig, episode_steps: int) -> float:
    """Seconds of one environment's last step of an episode, in a batch that keeps the machine busy."""
    agent = make(config, episode_steps)
    num_slots = agent.num_slots
    rows_planning = config.recent_rows or num_slots
    batch_size = int(np.clip(2**22 // (num_slots * rows_planning), 1, 64))
    memory, timestep = random_memory(num_slots, num_slots, batch_size)
    return best_seconds(lambda: step(agent, memory, timestep)) / batch_size


def growth_exponent(lengths: Sequence[int], seconds: Sequence[float]) -> float:
    """e of the fit seconds ~ length ** e."""
    return float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])


def length_table(config: EPNConfig) -> Table:
    """Cost of the last step of an episode by the episode's length, for each kind of memory."""
    table = Table(
        title="4x4 grid: milliseconds of an episode's last step, per environment",
        title_justify="left",
        caption="below: times the cost at 100 steps. e: cost ~ steps ** e, over all, over the last two",
        caption_justify="left",
    )
    table.add_column("memory", no_wrap=True)
    for heading in (*(f"{length:,}" for length in EPISODE_STEPS), "e", "last e", "expected"):
        table.add_column(heading, justify="right")
    for name, options in MEMORIES.items():
        kind = replace(config, **options)
        seconds = [step_seconds(kind, length) for length in EPISODE_STEPS]
        table.add_row(
            name,
            *(f"{s * 1e3:,.2f}\nx {s / seconds[0]:,.1f}" for s in seconds),
            f"{growth_exponent(EPISODE_STEPS, seconds):.2f}",
            f"{growth_exponent(EPISODE_STEPS[-2:], seconds[-2:]):.2f}",
            EXPECTED[name],
        )
    return table


def main() -> None:
    """Measure and print."""
    console = Console()
    console.print(machine())
    for recipe in ("fast", "paper"):
        console.print(speed_table(epn_for(recipe)))
    console.print(length_table(epn_for("fast")))


if __name__ == "__main__":
    main()
