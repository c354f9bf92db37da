"""The domains by name: what `--world NAME` and `make_environment(NAME)` build, and their options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from rapidtask.envs.environment import Environment, EnvironmentSpec, EpisodeOptions
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.worlds.memory_planning import ACTIONS, make_memory_planning


class WorldOptions(Protocol):
    """Options of a domain: a dataclass that can make its environment."""

    @property
    def spec(self) -> EnvironmentSpec:
        """The shape of the environment, which is not built for it."""
        ...

    def make(self) -> Environment:
        """Build the environment."""
        ...

    def held_out(self) -> WorldOptions:
        """The same options for worlds that are kept for evaluation."""
        ...


@dataclass(frozen=True)
class MemoryPlanning(EpisodeOptions):
    """The Memory&Planning Game: an N×N torus with new symbols in every episode."""

    size: int = 4
    """Cells a side, N."""
    respawn: bool = False
    """Put the agent on a random cell after each completed task."""

    @property
    def spec(self) -> EnvironmentSpec:
        """The shape of the environment: a symbol for each cell."""
        return EnvironmentSpec(self.size**2, len(ACTIONS), self.episode_steps)

    def make(self) -> Environment:
        """Build the environment."""
        return Environment(make_memory_planning(self.size, respawn=self.respawn), self)

    def held_out(self) -> MemoryPlanning:
        """The same: 16! worlds are not met twice."""
        return self


DOMAINS: dict[str, type] = {"memory-planning": MemoryPlanning, "streetlearn": StreetLearn}


def make_environment(name: str, **options: Any) -> Environment:
    """Build a domain's environment by name, e.g. `make_environment("memory-planning", size=5)`."""
    if name not in DOMAINS:
        raise InputError(f"unknown world {name!r}; known: {', '.join(DOMAINS)}")
    return DOMAINS[name](**options).make()


def domain_name(options: WorldOptions) -> str:
    """Name of the domain that the options belong to."""
    return next(name for name, domain in DOMAINS.items() if isinstance(options, domain))
