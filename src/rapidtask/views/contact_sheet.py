"""Contact sheets: a neighbourhood's map beside a dozen of its views, for a person to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from matplotlib.figure import Figure

from rapidtask.cities.city_graph import CityGraph
from rapidtask.draw.maps import draw_neighbourhood, street_ends
from rapidtask.errors import InputError
from rapidtask.views.renderer import see_states
from rapidtask.views.scene import HOUR
from rapidtask.worlds.frame_store import half_edges_of
from rapidtask.worlds.streets import NeighbourhoodOptions, StreetPlaces, sample_pool

COLUMNS, MOST = 4, 12
"""Views a row, and at most in all."""


def choose_states(places: StreetPlaces) -> Int[np.ndarray, " V"]:
    """The states of the pool's first world that a sheet shows: whole nodes, so that turns can be compared."""
    tails = places.tail[0, : places.num_states[0]]
    nodes, sizes = np.unique(tails, return_counts=True)
    chosen: list[int] = []
    for node in nodes[np.argsort(-sizes, kind="stable")]:
        states = np.flatnonzero(tails == node).tolist()
        if len(chosen) + len(states) <= MOST:
            chosen += states
    return np.array(chosen, np.int64)


def sheet_of_city(
    city: CityGraph, options: NeighbourhoodOptions, seed: int, frames: Path | None, hour: float | None
) -> Figure:
    """The map of a sampled neighbourhood with numbered arrows, and the view along each of them.

    Views are taken from a directory of frame stores, or else rendered at an hour of the day.
    """
    places = sample_pool([city], 1, seed, options).places
    states = choose_states(places)
    if frames is not None and hour is not None:
        raise InputError("--hour: the views of a frame store have their light already")
    views = see_states(places, 0, states, frames, HOUR if hour is None else hour)

    rows = -(-len(states) // COLUMNS)
    figure = Figure(figsize=(14.5, max(6.0, 2.6 * rows)), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=(1, 1.5))
    axes = parts[0].subplots()
    numbers = {int(state): number for number, state in enumerate(states, 1)}
    draw_neighbourhood(axes, [line[:, ::-1] for line in places.lines(0)], street_ends(city), numbers)
    axes.set_title(city.name)
    grid = parts[1].subplots(rows, COLUMNS, squeeze=False).ravel()
    for axes in grid:
        axes.set_axis_off()
    nodes, first = places.tail[0, states], places.first[0, states]
    bearings = np.degrees(city.bearings[half_edges_of(city, nodes, first)]) % 360
    for i, (axes, view) in enumerate(zip(grid, views, strict=False)):
        axes.imshow(view, interpolation="bicubic")
        axes.set_title(f"{i + 1}: node {nodes[i]}, {bearings[i]:.0f}°", fontsize=9)
    return figure
