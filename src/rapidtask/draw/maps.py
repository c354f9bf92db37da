"""Neighbourhoods on axes of matplotlib: the city around, the streets, and an arrow for each state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from rapidtask.cities.city_graph import CityGraph
from rapidtask.worlds.streets import NeighbourhoodOptions, sample_pool

AROUND, STREETS, ARROWS, CENTRE = "#d1d5db", "#2563eb", "#1f2937", "#ea580c"
ARROW = {"arrowstyle": "-|>", "color": ARROWS, "lw": 1.2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8}
NUMBER = {"boxstyle": "circle,pad=0.12", "fc": "#fdba74", "ec": "none"}


def draw_neighbourhood(
    axes: Axes,
    lines: Sequence[Float[np.ndarray, "P 2"]],
    around: Float[np.ndarray, "E 2 2"],
    numbers: Mapping[int, int] | None = None,
) -> None:
    """Draw a neighbourhood; north is up. `numbers` is what to write at the arrows of some states.

    `lines` are the streets that states face, from where they stand: longitudes and latitudes; `around` has
    the ends of the city's streets.
    """
    points = np.concatenate(lines)
    low, high = points.min(0), points.max(0)
    # Degrees of longitude are shorter than those of latitude.
    wide = np.array([np.cos(np.radians(points[:, 1].mean())), 1.0])
    extent = float(((high - low) * wide).max())
    middle, half = (low + high) / 2, 0.6 * extent / wide
    # Streets outside the frame would only fill the file.
    near = ((around.min(1) <= middle + half) & (around.max(1) >= middle - half)).all(1)
    axes.add_collection(LineCollection(list(around[near]), colors=AROUND, linewidths=0.8))
    axes.add_collection(LineCollection(list(lines), colors=STREETS, linewidths=1.6))
    for state, line in enumerate(lines):
        axes.plot(*line[0], "o", ms=4, color=ARROWS, zorder=3)
        step = (line[1] - line[0]) * wide
        step = step / max(float(np.hypot(*step)), 1e-12) * 0.075 * extent / wide
        axes.annotate("", line[0] + step, line[0], arrowprops=ARROW, zorder=4)
        if number := (numbers or {}).get(state):
            place = line[0] + 1.75 * step
            axes.annotate(str(number), place, fontsize=7, ha="center", va="center", bbox=NUMBER, zorder=5)
    axes.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    axes.set_aspect(1 / wide[0])
    axes.set_axis_off()


def street_ends(city: CityGraph) -> Float[np.ndarray, "E 2 2"]:
    """Longitude and latitude of the ends of a city's streets."""
    return np.stack([city.lng[city.edges], city.lat[city.edges]], axis=2)


def draw_city(city: CityGraph, options: NeighbourhoodOptions, seed: int) -> Figure:
    """The map of a city with a neighbourhood sampled in it, and beside it the neighbourhood alone."""
    places = sample_pool([city], 1, seed, options).places
    lines, around = [line[:, ::-1] for line in places.lines(0)], street_ends(city)
    centre = (city.lng[places.centre[0]], city.lat[places.centre[0]])
    figure = Figure(figsize=(14, 7), layout="constrained")
    whole, near = figure.subplots(1, 2)
    whole.add_collection(LineCollection(list(around), colors=AROUND, linewidths=0.5))
    whole.add_collection(LineCollection(lines, colors=STREETS, linewidths=1.8))
    whole.set_aspect(1 / np.cos(np.radians(city.lat.mean())))
    whole.set_axis_off()
    whole.autoscale()
    whole.set_title(f"{city.name}: {city.num_nodes} nodes, {city.num_intersections} intersections")
    draw_neighbourhood(near, lines, around)
    for axes, size in ((whole, 22), (near, 14)):
        axes.plot(*centre, "o", markersize=size, markerfacecolor="none", markeredgecolor=CENTRE, mew=2)
    nodes = len({tuple(line[0]) for line in lines})
    near.set_title(
        f"{options.intersections} intersections, {options.rules} rules: {nodes} nodes, "
        f"{len(lines)} oriented streets"
    )
    return figure
