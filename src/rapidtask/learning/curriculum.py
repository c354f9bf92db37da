"""Curriculum over sizes: smaller grids first, in the same padded tables."""

from __future__ import annotations

import dataclasses

from rapidtask.envs.environment import Environment
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError
from rapidtask.learning.run_config import RunConfig
from rapidtask.worlds.memory_planning import make_torus
from rapidtask.worlds.world import make_pool

CURRICULUM_SHARE = 0.25
"""Share of the run spent on the sizes before the last, in equal parts."""


class Curriculum:
    """Which environment each iteration trains in."""

    def __init__(self, config: RunConfig, environment: Environment):
        self._stages = [environment]
        for size in reversed(config.curriculum):
            self._stages.insert(0, _smaller(config, environment, size))

    def environment(self, iteration: int, num_iterations: int) -> Environment:
        """The environment of an iteration; its shapes are those of the run's own."""
        before = len(self._stages) - 1
        stage = int(iteration / (CURRICULUM_SHARE * num_iterations) * before) if before else 0
        return self._stages[min(stage, before)]


def _smaller(config: RunConfig, environment: Environment, size: int) -> Environment:
    world = config.world
    if not isinstance(world, MemoryPlanning):
        raise InputError("curriculum: only the Memory&Planning Game has sizes to start from")
    if not 2 <= size <= world.size:
        raise InputError(f"curriculum: size {size} is not between 2 and the world's {world.size}")
    torus = make_torus(size, respawn=world.respawn, num_slots=world.size**2)
    # Rules are part of the compiled program, so they keep naming the final size; agents never read it.
    torus = dataclasses.replace(torus, rules=environment.rules)
    return Environment(make_pool(torus, shuffle_observations=True), environment.options)
