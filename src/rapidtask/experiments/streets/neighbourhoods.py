"""What the street worlds are: sampled neighbourhoods as graphs, and views in one (paper, Figure 3a, b)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from rapidtask.cities.catalogue import select_cities
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Figure, Table
from rapidtask.views.contact_sheet import choose_states
from rapidtask.views.sources import choose_source
from rapidtask.worlds.frame_store import FrameStore, half_edges_of
from rapidtask.worlds.streets import StreetPlaces, sample_pool

VIEWS = 8
ARROW = {"arrowstyle": "-|>", "color": style.INK, "lw": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7}


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
        return PicturedTable(rows, views, np.stack([city.lng[city.edges], city.lat[city.edges]], axis=2))

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
    (entry, *_) = select_cities(source.world.city, source.world.cities)
    return choose_source(entry).make(half_edges_of(city, tail, first))


def draw_graph(axes: Axes, rows: Table, around: np.ndarray) -> None:
    """One neighbourhood: its streets, nodes and states, and the city around it."""
    lines = [np.asarray(row["line_lng_lat"].split(), float).reshape(-1, 2) for row in rows]
    points = np.concatenate(lines)
    low, high = points.min(0), points.max(0)
    wide = np.array([np.cos(np.radians(points[:, 1].mean())), 1.0])
    extent = float(((high - low) * wide).max())
    middle, half = (low + high) / 2, 0.6 * extent / wide
    # Streets outside the frame would only fill the file.
    near = ((around.min(1) <= middle + half) & (around.max(1) >= middle - half)).all(1)
    axes.add_collection(LineCollection(list(around[near]), colors="#d1d5db", linewidths=0.8))
    axes.add_collection(LineCollection(lines, colors=style.colour_of("EPN"), linewidths=1.6))
    for row, line in zip(rows, lines, strict=True):
        axes.plot(*line[0], "o", ms=4, color=style.INK, zorder=3)
        step = (line[1] - line[0]) * wide
        step = step / max(float(np.hypot(*step)), 1e-12) * 0.075 * extent / wide
        axes.annotate("", line[0] + step, line[0], arrowprops=ARROW, zorder=4)
        if row["view"]:
            box = {"boxstyle": "circle,pad=0.12", "fc": "#fdba74", "ec": "none"}
            place = line[0] + 1.75 * step
            axes.annotate(str(row["view"]), place, fontsize=7, ha="center", va="center", bbox=box, zorder=5)
    axes.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    axes.set_aspect(1 / wide[0])
    axes.set_axis_off()
    nodes = len({row["node"] for row in rows})
    axes.set_title(f"{rows[0]['intersections']} intersections", loc="center")
    note = f"{rows[0]['city']}: {nodes} nodes, {len(rows)} states"
    axes.text(
        0.5, -0.03, note, transform=axes.transAxes, ha="center", va="top", fontsize=8, color=style.FAINT
    )
