"""Environments: reset and step over worlds, and the adapters to other libraries."""

from rapidtask.envs.environment import Environment, EnvironmentSpec, EnvState, EpisodeOptions, TimeStep
from rapidtask.envs.registry import DOMAINS, MemoryPlanning, make_environment
from rapidtask.envs.street_options import StreetLearn
from rapidtask.envs.world_options import WorldOptions

__all__ = [
    "DOMAINS",
    "EnvState",
    "Environment",
    "EnvironmentSpec",
    "EpisodeOptions",
    "MemoryPlanning",
    "StreetLearn",
    "TimeStep",
    "WorldOptions",
    "make_environment",
]
