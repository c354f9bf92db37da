"""Options of One-Shot StreetLearn, and the environment they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Literal

from rapidtask.cities.catalogue import HELD_OUT_GROUP, TRAIN, load_cities
from rapidtask.cities.city_graph import CityGraph
from rapidtask.envs.environment import EnvironmentSpec, WorldOptions
from rapidtask.options import Count, Range, Seed
from rapidtask.worlds.frame_store import attach_frames
from rapidtask.worlds.streets import RULES, NeighbourhoodOptions, StreetPool, StreetPoolStream, sample_pool
from rapidtask.worlds.streets.growth import NumStates

POOL_ENTRIES = 16_000_000
"""Entries of the distance tables of a default pool: 32 MB, 4,096 worlds of 60 states."""
PIXEL_WORLDS = 256
"""Worlds of a default pool with frames: 173 MB."""


@dataclass(frozen=True)
class StreetLearn(WorldOptions):
    """One-Shot StreetLearn: a new neighbourhood of a city in every episode, walked street by street."""

    episode_steps: Count = 200
    """Steps per episode."""
    city: str = TRAIN
    """"train", "held-out", the name of a city (several joined by commas), or a file."""
    cities: str | None = None
    """Directory of city files; by default the variable RAPIDTASK_CITIES, or ./cities. Without: generated."""
    rules: Literal["paper", "release"] = "paper"
    """The paper's rules (arriving completes a task, then a new start), or the released code's (collect)."""
    num_intersections: Count | None = None
    """Intersections of a neighbourhood; by default 5 (paper) or 8 (release)."""
    keep_intermediate: bool = False
    """Keep the nodes along streets as states, instead of jumping from intersection to intersection."""
    num_symbols: NumStates | None = None
    """Size of the vocabulary and most states of a world; by default 60 up to 9 intersections."""
    pool_size: Annotated[int, Range(1, 100_000)] | None = None
    """Worlds sampled ahead, of which each episode draws one; by default 4,096 (fewer if they are large, 256
    with frames)."""
    seed: Seed = 0
    """Seed of the neighbourhoods."""
    frames: str | None = None
    """Directory of frame stores (`rapidtask cities render`): observations are then pixels, not symbols."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.neighbourhoods  # which are checked as they are made

    @property
    def neighbourhoods(self) -> NeighbourhoodOptions:
        """Which neighbourhoods are sampled."""
        return NeighbourhoodOptions(
            self.rules, self.num_intersections, self.keep_intermediate, self.num_symbols
        )

    @property
    def spec(self) -> EnvironmentSpec:
        """The shape of the environment: neighbourhoods of any size share one vocabulary."""
        slots, num_actions = self.neighbourhoods.slots, RULES[self.rules].num_actions
        return EnvironmentSpec(slots, num_actions, self.episode_steps, pixels=self.frames is not None)

    @property
    def num_worlds(self) -> int:
        """Worlds of a pool, W."""
        least, most = (64, 4096) if self.frames is None else (1, PIXEL_WORLDS)
        fitting = POOL_ENTRIES // self.neighbourhoods.slots**2
        return min(most, max(least, fitting)) if self.pool_size is None else self.pool_size

    def sample(self) -> StreetPool:
        """Pool 0 of `stream()`: a function of the options, kept in memory."""
        return _sample(self, load_cities(self.city, self.cities))

    def stream(self, *seeds: int) -> StreetPoolStream:
        """Fresh pools for training, sampled in the background; a held-out city is refused.

        Pool n is a function of the options (their seed among them), of `seeds` (such as a run's), and of n.
        """
        cities = load_cities(self.city, self.cities, training=True)
        return StreetPoolStream(
            cities, self.num_worlds, (self.seed, *seeds), self.neighbourhoods, finish=self._finish
        )

    def _finish(self, pool: StreetPool) -> StreetPool:
        """Put the frames beside a pool, if they are asked for."""
        return pool if self.frames is None else attach_frames(pool, self.frames)

    def held_out(self) -> StreetLearn:
        """The same options in the held-out city."""
        return replace(self, city=HELD_OUT_GROUP)

    def sources(self) -> dict[str, str]:
        """Checksums of the streets of the cities."""
        return {city.name: city.checksum for city in load_cities(self.city, self.cities)}


@lru_cache(maxsize=8)
def _sample(options: StreetLearn, cities: tuple[CityGraph, ...]) -> StreetPool:
    # The cities are part of the key: what a name stands for can change with the directory.
    return options._finish(sample_pool(cities, options.num_worlds, (options.seed, 0), options.neighbourhoods))
