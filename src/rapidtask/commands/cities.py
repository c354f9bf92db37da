"""`rapidtask cities import | list | show`: the cities that street worlds are sampled from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from rapidtask.cities.catalogue import DEFAULT_DIRECTORY, list_cities, select_cities
from rapidtask.cities.city_graph import CityError
from rapidtask.cities.gexf import save_city
from rapidtask.cities.loaders import load_city_or_place
from rapidtask.cities.statistics import CityStatistics, compute_statistics
from rapidtask.worlds.street_growth import NeighbourhoodOptions


@dataclass(frozen=True)
class ImportCity:
    """Read a city from a file (GEXF, GraphML, OpenStreetMap, StreetLearn LevelDB) or by its place name."""

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE|PLACE")]
    """A file, or a place such as "Ghent, Belgium" (needs OSMnx and a network)."""
    out: Path = Path(DEFAULT_DIRECTORY)
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
    """Directory of city files; by default that of the variable RAPIDTASK_CITIES, or ./cities."""
    statistics: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
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

    city: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CITY")]
    """Name of a city, or a file."""
    cities: str | None = None
    """Directory of city files; by default that of the variable RAPIDTASK_CITIES, or ./cities."""
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
        (entry, *more) = select_cities(self.city, self.cities)
        if more:
            raise CityError(f"{self.city}: stands for {1 + len(more)} cities; name one")
        city = entry.load()
        out = self.out or Path(f"{city.name}.png")
        # Here, because matplotlib takes its time and no other command needs it.
        from rapidtask.worlds.street_map import draw_city

        figure = draw_city(city, NeighbourhoodOptions(self.rules, self.num_intersections), self.seed)
        try:
            figure.savefig(out, dpi=100)
        except (OSError, ValueError) as error:
            raise CityError(f"--out: {out}: cannot be written ({error})") from error
        Console().print(f"{city.name}: {describe(compute_statistics(city))}", highlight=False, soft_wrap=True)
        Console().print(f"map: {out}", highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Cities:
    """Import, list and show the cities that street worlds are sampled from."""

    command: Annotated[
        Annotated[ImportCity, tyro.conf.subcommand("import")]
        | Annotated[ListCities, tyro.conf.subcommand("list")]
        | Annotated[ShowCity, tyro.conf.subcommand("show")],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> None:
        """Run the subcommand."""
        self.command.run()


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
