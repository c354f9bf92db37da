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

LEARNING_RATES = {
    "rmsprop": Interval(1e-5, 4e-4),
    "adam": Interval(1e-3, 2e-2),
    "muon": Interval(1e-3, 2e-2),
}
"""Of each optimiser; RMSprop's is IMPALA-like: the paper's own table has not been checked."""


def search_space(config: RunConfig) -> Space:
    """The intervals that fit a configuration: its optimiser, its agent, the length of its rollouts.

    Heads are the paper's 1 to 4. The other intervals are ours, around the recipes' values, and have not been
    checked against the paper's table.
    """
    space: Space = {
        "learning.learning_rate": LEARNING_RATES[config.learning.optimiser],
        "learning.entropy": Interval(1e-3, 1e-1),
        "learning.discount": Choice((0.8, 0.9, 0.95, 0.98)),
    }
    if config.learning.rollout_steps is not None:
        space["learning.rollout_steps"] = Choice((10, 20, 40))
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
    if (entropy := changes["learning"].get("entropy")) is not None and learning.entropy:
        changes["learning"]["entropy_end"] = entropy * learning.entropy_end / learning.entropy
    return replace(
        config,
        learning=replace(learning, **changes["learning"]),
        agent=replace(config.agent, **changes["agent"]),
    )
