"""What a sweep searches: intervals of hyper-parameters around a run's configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rapidtask.agents.epn import EPNConfig
from rapidtask.learning.run_config import RunConfig


@dataclass(frozen=True)
class Interval:
    """Any number from low to high, uniform in its logarithm."""

    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[int | float, ...]


Space = dict[str, Interval | Choice]
"""What is searched, by the name of the command line's option."""
Options = dict[str, int | float]
"""One point of a space."""

PAPER_TABLE: Space = {
    "learning.learning_rate": Interval(1e-5, 4e-4),
    "learning.entropy": Interval(1e-3, 1e-2),
    "learning.discount": Choice((0.9, 0.95)),
    "learning.minibatch_size": Choice((32, 64, 128)),
    "learning.rollout_steps": Choice((10, 20, 40)),
}
"""The paper's table of hyper-parameters (appendix): mini-batches of 32 to 128 unrolls of 10 to 40 steps."""


def search_space(config: RunConfig) -> Space:
    """The intervals that fit a configuration: the paper's table for its recipe, else intervals of ours.

    Heads are the paper's 1 to 4. Its learning rates are RMSprop's.
    """
    ours: Space = {
        "learning.learning_rate": Interval(1e-3, 2e-2),
        "learning.entropy": Interval(1e-3, 1e-1),
        "learning.discount": Choice((0.8, 0.9, 0.95, 0.98)),
    }
    space = dict(PAPER_TABLE if config.recipe == "paper" else ours)
    if config.learning.optimiser != "rmsprop":
        space["learning.learning_rate"] = ours["learning.learning_rate"]
    if isinstance(config.agent, EPNConfig):
        space["agent.num_heads"] = Choice(tuple(n for n in (1, 2, 4) if config.agent.width % n == 0))
    return space


def with_options(config: RunConfig, options: Options) -> RunConfig:
    """The configuration with a point of its space put in; entropy keeps the shape of its schedule."""
    changes: dict[str, dict[str, Any]] = {"learning": {}, "agent": {}}
    for name, value in options.items():
        part, _, field = name.partition(".")
        changes[part][field] = value
    learning = config.learning
    if config.recipe == "paper" and (unrolls := changes["learning"].get("minibatch_size")):
        # The paper counts unrolls; ours counts steps.
        unroll = changes["learning"].get("rollout_steps", learning.rollout_steps)
        changes["learning"] |= {
            "minibatch_size": unrolls * unroll,
            "num_envs": max(unrolls, learning.num_envs),
        }
    if (entropy := changes["learning"].get("entropy")) is not None and learning.entropy:
        changes["learning"]["entropy_end"] = entropy * learning.entropy_end / learning.entropy
    return replace(
        config,
        learning=replace(learning, **changes["learning"]),
        agent=replace(config.agent, **changes["agent"]),
    )
