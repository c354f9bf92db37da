"""One-Shot StreetLearn's worlds, in the order they are made.

`growth` grows a neighbourhood in a city, `build` makes tables of many of them, `pool` samples a pool of
worlds with the places of their states, `stream` samples one pool after another while training goes on.
"""

from rapidtask.worlds.streets.growth import NeighbourhoodOptions
from rapidtask.worlds.streets.pool import RULES, StreetPlaces, StreetPool, sample_pool
from rapidtask.worlds.streets.stream import StreetPoolStream

__all__ = ["RULES", "NeighbourhoodOptions", "StreetPlaces", "StreetPool", "StreetPoolStream", "sample_pool"]
