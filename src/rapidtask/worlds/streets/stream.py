"""Fresh street worlds while training goes on: the next pool is sampled in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rapidtask.cities.city_graph import CityGraph
from rapidtask.worlds.streets.growth import NeighbourhoodOptions
from rapidtask.worlds.streets.pool import StreetPool, sample_pool


@dataclass(eq=False)
class StreetPoolStream(AbstractContextManager["StreetPoolStream"]):
    """An endless row of pools; the n-th is a function of (seed, n) only.

    `take(n)` gives pool n and has pool n + 1 sampled in the background, so that a caller that takes pools
    in order waits for the first one only. A resumed run takes the number it stopped at and goes on bit for
    bit: which pool is used must follow from the number of updates, never from the clock.
    """

    cities: Sequence[CityGraph]
    num_worlds: int
    seed: int | Sequence[int]
    options: NeighbourhoodOptions | None = None
    finish: Callable[[StreetPool], StreetPool] = lambda pool: pool
    """Applied to each pool in the background, to put frames beside it."""

    def __post_init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="street-pool")
        self._ahead: dict[int, Future[StreetPool]] = {}

    def take(self, number: int) -> StreetPool:
        """Pool `number`; the next one is started. Errors of the sampling are raised here."""
        future = self._ahead.pop(number, None) or self._executor.submit(self._sample, number)
        # A pool that was started and will not be asked for again.
        for stale in self._ahead.values():
            stale.cancel()
        pool = future.result()
        self._ahead = {number + 1: self._executor.submit(self._sample, number + 1)}
        return pool

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _sample(self, number: int) -> StreetPool:
        seeds = (self.seed,) if isinstance(self.seed, int) else self.seed
        return self.finish(sample_pool(self.cities, self.num_worlds, (*seeds, number), self.options))
