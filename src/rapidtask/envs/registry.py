"""The domains by name: what `--world NAME` and `make_environment(NAME)` build, and their options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from rapidtask.envs.environment import Environment, EnvironmentSpec, WorldOptions
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.options import Range
from rapidtask.worlds.memory_planning import ACTIONS, make_memory_planning
from rapidtask.worlds.world import MOST_STATES, WorldPool


@dataclass(frozen=True)
class MemoryPlanning(WorldOptions):
    """The Memory&Planning Game: an N×N torus with new symbols in every episode."""

    size: Annotated[int, Range(2, math.isqrt(MOST_STATES))] = 4
    """Cells a side, N."""
    respawn: bool = False
    """Put the agent on a random cell after each completed task."""

    @property
    def spec(self) -> EnvironmentSpec:
        """The shape of the environment: a symbol for each cell."""
        return EnvironmentSpec(self.size**2, len(ACTIONS), self.episode_steps)

    def sample(self) -> WorldPool:
        """One torus; its N² symbols are permuted anew in each episode, so no world is met twice."""
        return make_memory_planning(self.size, respawn=self.respawn)


DOMAINS: dict[str, type] = {"memory-planning": MemoryPlanning, "streetlearn": StreetLearn}


def make_environment(name: str, **options: Any) -> Environment:
    """Build a domain's environment by name, e.g. `make_environment("memory-planning", size=5)`."""
    if name not in DOMAINS:
        raise InputError(f"unknown world {name!r}; known: {', '.join(DOMAINS)}")
    return DOMAINS[name](**options).make()


def domain_name(options: WorldOptions) -> str:
    """Name of the domain that the options belong to."""
    return next(name for name, domain in DOMAINS.items() if isinstance(options, domain))
