"""`rapidtask cities import | list | show`: a dataclass of options each, with a `run` method."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from rapidtask.cities.catalogue import list_cities, load_cities
from rapidtask.cities.city_graph import CityError, CityGraph
from rapidtask.cities.gexf import save_city
from rapidtask.cities.loaders import load_city_or_place
from rapidtask.cities.statistics import CityStatistics, compute_statistics

STREETS, NEAR, START = "#b8bcc4", "#2563eb", "#ea580c"
"""Colours of the city, the neighbourhood and its centre."""


@dataclass(frozen=True)
class ImportCity:
    """Read a city from a file (GEXF, GraphML, OpenStreetMap, StreetLearn LevelDB) or by its place name."""

    source: Annotated[str, tyro.conf.Positional]
    """A file, or a place such as "Ghent, Belgium" (needs OSMnx and a network)."""
    out: Path = Path("cities")
    """Directory to save it in, as NAME.gexf.gz."""
    name: str | None = None
    """Its name; by default the file's or the place's."""

    def run(self) -> None:
        """Read, save, and say what was found."""
        city = load_city_or_place(self.source)
        name = self.name or re.sub(r"\W+", "_", city.name.lower()).strip("_")
        if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
            raise CityError(f"--name: {name!r} is not a usable name: letters, digits, _ - and . only")
        try:
            path = save_city(city, self.out / f"{name}.gexf.gz")
        except OSError as error:
            raise CityError(f"--out: {self.out}: cannot be written ({error.strerror or error})") from error
        for note in city.notes:
            Console(stderr=True).print(f"warning: {self.source}: {note}", highlight=False, soft_wrap=True)
        Console().print(f"{path}: {describe(compute_statistics(city))}", highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class ListCities:
    """List the cities there are: the generated ones, and those of a directory."""

    cities: str | None = None
    """Directory of city files; by default that of the environment variable RAPIDTASK_CITIES."""
    statistics: bool = False
    """Also measure each city (loads them all)."""

    def run(self) -> None:
        """Print a table."""
        table = Table("city", "group", "source")
        if self.statistics:
            for title in (
                "nodes",
                "crossings",
                "dead ends",
                "degree 3",
                "degree 4",
                "lengths",
                "circuity",
                "entropy",
            ):
                table.add_column(title, justify="right")
        for entry in list_cities(self.cities):
            group = "held-out" if entry.held_out else "train"
            row = [entry.name, group, "generated" if entry.path is None else entry.path.name]
            if self.statistics:
                row += statistics_row(compute_statistics(entry.load()))
            table.add_row(*row)
        Console().print(table)


@dataclass(frozen=True)
class ShowCity:
    """Draw the map of a city, and a neighbourhood sampled in it."""

    city: Annotated[str, tyro.conf.Positional]
    """Name of a city, or a file."""
    cities: str | None = None
    """Directory of city files; by default that of the environment variable RAPIDTASK_CITIES."""
    out: Path | None = None
    """Where the picture goes; by default CITY.png."""
    rules: Literal["paper", "release"] = "paper"
    """Rules the neighbourhood is sampled by."""
    num_intersections: int | None = None
    """Its intersections; by default 5 (paper) or 8 (release)."""
    seed: int = 0
    """Seed of the neighbourhood."""

    def run(self) -> None:
        """Draw, save, and say where."""
        (city, *more) = load_cities(self.city, self.cities)
        if more:
            raise CityError(f"{self.city}: stands for {1 + len(more)} cities; name one")
        out = self.out or Path(f"{city.name}.png")
        figure = draw_city(city, self.rules, self.num_intersections, self.seed)
        try:
            figure.savefig(out, dpi=100)
        except (OSError, ValueError) as error:
            raise CityError(f"--out: {out}: cannot be written ({error})") from error
        Console().print(f"{city.name}: {describe(compute_statistics(city))}", highlight=False, soft_wrap=True)
        Console().print(f"map: {out}", highlight=False, soft_wrap=True)


def draw_city(
    city: CityGraph, rules: Literal["paper", "release"], num_intersections: int | None, seed: int
) -> Figure:
    """The map of a city with a neighbourhood sampled in it, and beside it the neighbourhood alone."""
    # Here, because worlds know cities and not the other way round.
    from rapidtask.worlds.street_growth import NeighbourhoodOptions
    from rapidtask.worlds.streets import sample_pool

    pool = sample_pool([city], 1, seed, NeighbourhoodOptions(rules, num_intersections))
    lines = [line[:, ::-1] for line in pool.lines(0)]
    centre = (city.lng[pool.centre[0]], city.lat[pool.centre[0]])
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
        f"{pool.options.intersections} intersections, {rules} rules: {len(np.unique(ends, axis=0))} nodes, "
        f"{len(lines)} oriented streets"
    )
    return figure


def describe(statistics: CityStatistics) -> str:
    """A city in one line."""
    lengths = "/".join(f"{length:.0f}" for length in statistics.street_length_quartiles)
    return (
        f"{statistics.num_nodes} nodes, {statistics.num_intersections} intersections, "
        f"{statistics.num_streets} streets (quartiles {lengths} m), dead ends {statistics.dead_ends:.0%}, "
        f"degree 3 {statistics.degree_3:.0%}, degree 4 {statistics.degree_4:.0%}, "
        f"circuity {statistics.circuity:.3f}, orientation entropy {statistics.orientation_entropy:.2f}"
    )


def statistics_row(statistics: CityStatistics) -> list[str]:
    """The cells of a city in the table."""
    return [
        str(statistics.num_nodes),
        str(statistics.num_intersections),
        f"{statistics.dead_ends:.0%}",
        f"{statistics.degree_3:.0%}",
        f"{statistics.degree_4:.0%}",
        "/".join(f"{length:.0f}" for length in statistics.street_length_quartiles),
        f"{statistics.circuity:.3f}",
        f"{statistics.orientation_entropy:.2f}",
    ]
