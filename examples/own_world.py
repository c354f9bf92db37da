"""Worlds of your own: metro maps of many sizes, a new one in every episode."""

from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

from rapidtask.envs import EnvironmentSpec, WorldOptions
from rapidtask.worlds import WorldPool, make_pool, world_from_graph

MOVES = 3
"""Most neighbours of a station."""


@dataclass(frozen=True)
class Metro(WorldOptions):
    """Metro maps: a ring of stations, and lines across it."""

    smallest: int = 6
    """Fewest stations of a map."""
    largest: int = 14
    """Most stations of a map."""
    num_maps: int = 500
    """Maps to draw, of which each episode has one."""
    seed: int = 0
    """Seed of the maps."""

    @property
    def spec(self) -> EnvironmentSpec:
        """A symbol for each station of the largest map; the moves, and collect."""
        return EnvironmentSpec(self.largest, MOVES + 1, self.episode_steps)

    def sample(self) -> WorldPool:
        """The maps; in every episode the stations have other symbols."""
        generator = np.random.default_rng(self.seed)
        maps = [
            draw_map(int(n), generator)
            for n in generator.integers(self.smallest, self.largest, self.num_maps, endpoint=True)
        ]
        worlds = [world_from_graph(map, num_moves=MOVES, num_slots=self.largest) for map in maps]
        return make_pool(worlds, shuffle_observations=True)

    def held_out(self) -> "Metro":
        """Other maps: agents are evaluated in these."""
        return replace(self, seed=self.seed + 1)


def draw_map(num_stations: int, generator: np.random.Generator) -> nx.Graph:
    """A ring with a line across it from every other station, at most."""
    graph = nx.cycle_graph(num_stations)
    ends = generator.permutation(num_stations)[: num_stations // 4 * 2].tolist()
    graph.add_edges_from(zip(ends[::2], ends[1::2], strict=True))
    return nx.relabel_nodes(graph, "station {}".format)
