"""Fresh street worlds while training goes on: the next pool is sampled in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager

from rapidtask.cities.city_graph import CityGraph
from rapidtask.worlds.streets.growth import NeighbourhoodOptions
from rapidtask.worlds.streets.pool import StreetPool, sample_pool


class StreetPoolStream(AbstractContextManager["StreetPoolStream"]):
    """An endless row of pools; the n-th is a function of (seed, n) only.

    `take(n)` gives pool n and has pool n + 1 sampled in the background, so that a caller that takes pools
    in order waits for the first one only. A resumed run takes the number it stopped at and goes on bit for
    bit: which pool is used must follow from the number of updates, never from the clock.
    """

    def __init__(
        self,
        cities: Sequence[CityGraph],
        num_worlds: int,
        seed: int | Sequence[int],
        options: NeighbourhoodOptions | None = None,
        finish: Callable[[StreetPool], StreetPool] | None = None,
    ) -> None:
        """Set the stream up; `finish` is applied to each pool in the background, to put frames beside it."""
        self._cities = tuple(cities)
        self._num_worlds = num_worlds
        self._seeds = (seed,) if isinstance(seed, int) else tuple(seed)
        self._options = options or NeighbourhoodOptions()
        self._finish = finish
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="street-pool")
        self._ahead: dict[int, Future[StreetPool]] = {}

    def take(self, number: int) -> StreetPool:
        """Pool `number`; the next one is started. Errors of the sampling are raised here."""
        if number < 0:
            raise ValueError(f"pool number is {number}, expected at least 0")
        future = self._ahead.pop(number, None) or self._executor.submit(self._sample, number)
        # A pool that was started and will not be asked for again.
        for stale in self._ahead.values():
            stale.cancel()
        pool = future.result()
        self._ahead = {number + 1: self._executor.submit(self._sample, number + 1)}
        return pool

    def close(self) -> None:
        """Stop sampling."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sample(self, number: int) -> StreetPool:
        pool = sample_pool(self._cities, self._num_worlds, (*self._seeds, number), self._options)
        return pool if self._finish is None else self._finish(pool)
