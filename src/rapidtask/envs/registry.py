"""The domains by name: what `--world NAME` and `make_environment(NAME)` build, and their options."""

from __future__ import annotations

import importlib
import math
import os
import sys
from dataclasses import dataclass
from typing import Annotated, Any

from rapidtask.envs.environment import Environment, EnvironmentSpec, WorldOptions
from rapidtask.envs.graph_options import Graphs
from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
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


DOMAINS: dict[str, type[WorldOptions]] = {
    "memory-planning": MemoryPlanning,
    "streetlearn": StreetLearn,
    "graphs": Graphs,
    "gymnasium": GymnasiumWorlds,
}


def find_domain(name: str) -> type[WorldOptions]:
    """The options of a domain by its name, or by `module:Class` those of your own.

    The module is imported from the current folder, or from wherever Python finds it.
    """
    if name in DOMAINS:
        return DOMAINS[name]
    module, colon, kind = name.partition(":")
    if not colon:
        known = ", ".join((*DOMAINS, "MODULE:CLASS of your own"))
        raise InputError(f"unknown world {name!r}, expected one of: {known}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = getattr(importlib.import_module(module), kind)
        # Before it is called: files of runs name worlds too, and must not name anything else.
        if not (isinstance(found, type) and issubclass(found, WorldOptions)):
            raise InputError(f"{kind} is no class derived from rapidtask.envs.WorldOptions")
        found()
    except Exception as error:  # whatever a module of the user's may raise
        what = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        raise InputError(f"world {name}: {what}{error}") from error
    return found


def make_environment(name: str, **options: Any) -> Environment:
    """Build a domain's environment by name, e.g. `make_environment("memory-planning", size=5)`."""
    return find_domain(name)(**options).make()


def domain_name(options: WorldOptions) -> str:
    """Name of the domain that the options belong to: what `find_domain` finds them by."""
    kind = type(options)
    if kind.__module__ == "__main__" and kind not in DOMAINS.values():
        raise InputError(f"{kind.__name__} is defined in a script: its runs find it only in a module")
    own = f"{kind.__module__}:{kind.__qualname__}"
    return next((name for name, domain in DOMAINS.items() if kind is domain), own)
