"""Cities by name: the generated ones, and the files of a directory; training and held-out never mixed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rapidtask.cities.city_graph import CityError, CityGraph
from rapidtask.cities.generated import CHARACTERS, HELD_OUT, generated_city
from rapidtask.cities.loaders import city_name, file_ending, load_city

Directory = str | os.PathLike[str] | None
"""Where city files are; None for where the environment variable says."""
CITIES_VARIABLE = "RAPIDTASK_CITIES"
"""Environment variable that names the directory of city files."""
DEFAULT_DIRECTORY = "cities"
"""Directory of city files where neither an option nor the variable names one; it need not exist."""
HELD_OUT_REGIONS = frozenset({"paris_se", HELD_OUT})
"""Names that are never trained on: the paper's held-out region, and its generated stand-in."""
TRAIN, HELD_OUT_GROUP = "train", "held-out"
"""Names of the two groups of cities."""


@dataclass(frozen=True)
class CityEntry:
    """A city of the catalogue."""

    name: str
    path: Path | None
    """Its file, or None if it is generated."""
    held_out: bool
    """Whether it is kept for evaluation."""

    def load(self) -> CityGraph:
        """Load or generate it; kept in memory."""
        if self.path is None:
            return generated_city(self.name)
        try:
            return _load(self.path, self.path.resolve(), self.path.stat().st_mtime_ns)
        except OSError as error:
            raise CityError(f"{self.path}: cannot be read ({error.strerror})") from error


def cities_directory(directory: Directory = None) -> Path | None:
    """The directory of city files: the one given, or the environment variable's, or `cities`, or none."""
    chosen = directory if directory is not None else os.environ.get(CITIES_VARIABLE)
    if not chosen:
        return Path(DEFAULT_DIRECTORY) if Path(DEFAULT_DIRECTORY).is_dir() else None
    path = Path(chosen)
    if not path.is_dir():
        origin = "" if directory is not None else f" (from {CITIES_VARIABLE})"
        raise CityError(f"{path}: no such directory of cities{origin}")
    return path


def list_cities(directory: Directory = None) -> list[CityEntry]:
    """All cities: generated ones first, then the files of the directory, by name; no name twice."""
    entries = [CityEntry(name, None, name == HELD_OUT) for name in CHARACTERS]
    found = cities_directory(directory)
    names = {entry.name: Path("(generated)") for entry in entries}
    for path in sorted(found.iterdir()) if found is not None else ():
        if path.name.startswith(".") or (file_ending(path) is None and not (path / "CURRENT").exists()):
            continue
        name = city_name(path)
        if name in names:
            raise CityError(f"{path}: there is another city named {name!r} ({names[name]})")
        names[name] = path
        entries.append(CityEntry(name, path, name in HELD_OUT_REGIONS))
    return entries


def select_cities(name: str, directory: Directory = None) -> list[CityEntry]:
    """The cities a name stands for.

    "train" and "held-out" are groups: the files of the directory that belong to it, or if there is none the
    generated cities that do. Anything else is a city or a file. Commas join several, each once.
    """
    entries = list_cities(directory)
    by_name = {entry.name: entry for entry in entries}
    chosen: dict[CityEntry, None] = {}
    for part in name.split(","):
        if part in (TRAIN, HELD_OUT_GROUP):
            group = [entry for entry in entries if entry.held_out == (part == HELD_OUT_GROUP)]
            chosen |= dict.fromkeys([entry for entry in group if entry.path is not None] or group)
        elif part in by_name:
            chosen[by_name[part]] = None
        elif part and Path(part).exists():
            own = city_name(Path(part))
            chosen[CityEntry(own, Path(part), own in HELD_OUT_REGIONS)] = None
        elif file_ending(Path(part)) is not None:
            raise CityError(f"{part}: no such file")
        else:
            known = ", ".join((TRAIN, HELD_OUT_GROUP, *by_name))
            raise CityError(f"{part or repr(part)}: no such city or file; there are {known}")
    return list(chosen)


def load_cities(name: str, directory: Directory = None, *, training: bool = False) -> tuple[CityGraph, ...]:
    """Load the cities a name stands for; for training, a held-out city is refused."""
    chosen = select_cities(name, directory)
    for entry in chosen:
        if training and entry.held_out:
            raise CityError(f"{entry.name}: held out for evaluation, never to be trained on")
    return tuple(entry.load() for entry in chosen)


@lru_cache(maxsize=64)
def _load(path: Path, place: Path, modified: int) -> CityGraph:
    del place, modified  # only part of the key: a file that moved or changed is loaded again
    return load_city(path)
