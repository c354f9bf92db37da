"""Agents by name."""

from __future__ import annotations

from typing import Any

from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.rivals.lstm import LSTMConfig
from rapidtask.agents.rivals.merlin import MerlinConfig
from rapidtask.agents.rivals.mra import MRAConfig
from rapidtask.agents.rivals.transformer import TransformerConfig
from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError

AGENTS: dict[str, type] = {
    "epn": EPNConfig,
    "lstm": LSTMConfig,
    "merlin": MerlinConfig,
    "mra": MRAConfig,
    "transformer": TransformerConfig,
}


def make_agent(name: str, environment: Environment, seed: int = 0, **options: Any) -> Agent:
    """Build an agent with fresh weights for an environment, e.g. `make_agent("epn", env, num_heads=2)`.

    Raises:
        InputError: if there is no such agent, or it has no such option.
    """
    if name not in AGENTS:
        raise InputError(f"unknown agent {name!r}; known: {', '.join(AGENTS)}")
    config = AGENTS[name]
    if unknown := set(options) - set(config.__dataclass_fields__):
        known = ", ".join(config.__dataclass_fields__)
        raise InputError(f"{name} has no option {', '.join(sorted(unknown))}; known: {known}")
    return config(**options).make(environment.spec, seed)


__all__ = ["AGENTS", "make_agent"]
