"""The cities: neighbourhoods and views of the held-out one, and scores in each of those at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import UInt8

from rapidtask.cities.catalogue import TRAIN, list_cities, select_cities
from rapidtask.draw.maps import draw_neighbourhood, street_ends
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import NO_AGENT, Evaluations
from rapidtask.experiments.figure import SHARE, Drawing, Figure, NotAvailable, Row, Table
from rapidtask.experiments.streets.generalisation import main_symbol_agents, score_row
from rapidtask.experiments.tables import array, group_by, where
from rapidtask.policies import POLICIES
from rapidtask.views.contact_sheet import choose_states
from rapidtask.views.renderer import see_states
from rapidtask.worlds.streets import sample_pool

VIEWS = 8


class PicturedTable(list[dict[str, Any]]):
    """A table with the pictures that its figure shows beside the numbers."""

    def __init__(self, rows: Table, views: UInt8[np.ndarray, "V 84 84 3"], around: np.ndarray) -> None:
        super().__init__(rows)
        self.views = views
        self.around = around
        """Lines of the city around the neighbourhoods: longitudes and latitudes, `[E, 2, 2]`."""


class Neighbourhoods(Figure[Evaluations]):
    """Graphs of sampled neighbourhoods, and views in the first."""

    title: str = "Neighbourhoods of the held-out city, and views in one (paper, Figure 3a, b)"
    caption: str = (
        "Above: neighbourhoods of 5, 7 and 9 intersections as connectivity graphs, the first that the seed "
        "gives. Each arrow out of a node is a state: being there and facing that street. Grey: the city "
        "around. Below: the views of the numbered states of the first, which are what agents see that see "
        "pixels; agents that see symbols are given one of 60 in place of each."
    )
    intersections: tuple[int, ...] = (5, 7, 9)

    def table(self, source: Evaluations) -> PicturedTable:
        rows: Table = []
        views = np.zeros((0, 84, 84, 3), np.uint8)
        city = source.world.sample().places.cities[0]
        for intersections in self.intersections:
            options = replace(source.world, num_intersections=intersections).neighbourhoods
            places = sample_pool([city], 1, source.seed, options).places
            numbers = {}
            if intersections == self.intersections[0]:
                chosen = choose_states(places)[:VIEWS]
                source.say(f"views of {city.name}")
                views = see_states(places, 0, chosen, source.frames)
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
        assert isinstance(rows, PicturedTable)
        drawing = Drawing(figsize=(9.0, 5.0), layout="constrained")
        above, below = drawing.subfigures(2, 1, height_ratios=(2.6, 1))  # pyright: ignore
        words = {"ha": "center", "va": "top", "fontsize": 8, "color": style.FAINT}
        for axes, size in zip(above.subplots(1, len(self.intersections)), self.intersections, strict=True):
            ours = where(rows, intersections=size)
            lines = [np.asarray(row["line_lng_lat"].split(), float).reshape(-1, 2) for row in ours]
            numbers = {state: row["view"] for state, row in enumerate(ours) if row["view"]}
            draw_neighbourhood(axes, lines, rows.around, numbers)
            axes.set_title(f"{size} intersections", loc="center")
            note = f"{ours[0]['city']}: {len(group_by(ours, 'node'))} nodes, {len(ours)} states"
            axes.text(0.5, -0.03, note, transform=axes.transAxes, **words)
        pictures = zip(below.subplots(1, len(rows.views)), rows.views, strict=True)
        for number, (axes, view) in enumerate(pictures, 1):
            axes.imshow(view, interpolation="none")
            axes.set_axis_off()
            axes.set_title(str(number), loc="center", fontsize=9)
        return drawing


class OtherCities(Figure[Evaluations]):
    """Share of the oracle, city by city."""

    title: str = "Beyond the paper: in every city at hand"
    caption: str = (
        "Share of the oracle in the last third, 5 intersections, 200 steps, in neighbourhoods of one city at "
        "a time. Cities in bold were not trained on (which is told by the cities at hand: the group of "
        "training cities is that of their folder, if it has any, else the generated ones); generated cities, "
        "in grey, come with the package. Whiskers: standard errors over episodes."
    )
    references: tuple[str, ...] = ("within-task", "edges-inverse", "oracle")
    episodes: int = 300
    cities: tuple[str, ...] | None = None
    """Names of the cities; all at hand, if None."""

    def table(self, source: Evaluations) -> Iterator[Row]:
        agents = main_symbol_agents(source)
        if not agents:
            raise NotAvailable(NO_AGENT)
        trained_on = training_cities(source)
        at_hand = list_cities(source.world.cities)
        for entry in (city for city in at_hand if self.cities is None or city.name in self.cities):
            world = replace(source.world, city=entry.name)
            for name in (*agents, *self.references):
                yield {
                    **score_row(source, name, world, self.episodes),
                    "city": entry.name,
                    "origin": "generated" if entry.path is None else "file",
                    "trained_on": int(entry.name in trained_on),
                }

    def plot(self, rows: Table) -> Drawing:
        first = where(rows, agent=rows[0]["agent"])
        order = sorted(first, key=lambda row: (row["trained_on"], row["origin"], -row[SHARE]))
        names = [row["city"] for row in order]
        rows = sorted(rows, key=lambda row: names.index(row["city"]))
        drawing, axes = style.subplots(7.0, 1.1 + 0.22 * len(names), grid="both")
        for label, ours in group_by([row for row in rows if row["agent"] != "oracle"], "agent").items():
            marker, size = ("|", 8) if label in POLICIES else ("o", 5)
            look = {"color": style.colour_of(label), "label": style.name_of(label), "ls": "none"}
            marks = {"marker": marker, "markersize": size, "elinewidth": 1}
            shares, errors = 100 * array(ours, SHARE), 100 * array(ours, f"{SHARE}_stderr")
            axes.errorbar(shares, range(len(names)), xerr=errors, **look, **marks)
        axes.set_yticks(range(len(names)), names)
        for tick, row in zip(axes.get_yticklabels(), order, strict=True):
            tick.set_fontweight("normal" if row["trained_on"] else "bold")
            tick.set_color(style.FAINT if row["origin"] == "generated" else style.INK)
        axes.invert_yaxis()
        axes.set(xlabel=style.Y_LABELS[SHARE], xlim=(0, 104))
        style.shared_legend(drawing, ncols=6)
        return drawing


def training_cities(source: Evaluations) -> set[str]:
    """Names of the cities that the first of the agents was trained on."""
    names: set[str] = set()
    world: Any = next(iter(source.agents.values())).config.world
    for part in world.city.split(","):
        group = select_cities(TRAIN, source.world.cities) if part == TRAIN else []
        names |= {entry.name for entry in group} or {part}
    return names
