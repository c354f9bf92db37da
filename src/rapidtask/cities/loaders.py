"""Load a city from a file, whatever its format."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from rapidtask.cities.city_graph import CityError, CityGraph
from rapidtask.cities.gexf import read_gexf
from rapidtask.cities.leveldb import read_leveldb
from rapidtask.cities.osm import fetch_place, read_graphml, read_osm

READERS = {
    **dict.fromkeys((".gexf", ".gexf.gz"), read_gexf),
    **dict.fromkeys((".graphml", ".graphml.gz"), read_graphml),
    **dict.fromkeys((".osm", ".osm.gz", ".osm.bz2", ".osm.pbf", ".pbf"), read_osm),
}
"""How the name of a file ends, and what reads it."""


def load_city(path: str | os.PathLike[str]) -> CityGraph:
    """Load a city from a GEXF, GraphML or OpenStreetMap file, or a StreetLearn LevelDB directory.

    Whatever is wrong with the file, the error is a CityError of one line that names it.
    """
    path = Path(path)
    if not path.exists():
        raise CityError(f"{path}: no such file")
    if path.is_dir():
        if not (path / "CURRENT").exists():
            raise CityError(f"{path}: a directory that is not a LevelDB (it has no file CURRENT)")
        city = read_leveldb(path)
    elif (ending := file_ending(path)) is None:
        raise CityError(f"{path}: unknown format; known are {', '.join(READERS)} and LevelDB directories")
    else:
        city = READERS[ending](path)
    return dataclasses.replace(city, name=city_name(path))


def load_city_or_place(name: str) -> CityGraph:
    """Load a file, or, if there is none of that name, the place of that name through OSMnx."""
    if Path(name).exists() or file_ending(Path(name)) is not None:
        return load_city(name)
    return fetch_place(name)


def file_ending(path: Path) -> str | None:
    """The ending of a file that can be loaded, or None."""
    name = path.name.lower()
    return max((ending for ending in READERS if name.endswith(ending)), key=len, default=None)


def city_name(path: Path) -> str:
    """The name of a file's city: `paris_se` for paris_se.gexf.gz and for paris_se_full_graph.gexf."""
    ending = file_ending(path)
    name = path.name[: -len(ending)] if ending else path.name
    return name.removesuffix("_full_graph")
