"""`rapidtask agents`: the trained agents that come with the package, and what a step of each kind costs."""

from __future__ import annotations

import sys
import timeit
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, UInt8
from rich.console import Console
from rich.table import Table

from rapidtask.agents import AGENTS
from rapidtask.agents.agent import Agent, AgentConfig
from rapidtask.envs.environment import Environment, EnvironmentSpec, TimeStep
from rapidtask.envs.registry import MemoryPlanning, WorldOptions, domain_name
from rapidtask.errors import check_positive
from rapidtask.evaluation.play import episode_keys, play_batch
from rapidtask.evaluation.report import make_table
from rapidtask.learning.config import epn_for
from rapidtask.policies import make_policy
from rapidtask.pretrained import Card, list_pretrained
from rapidtask.worlds.world import EpisodeWorld

REPEATS = 3


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


@dataclass(frozen=True, kw_only=True)
class Agents:
    """List the pretrained agents, and show each kind's parameters and what a step costs in a world."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    batch_size: int = 64
    """Environments that step together."""
    seed: int = 0
    """Seed of the worlds and of the random actions that fill the memories."""

    def run(self) -> None:
        check_positive(self, "batch_size")
        Console().print(pretrained_table(list_pretrained()))
        environment = self.world.make()
        spec = environment.spec
        timesteps, frames = random_episodes(environment, self.batch_size, self.seed)
        table = make_table(
            f"{domain_name(self.world)}: {spec.num_observations} observations, {spec.num_actions} actions, "
            f"{spec.episode_steps} steps, batch {self.batch_size} on {jax.devices()[0].device_kind}",
            ("agent", "parameters", "state kB", "MFLOP/step", "ms/batch", "ms/step"),
            "ms: one step of the batch, and of one environment, averaged over an episode",
        )
        with Console(stderr=True).status("") as status:
            for name, config in agent_configs().items():
                status.update(f"{name}: compiling and measuring")
                cost = measure(config, spec, timesteps, frames)
                table.add_row(
                    name,
                    f"{cost.parameters:,}",
                    f"{cost.state_bytes / 1e3:,.1f}",
                    f"{cost.step_flops / 1e6:,.2f}",
                    f"{cost.step_seconds * 1e3:,.2f}",
                    f"{cost.step_seconds * 1e3 / self.batch_size:.4f}",
                )
        sys.stderr.flush()
        Console().print(table)


def pretrained_table(cards: Sequence[Card]) -> Table:
    """The shipped agents: how they were trained and what they score with sampled actions."""
    table = make_table(
        "pretrained agents: load_pretrained(NAME), rapidtask evaluate --pretrained NAME",
        ("name", "recipe", "steps", "minutes", "goals", "of oracle"),
        "scores in worlds never seen, sampled actions" if cards else "none in this version",
    )
    for card in cards:
        scores = card.scores.get("sampled", {})
        goals, share = scores.get("goals_per_episode"), scores.get("oracle_share_last_third")
        shown = ("–" if goals is None else f"{goals:.2f}", "–" if share is None else f"{share:.1%}")
        table.add_row(card.name, card.recipe, f"{card.steps:,}", f"{card.minutes:.0f}", *shown)
    return table


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
    agent = config.make(spec, jax.random.key(0))
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


def best_seconds(run) -> float:
    """Seconds of the fastest of a few calls; the first one compiles and is not counted."""
    _, *times = timeit.repeat(lambda: jax.block_until_ready(run()), number=1, repeat=1 + REPEATS)
    return min(times)
