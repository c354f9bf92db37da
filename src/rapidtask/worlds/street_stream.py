"""Fresh street worlds while training goes on: the next pool is sampled in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from rapidtask.cities.city_graph import CityGraph
from rapidtask.worlds.street_growth import NeighbourhoodOptions
from rapidtask.worlds.streets import StreetPool, sample_pool


class StreetPoolStream:
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
        self._started: dict[int, Future[StreetPool]] = {}

    def start(self, number: int) -> None:
        """Have a pool sampled in the background."""
        if number < 0:
            raise ValueError(f"pool number is {number}, expected at least 0")
        if number not in self._started:
            self._started[number] = self._executor.submit(self._sample, number)

    def ready(self, number: int) -> bool:
        """Whether `take(number)` would return at once."""
        return number in self._started and self._started[number].done()

    def take(self, number: int) -> StreetPool:
        """Pool `number`; the next one is started. Errors of the sampling are raised here."""
        self.start(number)
        future = self._started.pop(number)
        # Pools that were started and will not be asked for again.
        for stale in [n for n in self._started if n < number]:
            self._started.pop(stale).cancel()
        pool = future.result()
        self.start(number + 1)
        return pool

    def close(self) -> None:
        """Stop sampling."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> StreetPoolStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _sample(self, number: int) -> StreetPool:
        pool = sample_pool(self._cities, self._num_worlds, (*self._seeds, number), self._options)
        return pool if self._finish is None else self._finish(pool)
