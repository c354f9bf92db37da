"""A picture of a city with a neighbourhood sampled in it."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from rapidtask.cities.city_graph import CityGraph
from rapidtask.worlds.streets.growth import NeighbourhoodOptions
from rapidtask.worlds.streets.pool import sample_pool

STREETS, NEAR, START = "#b8bcc4", "#2563eb", "#ea580c"
"""Colours of the city, the neighbourhood and its centre."""


def draw_city(city: CityGraph, options: NeighbourhoodOptions, seed: int) -> Figure:
    """The map of a city with a neighbourhood sampled in it, and beside it the neighbourhood alone."""
    places = sample_pool([city], 1, seed, options).places
    lines = [line[:, ::-1] for line in places.lines(0)]
    centre = (city.lng[places.centre[0]], city.lat[places.centre[0]])
    all_streets = np.stack([city.lng[city.edges], city.lat[city.edges]], axis=2)
    figure = Figure(figsize=(14, 7), layout="constrained")
    whole, near = figure.subplots(1, 2)
    for axes, width in ((whole, 0.5), (near, 1.5)):
        axes.add_collection(LineCollection(list(all_streets), colors=STREETS, linewidths=width))
        axes.add_collection(LineCollection(lines, colors=NEAR, linewidths=2 * width + 0.8))
        axes.set_aspect(1 / np.cos(np.radians(city.lat.mean())))
        axes.set_axis_off()
    whole.autoscale()
    whole.plot(*centre, "o", markersize=22, markerfacecolor="none", markeredgecolor=START, markeredgewidth=2)
    whole.set_title(f"{city.name}: {city.num_nodes} nodes, {city.num_intersections} intersections")
    ends = np.array([line[0] for line in lines])
    near.plot(*ends.T, "o", color=NEAR, markersize=6)
    near.plot(*centre, "o", markersize=14, markerfacecolor="none", markeredgecolor=START, markeredgewidth=2)
    for line in lines:
        # A short arrow out of each node: one for each oriented street, that is, for each state.
        step = line[1] - line[0]
        step = step / max(float(np.hypot(*step)), 1e-12) * np.ptp(ends, axis=0).max() * 0.045
        near.annotate(
            "", line[0] + step, line[0], arrowprops={"arrowstyle": "-|>", "color": "#1f2937", "lw": 1.4}
        )
    low, high = np.concatenate(lines).min(0), np.concatenate(lines).max(0)
    room = 0.12 * (high - low).max()
    near.set_xlim(low[0] - room, high[0] + room)
    near.set_ylim(low[1] - room, high[1] + room)
    near.set_title(
        f"{options.intersections} intersections, {options.rules} rules: "
        f"{len(np.unique(ends, axis=0))} nodes, {len(lines)} oriented streets"
    )
    return figure
