"""Worlds: the tables of RTS problems, and where the worlds of episodes come from."""

from rapidtask.worlds.graphs import read_graphs, world_from_graph
from rapidtask.worlds.memory_planning import make_memory_planning, make_torus
from rapidtask.worlds.world import Rules, World, WorldError, WorldPool, make_pool, make_world

__all__ = [
    "Rules",
    "World",
    "WorldError",
    "WorldPool",
    "make_memory_planning",
    "make_pool",
    "make_torus",
    "make_world",
    "read_graphs",
    "world_from_graph",
]
