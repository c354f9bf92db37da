"""What the street worlds are: sampled neighbourhoods as graphs, and views in one (paper, Figure 3a, b)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from matplotlib.axes import Axes

from rapidtask.draw.maps import draw_neighbourhood, street_ends
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Figure, Table
from rapidtask.views.contact_sheet import choose_states
from rapidtask.views.renderer import RenderedFrames
from rapidtask.worlds.frame_store import FrameStore, half_edges_of
from rapidtask.worlds.streets import StreetPlaces, sample_pool

VIEWS = 8


class PicturedTable(list[dict[str, Any]]):
    """A table with the pictures that its figure shows beside the numbers."""

    def __init__(self, rows: Table, views: UInt8[np.ndarray, "V 84 84 3"], around: np.ndarray) -> None:
        super().__init__(rows)
        self.views = views
        self.around = around
        """Lines of the city around the neighbourhoods: longitudes and latitudes, `[E, 2, 2]`."""


@dataclass(frozen=True, kw_only=True)
class Neighbourhoods(Figure[Evaluations]):
    """Graphs of sampled neighbourhoods, and views in the first."""

    name: str = "neighbourhoods"
    title: str = "Neighbourhoods of the held-out city, and views in one (paper, Figure 3a, b)"
    caption: str = (
        "Above: neighbourhoods of 5, 7 and 9 intersections as connectivity graphs, the first that the seed "
        "gives. Each arrow out of a node is a state: being there and facing that street. Grey: the city "
        "around. Below: the views of the numbered states of the first, which are what agents see that see "
        "pixels; agents that see symbols are given one of 60 in place of each."
    )
    intersections: tuple[int, ...] = (5, 7, 9)

    def table(self, source: Evaluations) -> PicturedTable:
        """Every state of the neighbourhoods: its node, the street it faces, and the number of its view."""
        rows: Table = []
        views = np.zeros((0, 84, 84, 3), np.uint8)
        city = source.world.sample().places.cities[0]
        for intersections in self.intersections:
            options = replace(source.world, num_intersections=intersections).neighbourhoods
            places = sample_pool([city], 1, source.seed, options).places
            numbers = {}
            if intersections == self.intersections[0]:
                chosen = choose_states(places)[:VIEWS]
                views = make_views(source, places, chosen)
                numbers = {int(state): number for number, state in enumerate(chosen, 1)}
            for state, line in enumerate(places.lines(0)):
                points = line[:, ::-1].round(6).tolist()
                rows.append(
                    {
                        "city": city.name,
                        "intersections": intersections,
                        "state": state,
                        "view": numbers.get(state, ""),
                        "node": int(places.tail[0, state]),
                        "leads_to": int(places.head[0, state]),
                        "bearing_degrees": round(float(np.degrees(places.bearing[0, state])) % 360, 1),
                        "line_lng_lat": " ".join(f"{lng} {lat}" for lng, lat in points),
                    }
                )
        return PicturedTable(rows, views, street_ends(city))

    def plot(self, rows: Table) -> Drawing:
        """Graphs above, views below."""
        assert isinstance(rows, PicturedTable)
        drawing = style.new_figure(9.0, 5.0)
        parts: Any = drawing.subfigures(2, 1, height_ratios=(2.6, 1))
        above, below = parts
        for axes, size in zip(above.subplots(1, len(self.intersections)), self.intersections, strict=True):
            draw_graph(axes, [row for row in rows if row["intersections"] == size], rows.around)
        pictures = zip(below.subplots(1, len(rows.views)), rows.views, strict=True)
        for number, (axes, view) in enumerate(pictures, 1):
            axes.imshow(view, interpolation="none")
            axes.set_axis_off()
            axes.set_title(str(number), loc="center", fontsize=9)
        return drawing


def make_views(
    source: Evaluations, places: StreetPlaces, states: np.ndarray
) -> UInt8[np.ndarray, "V 84 84 3"]:
    """The views of states, from the frames at hand or else rendered."""
    city, tail, first = places.cities[0], places.tail[0, states], places.first[0, states]
    if source.frames is not None:
        store = FrameStore(Path(source.frames) / city.name)
        return np.asarray(store.frames[store.find(city, tail, first)])
    source.say(f"views of {city.name}")
    return RenderedFrames(city).make(half_edges_of(city, tail, first))


def draw_graph(axes: Axes, rows: Table, around: np.ndarray) -> None:
    """One neighbourhood: its streets, nodes and states, and the city around it."""
    lines = [np.asarray(row["line_lng_lat"].split(), float).reshape(-1, 2) for row in rows]
    numbers = {state: row["view"] for state, row in enumerate(rows) if row["view"]}
    draw_neighbourhood(axes, lines, around, numbers)
    nodes = len({row["node"] for row in rows})
    axes.set_title(f"{rows[0]['intersections']} intersections", loc="center")
    note = f"{rows[0]['city']}: {nodes} nodes, {len(rows)} states"
    axes.text(
        0.5, -0.03, note, transform=axes.transAxes, ha="center", va="top", fontsize=8, color=style.FAINT
    )
