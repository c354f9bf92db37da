"""A life of 100,000 steps in one town: what a step costs, and how well it goes, tenth by tenth.

python benchmarks/long_life_bench.py [--steps 100000] [--intersections 24] [--iterations 8]

The shipped street agent, trained in episodes of 200 steps, thinks while walking. Its memory holds each
transition once, so a step should cost the same at the end as when the town was explored.
"""

from __future__ import annotations

import argparse
import time

import equinox as eqx
import jax
import jax.numpy as jnp

import rapidtask
from rapidtask.agents.warm_start import WarmStart
from rapidtask.envs.street_options import StreetLearn
from rapidtask.evaluation.report import make_table, print_table
from timing import machine

PARTS = 10


def main(steps: int = 100_000, intersections: int = 24, iterations: int = 8) -> None:
    """Live, measure and print."""
    town = StreetLearn(num_intersections=intersections, episode_steps=steps, pool_size=1).held_out()
    environment = town.make()
    trained, config = rapidtask.load_pretrained("epn-streetlearn-symbols")
    agent, _ = rapidtask.fit_agent(trained, config, environment, new_symbols=True, iterations=iterations)
    policies = {
        "agent": rapidtask.make_learned_policy(WarmStart(agent), environment),
        "oracle": rapidtask.make_policy("oracle", environment),
    }

    @eqx.filter_jit
    def live(policy, carry):
        def step(carry, _):
            states, timestep, memory, keys = carry
            keys, now = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
            actions, memory = policy.step_batch(memory, timestep, now, states)
            states, timestep = jax.vmap(environment.step)(states, actions)
            return (states, timestep, memory, keys), timestep.completed

        carry, completed = jax.lax.scan(step, carry, length=steps // PARTS)
        return carry, completed.sum()

    goals, milliseconds = {}, {}
    for name, policy in policies.items():
        keys = jax.random.split(jax.random.key(0), 1)
        states, timestep = environment.reset_batch(keys)
        carry = (states, timestep, policy.start_batch(states), keys)
        compiled = live.lower(policy, carry).compile()
        goals[name], milliseconds[name] = [], []
        for _ in range(PARTS):
            start = time.process_time()
            carry, completed = compiled(policy, carry)
            goals[name].append(int(completed))
            milliseconds[name].append(1e3 * (time.process_time() - start) / (steps // PARTS))
    caption = f"{intersections} intersections, {iterations} iterations a step, processor time; {machine()}"
    table = make_table("A long life", ["step", "ms a step", "goals", "oracle's goals"], caption)
    for part in range(PARTS):
        numbers = (goals["agent"][part], goals["oracle"][part])
        table.add_row(
            f"{(part + 1) * steps // PARTS:,}",
            f"{milliseconds['agent'][part]:.2f}",
            *(f"{n:,}" for n in numbers),
        )
    print_table(table)
    last, second = milliseconds["agent"][-1], milliseconds["agent"][1]
    print(
        f"the last tenth costs {last / second:.2f} times the second, and has "
        f"{goals['agent'][-1] / goals['oracle'][-1]:.1%} of the oracle's goals"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--intersections", type=int, default=24)
    parser.add_argument("--iterations", type=int, default=8)
    arguments = parser.parse_args()
    main(arguments.steps, arguments.intersections, arguments.iterations)
