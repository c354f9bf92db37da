"""What a step of each agent costs: parameters, memory, operations and time, in a domain of your choice.

python benchmarks/agents_bench.py [--world streetlearn] [--batch-size 64]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, UInt8

from rapidtask.agents import AGENTS
from rapidtask.agents.agent import Agent, AgentConfig
from rapidtask.envs import make_environment
from rapidtask.envs.environment import Environment, EnvironmentSpec, TimeStep
from rapidtask.evaluation.play import episode_keys, play_batch
from rapidtask.evaluation.report import make_table, print_table
from rapidtask.learning.config import epn_for
from rapidtask.policies import make_policy
from rapidtask.worlds.world import EpisodeWorld
from timing import best_seconds, machine


@dataclass(frozen=True)
class AgentCost:
    """What one agent takes."""

    parameters: int
    """Numbers that are learned."""
    state_bytes: int
    """Memory that one environment's agent state takes."""
    step_flops: float
    """Floating-point operations of one environment's step, its memory full."""
    step_seconds: float
    """Seconds of one step of the whole batch, averaged over an episode."""


def agent_configs() -> dict[str, Any]:
    """Every agent with its default options; the EPN as each recipe trains it."""
    recipes = {f"epn, {recipe}": epn_for(recipe) for recipe in ("paper", "fast")}
    return recipes | {name: config() for name, config in AGENTS.items() if name != "epn"}


def random_episodes(
    environment: Environment, batch_size: int, seed: int
) -> tuple[TimeStep, UInt8[Array, "B V 84 84 3"] | None]:
    """One episode of each environment under random actions, `[T + 1, B]`, and what its observations show."""
    episodes = play_batch(environment, make_policy("random", environment), episode_keys(seed, batch_size))
    worlds = EpisodeWorld(episodes.world, episodes.symbols)
    frames = jax.vmap(environment.pool.frames_of)(worlds) if environment.has_frames else None
    return episodes.timesteps, environment.pool.look_up_frames(frames)


def measure(
    config: AgentConfig, spec: EnvironmentSpec, timesteps: TimeStep, frames: jax.Array | None = None
) -> AgentCost:
    """Cost of an agent with fresh weights on recorded timesteps `[T, B]`; frames are embedded once."""
    num_steps, batch_size = timesteps.action.shape
    agent = config.make(spec, 0)
    state = agent.initial_state(batch_size)

    # Repeated steps, as when acting: an agent's own `unroll` may be quicker.
    @eqx.filter_jit
    def play(agent: Agent, timesteps: TimeStep, frames: jax.Array | None) -> jax.Array:
        outputs, _ = Agent.unroll(agent, agent.initial_state(batch_size), timesteps, agent.embed(frames))
        return outputs.logits

    seconds = best_seconds(lambda: play(agent, timesteps, frames))
    return AgentCost(
        parameters=sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(agent, eqx.is_inexact_array))),
        state_bytes=sum(leaf.nbytes for leaf in jax.tree.leaves(state)) // batch_size,
        step_flops=step_flops(agent, timesteps, frames),
        step_seconds=seconds / num_steps,
    )


def step_flops(agent: Agent, timesteps: TimeStep, frames: jax.Array | None = None) -> float:
    """Floating-point operations of one environment's step, as XLA counts them before optimising.

    Of the EPN's programs for different numbers of rows, XLA counts the largest.
    """
    one = jax.tree.map(lambda x: x[0, :1], timesteps)
    embeddings = agent.embed(None if frames is None else frames[:1])
    arrays, static = eqx.partition(agent, eqx.is_array)

    def step(arrays: Any, state: Any, timestep: TimeStep):
        return eqx.combine(arrays, static).step(state, timestep, embeddings)

    analysis = jax.jit(step).lower(arrays, agent.initial_state(1), one).cost_analysis()
    return float((analysis or {}).get("flops", float("nan")))


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", default="memory-planning")
    parser.add_argument("--batch-size", type=int, default=64)
    chosen = parser.parse_args([] if arguments is None else arguments)
    environment = make_environment(chosen.world)
    spec = environment.spec
    timesteps, frames = random_episodes(environment, chosen.batch_size, seed=0)
    table = make_table(
        f"{chosen.world}: {spec.num_observations} observations, {spec.num_actions} actions, "
        f"{spec.episode_steps} steps, batch {chosen.batch_size}; {machine()}",
        ("agent", "parameters", "state kB", "MFLOP/step", "ms/batch", "ms/step"),
        "ms: one step of the batch, and of one environment, averaged over an episode",
    )
    for name, config in agent_configs().items():
        cost = measure(config, spec, timesteps, frames)
        milliseconds = cost.step_seconds * 1e3
        table.add_row(
            name,
            f"{cost.parameters:,}",
            f"{cost.state_bytes / 1e3:,.1f}",
            f"{cost.step_flops / 1e6:,.2f}",
            f"{milliseconds:,.2f}",
            f"{milliseconds / chosen.batch_size:.4f}",
        )
    print_table(table)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
