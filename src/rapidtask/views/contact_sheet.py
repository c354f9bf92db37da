"""Contact sheets: a neighbourhood's map beside a dozen of its views, for a person to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8
from matplotlib.figure import Figure

from rapidtask.cities.catalogue import CityEntry
from rapidtask.draw.maps import draw_neighbourhood, street_ends
from rapidtask.errors import InputError
from rapidtask.views.sources import choose_source
from rapidtask.worlds.frame_store import FrameStore, half_edges_of
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


def draw_sheet(
    places: StreetPlaces, states: Int[np.ndarray, " V"], frames: UInt8[np.ndarray, "V H W 3"], title: str
) -> Figure:
    """The map of the pool's first world with numbered arrows, and the view along each of them."""
    city, nodes = places.cities[places.city[0]], places.tail[0, states]
    bearings = city.bearings[half_edges_of(city, nodes, places.first[0, states])]
    rows = -(-len(states) // COLUMNS)
    figure = Figure(figsize=(14.5, max(6.0, 2.6 * rows)), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=(1, 1.5))
    axes = parts[0].subplots()
    numbers = {int(state): number for number, state in enumerate(states, 1)}
    draw_neighbourhood(axes, [line[:, ::-1] for line in places.lines(0)], street_ends(city), numbers)
    axes.set_title(title)
    grid = parts[1].subplots(rows, COLUMNS, squeeze=False).ravel()
    for axes in grid:
        axes.set_axis_off()
    for i, (axes, frame) in enumerate(zip(grid, frames, strict=False)):
        axes.imshow(frame, interpolation="bicubic")
        axes.set_title(f"{i + 1}: node {nodes[i]}, {np.degrees(bearings[i]) % 360:.0f}°", fontsize=9)
    return figure


def sheet_of_city(
    entry: CityEntry,
    options: NeighbourhoodOptions,
    seed: int,
    *,
    frames: Path | None = None,
    hour: float | None = None,
) -> Figure:
    """The sheet of a neighbourhood sampled in a city.

    Args:
        entry: a city of the catalogue.
        options: which neighbourhoods.
        seed: which of them.
        frames: directory of frame stores to take the views from; None to make them.
        hour: hour of the day of rendered views.
    """
    city = entry.load()
    places = sample_pool([city], 1, seed, options).places
    states = choose_states(places)
    node, first = places.tail[0, states], places.first[0, states]
    if frames is None:
        source = choose_source(entry, hour)
        views, origin = source.make(half_edges_of(city, node, first)), source.version
    elif hour is None:
        store = FrameStore(frames / city.name)
        views, origin = store.frames[store.find(city, node, first)], store.info.renderer
    else:
        raise InputError("--hour: the views of a frame store have their light already")
    return draw_sheet(places, states, views, f"{city.name}: {origin}")
