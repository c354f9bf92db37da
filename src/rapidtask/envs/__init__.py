"""Environments: reset and step over worlds, and the adapters to other libraries."""

from rapidtask.envs.environment import (
    Environment,
    EnvironmentSpec,
    EnvState,
    EpisodeOptions,
    TimeStep,
    WorldOptions,
)
from rapidtask.envs.graph_options import Graphs
from rapidtask.envs.registry import DOMAINS, MemoryPlanning, make_environment
from rapidtask.envs.street_options import StreetLearn

__all__ = [
    "DOMAINS",
    "EnvState",
    "Environment",
    "EnvironmentSpec",
    "EpisodeOptions",
    "Graphs",
    "MemoryPlanning",
    "StreetLearn",
    "TimeStep",
    "WorldOptions",
    "make_environment",
]
