"""A life of 100,000 steps in one town: what a step costs, and how well it goes, tenth by tenth.

python benchmarks/long_life_bench.py [--steps 100000] [--intersections 24] [--sweeps 4]

The shipped street agent, trained in episodes of 200 steps, thinks while walking. Its memory holds each
transition once, so a step should cost no more at the end than when the town was explored. Values come to rest
at each step, or are passed on as often as --sweeps says.
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
from timing import machine

PARTS = 10


def main(steps: int = 100_000, intersections: int = 24, sweeps: int | None = None) -> None:
    """Live, measure and print."""
    town = StreetLearn(num_intersections=intersections, episode_steps=steps, pool_size=1).held_out()
    environment = town.make()
    trained, config = rapidtask.load_pretrained("epn-streetlearn-symbols")
    agent, _ = rapidtask.fit_agent(trained, config, environment, new_symbols=True, sweeps=sweeps)
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

    carries, compiled = {}, {}
    for name, policy in policies.items():
        keys = jax.random.split(jax.random.key(0), 1)
        states, timestep = environment.reset_batch(keys)
        carries[name] = (states, timestep, policy.start_batch(states), keys)
        compiled[name] = live.lower(policy, carries[name]).compile()
    passed = "values at rest" if sweeps is None else f"{sweeps} sweeps of values a step"
    print(f"{intersections} intersections, {passed}, processor time; {machine()}")
    print(f"{'step':>9}  {'ms a step':>9}  {'goals':>7}  oracle's goals", flush=True)
    milliseconds, share = [], 0.0
    for part in range(PARTS):
        goals = {}
        for name, policy in policies.items():
            start = time.process_time()
            carries[name], completed = compiled[name](policy, carries[name])
            goals[name] = int(completed)
            if name == "agent":
                milliseconds.append(1e3 * (time.process_time() - start) / (steps // PARTS))
        share, lived = goals["agent"] / goals["oracle"], (part + 1) * steps // PARTS
        numbers = f"{goals['agent']:7,}  {goals['oracle']:14,}"
        print(f"{lived:9,}  {milliseconds[-1]:9.2f}  {numbers}", flush=True)
    ratio = milliseconds[-1] / milliseconds[1]
    print(f"the last tenth costs {ratio:.2f} times the second, and has {share:.1%} of the oracle's goals")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--intersections", type=int, default=24)
    parser.add_argument("--sweeps", type=int)
    arguments = parser.parse_args()
    main(arguments.steps, arguments.intersections, arguments.sweeps)
