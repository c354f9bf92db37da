"""`rapidtask cities import | list | show | render | views`: the cities of street worlds."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from rapidtask.cities.catalogue import DEFAULT_DIRECTORY, list_cities, select_cities
from rapidtask.cities.city_graph import CityError, CityGraph
from rapidtask.cities.gexf import save_city
from rapidtask.cities.loaders import load_city_or_place
from rapidtask.cities.statistics import CityStatistics, compute_statistics
from rapidtask.evaluation.report import print_table
from rapidtask.worlds.streets import NeighbourhoodOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        city = load_city_or_place(self.source)
        name = self.name or re.sub(r"\W+", "_", city.name.lower()).strip("_")
        if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
            raise CityError(f"--name: {name!r} is not a usable name: letters, digits, _ - and . only")
        try:
            path = save_city(city, self.out / f"{name}.gexf.gz")
        except OSError as error:
            raise CityError(f"--out: {self.out}: cannot be written ({error.strerror or error})") from error
        for note in city.notes:
            print(f"warning: {self.source}: {note}", file=sys.stderr)
        print(f"{path}: {describe(city)}")


@dataclass(frozen=True, kw_only=True)
class CityFiles:
    """Where commands look for cities."""

    cities: str | None = None
    """Directory of city files; by default that of the variable RAPIDTASK_CITIES, or ./cities."""


@dataclass(frozen=True)
class ListCities(CityFiles):
    """List the cities there are: the generated ones, and those of a directory."""

    statistics: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Also measure each city (loads them all)."""

    def run(self) -> None:
        table = Table("city", "group", "source")
        for entry in list_cities(self.cities):
            group = "held-out" if entry.held_out else "train"
            row = [entry.name, group, "generated" if entry.path is None else entry.path.name]
            measured = columns(compute_statistics(entry.load())) if self.statistics else {}
            for title in () if table.rows else measured:
                table.add_column(title, justify="right")
            table.add_row(*row, *measured.values())
        print_table(table)


@dataclass(frozen=True)
class Drawing(CityFiles):
    """What the pictures of a city have in common."""

    city: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CITY")]
    """Name of a city, or a file."""
    out: Path | None = None
    """Where the picture goes; by default CITY.png (views: CITY_views.png)."""
    rules: Literal["paper", "release"] = "paper"
    """Rules the neighbourhood is sampled by."""
    num_intersections: int | None = None
    """Its intersections; by default 5 (paper) or 8 (release)."""
    seed: int = 0
    """Seed of the neighbourhood."""

    def load(self) -> CityGraph:
        """The one city that the name stands for."""
        (entry, *more) = select_cities(self.city, self.cities)
        if more:
            raise CityError(f"{self.city}: stands for {1 + len(more)} cities; name one")
        return entry.load()

    def neighbourhoods(self) -> NeighbourhoodOptions:
        """Which neighbourhoods are drawn."""
        return NeighbourhoodOptions(self.rules, self.num_intersections)

    def save(self, figure: Figure, default: str, dpi: int) -> Path:
        """Write the picture."""
        out = self.out or Path(default)
        try:
            figure.savefig(out, dpi=dpi)
        except (OSError, ValueError) as error:
            raise CityError(f"--out: {out}: cannot be written ({error})") from error
        return out


@dataclass(frozen=True)
class ShowCity(Drawing):
    """Draw the map of a city, and a neighbourhood sampled in it."""

    def run(self) -> None:
        city = self.load()
        # Here, because matplotlib takes its time and no other command needs it.
        from rapidtask.draw.maps import draw_city

        out = self.save(draw_city(city, self.neighbourhoods(), self.seed), f"{city.name}.png", 100)
        print(f"{city.name}: {describe(city)}")
        print(f"map: {out}")


@dataclass(frozen=True)
class ShowViews(Drawing):
    """Draw a contact sheet: a neighbourhood's map, and a dozen of its views."""

    frames: Path | None = None
    """Directory of frame stores to take the views from; by default they are made on the spot."""
    hour: float | None = None
    """Hour of the day of rendered views, 5 to 21."""

    def run(self) -> None:
        city = self.load()
        # Here, because matplotlib and the worlds (JAX) take their time.
        from rapidtask.views.contact_sheet import sheet_of_city

        sheet = sheet_of_city(city, self.neighbourhoods(), self.seed, self.frames, self.hour)
        print(f"views: {self.save(sheet, f'{city.name}_views.png', 90)}")


@dataclass(frozen=True)
class RenderCity(CityFiles):
    """Make the views of every street of a city, ahead of time, into a frame store (resumable)."""

    city: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CITY")]
    """Names of cities, "train", "held-out", or a file."""
    out: Path = Path("frames")
    """Directory of frame stores; each city gets one of its name."""
    which: Literal["all", "junctions"] = "all"
    """Views from all nodes, or (enough for release rules) only from junctions and dead ends."""
    hour: float = 10.5
    """Hour of the day, 5 to 21."""
    workers: int | None = None
    """Processes; by default one per CPU."""

    def run(self) -> None:
        from rapidtask.views.frame_build import build_store
        from rapidtask.views.renderer import RenderedFrames

        workers = os.cpu_count() or 1 if self.workers is None else self.workers
        if workers < 1:
            raise CityError(f"--workers: {workers}, expected at least 1")
        for entry in select_cities(self.city, self.cities):
            source, console = RenderedFrames(entry.load(), self.hour), Console(stderr=True)
            store = build_store(source, self.out, which=self.which, workers=workers, console=console)
            size = store.frames.nbytes / 1e6
            print(f"{store.path}: {len(store)} frames, {size:.0f} MB, {store.info.renderer}")


@dataclass(frozen=True)
class Cities:
    """Import, list, show and render the cities that street worlds are sampled from."""

    command: Annotated[
        Annotated[ImportCity, tyro.conf.subcommand("import")]
        | Annotated[ListCities, tyro.conf.subcommand("list")]
        | Annotated[ShowCity, tyro.conf.subcommand("show")]
        | Annotated[RenderCity, tyro.conf.subcommand("render")]
        | Annotated[ShowViews, tyro.conf.subcommand("views")],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> None:
        self.command.run()


def columns(of: CityStatistics) -> dict[str, str]:
    """A city's row of the table, by the titles of its columns."""
    return {
        "nodes": f"{of.num_nodes}",
        "crossings": f"{of.num_intersections}",
        "dead ends": f"{of.dead_ends:.0%}",
        "degree 3": f"{of.degree_3:.0%}",
        "degree 4": f"{of.degree_4:.0%}",
        "lengths": "/".join(f"{length:.0f}" for length in of.street_length_quartiles),
        "circuity": f"{of.circuity:.3f}",
        "entropy": f"{of.orientation_entropy:.2f}",
    }


def describe(city: CityGraph) -> str:
    """A city in one line."""
    of = compute_statistics(city)
    return (
        "{nodes} nodes, {crossings} intersections, {streets} streets (quartiles {lengths} m), dead ends "
        "{dead ends}, degree 3 {degree 3}, degree 4 {degree 4}, circuity {circuity}, orientation entropy "
        "{entropy}"
    ).format(streets=of.num_streets, **columns(of))
