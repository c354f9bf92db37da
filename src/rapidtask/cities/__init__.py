"""Cities: street graphs, loaded from files or generated."""

from rapidtask.cities.catalogue import CityEntry, list_cities, load_cities, select_cities
from rapidtask.cities.city_graph import CityError, CityGraph, make_city
from rapidtask.cities.generated import generated_city
from rapidtask.cities.gexf import save_city
from rapidtask.cities.loaders import load_city
from rapidtask.cities.statistics import CityStatistics, compute_statistics

__all__ = [
    "CityEntry",
    "CityError",
    "CityGraph",
    "CityStatistics",
    "compute_statistics",
    "generated_city",
    "list_cities",
    "load_cities",
    "load_city",
    "make_city",
    "save_city",
    "select_cities",
]
