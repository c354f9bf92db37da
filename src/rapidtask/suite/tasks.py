"""The tasks of a suite: worlds and episodes that are numbered and never change, so that scores compare.

No file outside the package takes part: streets are those of the generated city that is never trained on,
whatever RAPIDTASK_CITIES says, and views of them are rendered here. A task's checksum is over all that
decides what an agent meets; who changes a world, a seed or a rule by accident finds it changed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache

import jax
import numpy as np

from rapidtask.cities.generated import HELD_OUT, generated_city
from rapidtask.envs.environment import Environment, WorldOptions
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.evaluation.play import environment_keys, episode_keys
from rapidtask.views.renderer import RenderedFrames
from rapidtask.worlds.frame_store import half_edges_of
from rapidtask.worlds.streets import StreetPool, sample_pool

SEED = 101
"""Seed of every task's episodes, and of its streets."""


@dataclass(frozen=True)
class Task:
    """Some episodes in some worlds."""

    name: str
    options: WorldOptions
    """What the worlds are; of streets, those of the generated held-out city."""
    episodes: int
    """Episodes 0, 1, … of the seed."""
    checksum: str
    """What `worlds_checksum` gives."""
    pixels: bool = False
    """Whether places are seen in views."""

    def make(self) -> Environment:
        """The environment; kept in memory."""
        return _make(self)


def _streets(num_intersections: int, num_worlds: int, **options) -> StreetLearn:
    steps = 40 * num_intersections
    return StreetLearn(
        steps, city=HELD_OUT, num_intersections=num_intersections, pool_size=num_worlds, seed=SEED, **options
    )


SUITES: dict[str, tuple[Task, ...]] = {
    "v1": (
        Task("game-3x3", MemoryPlanning(100, size=3), 100, "3f49164b768f9ccc"),
        Task("game-4x4", MemoryPlanning(100, size=4), 100, "2563d56e07304b67"),
        Task("game-5x5", MemoryPlanning(150, size=5), 100, "a150a135ea87b70f"),
        Task("game-6x6", MemoryPlanning(200, size=6), 100, "0366f741460167f3"),
        Task("streets-5", _streets(5, 64), 50, "5f4c941a20049a9e"),
        Task("streets-9", _streets(9, 64), 30, "9e621e6275a774ca"),
        Task("streets-16", _streets(16, 32), 16, "af46b7e4ebfae259"),
        Task("streets-24", _streets(24, 16), 8, "2dbc3df06acbe52d"),
        Task("streets-5-pixels", _streets(5, 16), 16, "79a2fb6424362852", pixels=True),
    )
}
"""The tasks of each suite. A suite that was published never changes: a new one gets a new name."""


def find_tasks(suite: str, names: tuple[str, ...] = ()) -> tuple[Task, ...]:
    """The tasks of a suite, all or those named, in the suite's order."""
    if suite not in SUITES:
        raise InputError(f"--suite: unknown suite {suite!r}; known: {', '.join(SUITES)}")
    known = [task.name for task in SUITES[suite]]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--tasks: {suite} has no task {unknown[0]!r}; it has {', '.join(known)}")
    return tuple(task for task in SUITES[suite] if not names or task.name in names)


def worlds_checksum(environment: Environment, episodes: int) -> str:
    """Sixteen digits over the tables, the rules, and each episode's world, symbols, start, goal and key.

    The key decides on all later goals.
    """
    states, _ = environment.reset_batch(environment_keys(episode_keys(SEED, episodes)))
    worlds = environment.pool.worlds
    digest = hashlib.sha256(repr((worlds.rules, worlds.num_observations, environment.episode)).encode())
    for array in (
        worlds.next_state,
        worlds.num_states,
        states.world.index,
        states.world.observation,
        states.state,
        states.goal,
        np.asarray(jax.random.key_data(states.key)).astype(np.int32),
    ):
        digest.update(np.asarray(array).astype("<i8").tobytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=16)
def _make(task: Task) -> Environment:
    options = task.options
    if not isinstance(options, StreetLearn):
        return options.make()
    # Not by the city's name: where city files are looked for is no business of a suite.
    city = (generated_city(HELD_OUT),)
    pool = sample_pool(city, options.num_worlds, (options.seed, 0), options.neighbourhoods)
    return Environment(_render(pool) if task.pixels else pool, options.episode)


def _render(pool: StreetPool) -> StreetPool:
    """The pool with the rendered view of every state."""
    places, (city,) = pool.places, pool.places.cities
    pieces = half_edges_of(city, places.tail, places.first)
    used = np.unique(pieces[pieces >= 0])
    ids = np.where(pieces >= 0, np.searchsorted(used, pieces), -1).astype(np.int32)
    frames = RenderedFrames(city).make(used)
    return replace(pool, frames=jax.device_put(frames), frame_ids=jax.device_put(ids))
