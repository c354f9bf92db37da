"""Environments: reset and step over worlds, and the adapters to other libraries."""

from rapidtask.envs.environment import Environment, EnvState, EpisodeOptions, TimeStep
from rapidtask.envs.registry import DOMAINS, MemoryPlanning, make_environment

__all__ = [
    "DOMAINS",
    "EnvState",
    "Environment",
    "EpisodeOptions",
    "MemoryPlanning",
    "TimeStep",
    "make_environment",
]
