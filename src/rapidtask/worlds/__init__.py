"""Worlds: the tables of RTS problems, and where the worlds of episodes come from."""

from rapidtask.worlds.graphs import read_graphs, world_from_graph
from rapidtask.worlds.memory_planning import make_memory_planning, make_torus
from rapidtask.worlds.streets import (
    NeighbourhoodOptions,
    StreetPlaces,
    StreetPool,
    StreetPoolStream,
    sample_pool,
)
from rapidtask.worlds.world import (
    EpisodeWorld,
    Rules,
    World,
    WorldError,
    WorldPool,
    make_pool,
    make_world,
)

__all__ = [
    "EpisodeWorld",
    "NeighbourhoodOptions",
    "Rules",
    "StreetPlaces",
    "StreetPool",
    "StreetPoolStream",
    "World",
    "WorldError",
    "WorldPool",
    "make_memory_planning",
    "make_pool",
    "make_torus",
    "make_world",
    "read_graphs",
    "sample_pool",
    "world_from_graph",
]
