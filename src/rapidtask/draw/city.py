"""Pictures of a city with a neighbourhood sampled in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from rapidtask.cities.city_graph import CityGraph
from rapidtask.worlds.streets import NeighbourhoodOptions, StreetPlaces, sample_pool

STREETS, NEAR, START, ARROW = "#b8bcc4", "#2563eb", "#ea580c", "#1f2937"
"""Colours of the city, the neighbourhood, its centre, and its states."""
NUMBER = {"ha": "center", "va": "center", "fontsize": 11, "fontweight": "bold", "color": ARROW}
DISC = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}


def draw_city(city: CityGraph, options: NeighbourhoodOptions, seed: int) -> Figure:
    """The map of a city with a neighbourhood sampled in it, and beside it the neighbourhood alone."""
    places = sample_pool([city], 1, seed, options).places
    centre = (city.lng[places.centre[0]], city.lat[places.centre[0]])
    figure = Figure(figsize=(14, 7), layout="constrained")
    whole, near = figure.subplots(1, 2)
    lines = _draw_streets(whole, places, 0.5)
    whole.autoscale()
    whole.plot(*centre, "o", markersize=22, markerfacecolor="none", markeredgecolor=START, markeredgewidth=2)
    whole.set_title(f"{city.name}: {city.num_nodes} nodes, {city.num_intersections} intersections")
    draw_neighbourhood(near, places)
    ends = np.array([line[0] for line in lines])
    near.plot(*ends.T, "o", color=NEAR, markersize=6)
    near.plot(*centre, "o", markersize=14, markerfacecolor="none", markeredgecolor=START, markeredgewidth=2)
    near.set_title(
        f"{options.intersections} intersections, {options.rules} rules: "
        f"{len(np.unique(ends, axis=0))} nodes, {len(lines)} oriented streets"
    )
    return figure


def draw_neighbourhood(
    axes: Any, places: StreetPlaces, numbered: Int[np.ndarray, " N"] | None = None
) -> None:
    """Draw the streets of a pool's first world, with an arrow out of its node for each state.

    Args:
        axes: matplotlib's.
        places: of the pool whose first world it is.
        numbered: the states to show, each with its number from 1 on; by default all, without numbers.
    """
    lines = _draw_streets(axes, places, 1.5)
    low, high = np.concatenate(lines).min(0), np.concatenate(lines).max(0)
    size = (high - low).max()
    # Degrees of longitude are shorter than those of latitude.
    wide = 1 / np.array([axes.get_aspect(), 1.0])
    for number, state in enumerate(range(len(lines)) if numbered is None else numbered, 1):
        place = lines[state][0]
        step = (lines[state][1] - place) * wide
        step = step / max(float(np.hypot(*step)), 1e-12) * size * 0.06 / wide
        axes.annotate("", place + step, place, arrowprops={"arrowstyle": "-|>", "color": ARROW, "lw": 1.6})
        if numbered is not None:
            axes.annotate(str(number), place + 1.45 * step, bbox=DISC, **NUMBER)
    axes.set_xlim(low[0] - 0.14 * size, high[0] + 0.14 * size)
    axes.set_ylim(low[1] - 0.14 * size, high[1] + 0.14 * size)


def _draw_streets(axes: Any, places: StreetPlaces, width: float) -> list[np.ndarray]:
    """Draw a city and the pool's first world; returns the latter's streets, as longitudes and latitudes."""
    city = places.cities[places.city[0]]
    lines = [line[:, ::-1] for line in places.lines(0)]
    everything = np.stack([city.lng[city.edges], city.lat[city.edges]], axis=2)
    axes.add_collection(LineCollection(list(everything), colors=STREETS, linewidths=width))
    axes.add_collection(LineCollection(lines, colors=NEAR, linewidths=2 * width + 0.8))
    axes.set_aspect(1 / np.cos(np.radians(city.lat.mean())))
    axes.set_axis_off()
    return lines
