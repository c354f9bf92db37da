"""One-Shot StreetLearn: pools of worlds sampled from the neighbourhoods of cities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from rapidtask.cities.city_graph import CityError, CityGraph
from rapidtask.errors import InputError
from rapidtask.worlds.streets.build import build_worlds
from rapidtask.worlds.streets.growth import (
    NeighbourhoodOptions,
    StreetEdges,
    grow_neighbourhood,
    possible_centres,
    street_lines,
)
from rapidtask.worlds.world import Rules, World, WorldPool

RULES = {
    "paper": Rules(("forward", "left", "right"), "arrival", respawn=True, inverse=(-1, 2, 1)),
    "release": Rules(("forward", "left", "right", "collect"), "collect", inverse=(-1, 2, 1, -1)),
}
"""Turning left undoes turning right; moving forward is undone by no single action."""

CHUNK_ENTRIES = 2_000_000
"""Entries of the distance tables built at a time: large enough for NumPy, small enough for the cache."""

MAX_RESAMPLED = 0.99
"""Give up if more than this share of neighbourhoods does not fit."""


@dataclass(frozen=True, eq=False)
class StreetPlaces:
    """Where in the city each state of a pool is, for maps and views.

    Per-state arrays hold -1 (nodes) or 0 (bearings) at padding.
    """

    cities: tuple[CityGraph, ...]
    options: NeighbourhoodOptions
    city: Int[np.ndarray, " W"]
    """Which of `cities` each world lies in."""
    centre: Int[np.ndarray, " W"]
    """The node each neighbourhood was grown from."""
    tail: Int[np.ndarray, "W S"]
    """The node a state is at."""
    first: Int[np.ndarray, "W S"]
    """The first node along the street a state faces: where its view looks."""
    head: Int[np.ndarray, "W S"]
    """The node that moving forward leads to."""
    bearing: Float[np.ndarray, "W S"]
    """The bearing a state faces, radians clockwise from north."""
    resampled: dict[str, float]
    """Share of all sampled neighbourhoods that were sampled again, by reason."""

    @property
    def num_states(self) -> Int[np.ndarray, " W"]:
        """How many states of each world exist; the rest is padding."""
        return (self.tail >= 0).sum(axis=1)

    def lines(self, world: int) -> list[Float[np.ndarray, "P 2"]]:
        """For each state of a world the line of the street it faces: latitudes and longitudes, for maps."""
        city = self.cities[self.city[world]]
        count = self.num_states[world]
        starts = list(zip(self.tail[world, :count].tolist(), self.first[world, :count].tolist(), strict=True))
        paths = street_lines(city, int(self.centre[world]), self.options, starts)
        return [np.stack([city.lat[path], city.lng[path]], axis=1) for path in paths]


# No leaves: compiled code is given the tables alone, and one program serves the pools of all cities.
jax.tree_util.register_pytree_node(StreetPlaces, lambda _: ((), None), lambda *_: None)  # pyright: ignore


class StreetPool(WorldPool):
    """A pool of street worlds: it has the places of its states beside it."""

    places: StreetPlaces = eqx.field(kw_only=True)


def sample_pool(
    cities: Sequence[CityGraph],
    num_worlds: int,
    seed: int | Sequence[int],
    options: NeighbourhoodOptions | None = None,
) -> StreetPool:
    """Sample a pool of W street worlds: for each a city, uniformly, and in it a centre node, uniformly.

    A neighbourhood with more states than slots, or with two states that the release's rules confuse, is
    sampled again; `places.resampled` reports the shares. The same cities and seed (a number, or several, such
    as seed and number of the pool) give the same pool. A city that is too small, or where (nearly) no
    neighbourhood fits the slots, is a CityError.
    """
    options = options or NeighbourhoodOptions()
    if num_worlds < 1:
        raise InputError(f"the size of the pool is {num_worlds}, expected at least 1")
    if not cities:
        raise CityError("no cities to sample worlds from")
    for city in cities:
        if city.num_intersections < options.intersections:
            raise CityError(
                f"{city.name}: {city.num_intersections} intersections, but neighbourhoods of "
                f"{options.intersections} were asked for"
            )
    sampler = _Sampler(tuple(cities), options, np.random.default_rng(seed))
    chunk_size = max(1, CHUNK_ENTRIES // options.slots**2)
    chunks, missing = [], num_worlds
    while missing > 0:
        chunk = sampler.sample_chunk(min(chunk_size, missing))
        chunks.append(chunk)
        missing -= len(chunk["centre"])
    tables = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    world = World(
        observation=jax.device_put(np.tile(np.arange(options.slots, dtype=np.int32), (num_worlds, 1))),
        next_state=jax.device_put(tables["next_state"]),
        distance=jax.device_put(tables["distance"]),
        num_states=jax.device_put(tables["num_states"]),
        rules=RULES[options.rules],
        num_observations=options.slots,
    )
    places = StreetPlaces(
        cities=tuple(cities),
        options=options,
        resampled={name: count / sampler.num_drawn for name, count in sampler.refused.items()},
        **{name: tables[name] for name in ("city", "centre", "tail", "first", "head", "bearing")},
    )
    return StreetPool(world, shuffle_observations=True, places=places)


class _Sampler:
    """Draws neighbourhoods and builds their tables, a chunk at a time."""

    def __init__(
        self, cities: tuple[CityGraph, ...], options: NeighbourhoodOptions, generator: np.random.Generator
    ) -> None:
        self.cities, self.options, self.generator = cities, options, generator
        self.centres = [possible_centres(city, options.rules) for city in cities]
        # Nodes of all cities in one row, so that a chunk may mix them.
        self.node_offset = np.cumsum([0] + [city.num_nodes for city in cities])
        self.lat = np.concatenate([city.lat for city in cities])
        self.lng = np.concatenate([city.lng for city in cities])
        self.num_drawn = 0
        self.refused = {"too many states": 0, "too few intersections": 0, "equal bearings": 0}
        self.draws = self._draw()

    def _draw(self) -> Iterator[tuple[int, int]]:
        """An endless row of (city, centre node)."""
        while True:
            which = self.generator.integers(len(self.cities), size=1024)
            share = self.generator.random(1024)
            for city, u in zip(which.tolist(), share.tolist(), strict=True):
                yield city, self.centres[city][int(u * len(self.centres[city]))]

    def sample_chunk(self, num_worlds: int) -> dict[str, np.ndarray]:
        """Tables of at most this many new worlds (fewer if some turn out ambiguous), stacked by name."""
        drawn: list[tuple[int, int]] = []
        grown: list[StreetEdges] = []
        while len(grown) < num_worlds:
            city, centre = next(self.draws)
            self.num_drawn += 1
            edges = grow_neighbourhood(self.cities[city], centre, self.options)
            if edges is None or len(edges) > self.options.slots:
                self.refused["too few intersections" if edges is None else "too many states"] += 1
                self._refuse_hopeless()
                continue
            drawn.append((city, centre))
            grown.append(edges)
        city, centre = np.array(drawn).T
        offset, release = self.node_offset[city], self.options.rules == "release"
        tables, good = build_worlds(grown, self.lat, self.lng, offset, self.options.slots, release=release)
        self.refused["equal bearings"] += int((~good).sum())
        self._refuse_hopeless()
        return {name: table[good] for name, table in (tables | {"city": city, "centre": centre}).items()}

    def _refuse_hopeless(self) -> None:
        refused = sum(self.refused.values())
        if self.num_drawn >= 200 and refused > MAX_RESAMPLED * self.num_drawn:
            reason = max(self.refused, key=lambda name: self.refused[name])
            names = ", ".join(city.name for city in self.cities)
            raise CityError(
                f"{names}: {refused} of {self.num_drawn} neighbourhoods of {self.options.intersections} "
                f"intersections were refused ({reason}; {self.options.slots} states fit)"
            )
