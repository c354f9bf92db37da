"""City files: what is read, and one clear line for what cannot be."""

import gzip
import re
import sys
import types

import networkx as nx
import numpy as np
import pytest

from city_samples import (
    ARMS,
    PLACES,
    gexf_text,
    graphml_bytes,
    graphml_text,
    node_spacing,
    osm_text,
    pano,
    streetlearn_graph,
)
from rapidtask.cities.city_graph import CityError
from rapidtask.cities.generated import generated_city
from rapidtask.cities.gexf import save_city
from rapidtask.cities.loaders import city_name, load_city, load_city_or_place
from rapidtask.cities.statistics import compute_statistics


def write_leveldb(path, records):
    plyvel = pytest.importorskip("plyvel")
    with plyvel.DB(str(path), create_if_missing=True) as database:
        for key, value in records.items():
            database.put(key, value)
    return path


def is_the_crossing(city, num_nodes=None):
    statistics = compute_statistics(city)
    assert statistics.num_intersections == 1
    assert statistics.num_streets == 4
    assert city.lat.max() == pytest.approx(48.8510)
    if num_nodes is not None:
        assert city.num_nodes == num_nodes


def one_line(error, path, problem):
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert problem in text
    assert "\n" not in text


@pytest.mark.parametrize("name", ["a.gexf", "a.gexf.gz"])
def test_gexf(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(gexf_text()) if name.endswith("gz") else gexf_text())
    city = load_city(path)
    is_the_crossing(city, 5)
    assert city.name == "a"


def test_gexf_agrees_with_networkx(tmp_path):
    city = generated_city("starcross")
    path = save_city(city, tmp_path / "s.gexf.gz")
    graph = nx.read_gexf(path)
    assert graph.number_of_nodes() == city.num_nodes
    assert {tuple(sorted(map(int, edge))) for edge in graph.edges} == set(map(tuple, city.edges.tolist()))
    again = load_city(path)
    np.testing.assert_array_equal(again.lat, city.lat)
    np.testing.assert_array_equal(again.neighbours, city.neighbours)
    assert (again.source, again.licence) == (city.source, city.licence)
    assert path.read_bytes() == save_city(city, tmp_path / "t.gexf.gz").read_bytes()


def test_saving_leaves_the_old_file_or_the_new_one(tmp_path, monkeypatch):
    path = save_city(generated_city("starcross"), tmp_path / "s.gexf.gz")
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_city(generated_city("oldmarket"), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.gexf.gz"]


@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("lon", "lat")])
@pytest.mark.parametrize("geometry", [False, True])
def test_graphml(tmp_path, x, y, geometry):
    path = tmp_path / "g.graphml"
    path.write_bytes(graphml_bytes(tmp_path, x, y, geometry))
    city = load_city(path)
    is_the_crossing(city)
    statistics = compute_statistics(city)
    assert node_spacing(city) == pytest.approx(20, abs=3)
    assert (statistics.circuity > 1.05) == geometry


@pytest.mark.parametrize("ending", ["osm", "osm.pbf", "osm.gz"])
def test_osm(tmp_path, ending):
    osmium = pytest.importorskip("osmium")
    path = tmp_path / f"o.{ending}"
    text = osm_text()
    if ending == "osm.pbf":
        (tmp_path / "o.osm").write_bytes(text)
        with osmium.SimpleWriter(str(path)) as writer:
            for item in osmium.FileProcessor(str(tmp_path / "o.osm")):
                writer.add(item)
    else:
        path.write_bytes(gzip.compress(text) if ending == "osm.gz" else text)
    city = load_city(path)
    is_the_crossing(city)
    assert "OpenStreetMap" in city.licence
    assert node_spacing(city) == pytest.approx(20, abs=3)


@pytest.mark.parametrize("new", ["[1-9]", "[1-3]"])
def test_osm_objects_that_an_editor_made(tmp_path, new):
    """New ones have negative ids until they are uploaded, all of a file or some."""
    pytest.importorskip("osmium")
    path = tmp_path / "new.osm"
    path.write_text(re.sub(rf'(id|ref)="({new})"', r'\1="-\2"', osm_text().decode()))
    is_the_crossing(load_city(path))
    path.write_text(path.read_text().replace('id="-2"', 'id="-1"', 1))
    with pytest.raises(CityError) as error:
        load_city(path)
    one_line(error, path, "node -1 occurs twice")


def test_osm_streets_cut_at_the_border_are_not_joined_across_it(tmp_path):
    pytest.importorskip("osmium")
    path = tmp_path / "cut.osm"
    way = '<way id="9"><nd ref="2"/><nd ref="99"/><nd ref="3"/><tag k="highway" v="residential"/></way>'
    path.write_bytes(osm_text().replace(b"</osm>", way.encode() + b"</osm>"))
    is_the_crossing(load_city(path))


@pytest.mark.parametrize("with_places", [True, False])
def test_leveldb(tmp_path, with_places):
    records = {b"panos_connectivity": streetlearn_graph(with_places=with_places)}
    records |= {f"pano{i}".encode(): pano(i) for i in range(len(PLACES))}
    city = load_city(write_leveldb(tmp_path / "db", records))
    is_the_crossing(city, 5)


def test_reading_a_leveldb_leaves_it_alone(tmp_path):
    path = write_leveldb(tmp_path / "db", {b"panos_connectivity": streetlearn_graph(), b"pad": bytes(9)})
    sys.modules["plyvel"].DB(str(path)).close()  # now some of it is in a table
    assert any(file.suffix in (".ldb", ".sst") for file in path.iterdir())

    def content():
        return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.iterdir()}

    before = content()
    is_the_crossing(load_city(path), 5)
    assert content() == before


def test_names(tmp_path):
    assert city_name(tmp_path / "paris_se_full_graph.gexf") == "paris_se"
    assert city_name(tmp_path / "a.b.osm.pbf") == "a.b"


BAD = {
    "truncated gzip": ("t.gexf.gz", gzip.compress(gexf_text())[:-30], "the gzip file is truncated"),
    "damaged gzip": ("t.gexf.gz", gzip.compress(gexf_text())[:40] + b"\xff" * 90, "damaged"),
    "no lat and lng": ("t.gexf", gexf_text(attributes=("a", "b")), "node 'n0' has no attribute 'lat'"),
    "no lng": ("t.gexf", gexf_text(attributes=("lat", "b")), "node 'n0' has no attribute 'lng'"),
    "words": ("t.gexf", gexf_text([("north", 2)]), "node 'n0' has lat 'north', not a number"),
    "empty graph": ("t.gexf", gexf_text([], []), "no nodes: not a GEXF file, or an empty graph"),
    "no edges": ("t.gexf", gexf_text(edges=[]), "the graph has no edges"),
    "NaN": ("t.gexf", gexf_text([("nan", 2), *PLACES[1:]]), "node 0 has latitude nan"),
    "twice in gexf": ("t.gexf", gexf_text().replace(b'id="n1"', b'id="n0"'), "node 'n0' occurs twice"),
    "unknown end": ("t.gexf", gexf_text(edges=[(0, 9)]), "there is no node 'n9'"),
    "cut off": ("t.gexf", gexf_text()[:300], "not well-formed XML"),
    "bytes": ("t.gexf", b"\x00\x01\x02", "not well-formed XML"),
    "empty file": ("t.gexf", b"", "not well-formed XML"),
    "encoding": ("t.gexf", b'<?xml version="1.0" encoding="klingon"?><gexf/>', "not well-formed XML"),
    "no graphml": ("t.graphml", b"<html></html>", "cannot be read as GraphML"),
    "truncated graphml": ("t.graphml.gz", gzip.compress(gexf_text())[:-30], "the gzip file is truncated"),
    "graphml without places": ("t.graphml", b"", "cannot be read as GraphML"),
    "osm without streets": ("t.osm", osm_text("footway"), "no streets"),
    "osm cut off": ("t.osm", osm_text()[:-90], "cannot be read as OpenStreetMap data"),
    "not pbf": ("t.osm.pbf", b"nothing of the sort", "cannot be read as OpenStreetMap data"),
    "bomb": ("t.gexf.gz", gzip.compress(b"<gexf>") + gzip.compress(b" " * 2**20) * 257, "over 256 MB"),
    "tags": ("t.graphml.gz", gzip.compress(b"<graphml>") + gzip.compress(b"<a/>" * 2**18) * 80, "0,000 tags"),
    "long streets": ("t.graphml", graphml_text([(-90, 0), (90, 0), (-90, 1)]), "a street is 20,015 km long"),
    "long ways": ("t.osm", osm_text().replace(b'lat="48.851"', b'lat="-89"'), "km long"),
    "projected": ("t.graphml", graphml_text([(4e6, 5e5), (4e6, 6e5)]), "node 0 has latitude 4000000.0"),
    "twice": ("t.graphml", graphml_text(PLACES).replace(b'id="n1"', b'id="n2"'), "node 'n2' occurs twice"),
    "graphml without a graph": ("t.graphml", b"<graphml></graphml>", "it has no graph"),
    "format": ("t.shp", b"", "unknown format; known are .gexf, "),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    name, data, problem = BAD[case]
    if ".osm" in name:
        pytest.importorskip("osmium")
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CityError) as error:
        load_city(path)
    one_line(error, path, problem)


@pytest.mark.parametrize("kind", ["gexf", "graphml", "osm"])
def test_a_city_of_too_many_nodes_is_refused(tmp_path, monkeypatch, kind):
    """The arms have 5 nodes as drawn, and 23 spaced evenly."""
    monkeypatch.setattr("rapidtask.cities.city_graph.MOST_NODES", 4 if kind == "gexf" else 22)
    path = tmp_path / f"t.{kind}"
    path.write_bytes({"gexf": gexf_text, "graphml": lambda: graphml_text(PLACES), "osm": osm_text}[kind]())
    with pytest.raises(CityError) as error:
        load_city(path)
    one_line(error, path, "nodes")


def test_graphml_without_places(tmp_path):
    path = tmp_path / "g.graphml"
    path.write_bytes(graphml_bytes(tmp_path, "a", "b"))
    with pytest.raises(CityError) as error:
        load_city(path)
    one_line(error, path, "node '0' has no attribute 'lat' (or latitude, y)")


def test_disconnected_graph_keeps_its_largest_part(tmp_path):
    path = tmp_path / "d.gexf"
    path.write_bytes(gexf_text([*PLACES, (48.9, 2.4), (48.9, 2.41)], [*ARMS, (5, 6)]))
    city = load_city(path)
    is_the_crossing(city, 5)
    assert city.notes == ("kept the largest of 2 unconnected parts: 5 of 7 nodes",)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ({b"other": b"x"}, "no key 'panos_connectivity'"),
        ({b"panos_connectivity": streetlearn_graph()[:-7]}, "record 'panos_connectivity' is damaged"),
        ({b"panos_connectivity": b""}, "no connections of subgraphs of 10 nodes or more"),
        ({b"panos_connectivity": streetlearn_graph(subgraph_size=9)}, "no connections of subgraphs"),
        (
            {b"panos_connectivity": streetlearn_graph(with_places=False)},
            "panorama 'pano0' has no coordinates and no record",
        ),
        (
            {b"panos_connectivity": streetlearn_graph(with_places=False), b"pano0": pano(0)[:-3]},
            "the record of panorama 'pano0' is damaged (ends in the middle of a field)",
        ),
        (
            {b"panos_connectivity": streetlearn_graph(with_places=False), b"pano0": pano(0, False)},
            "the record of panorama 'pano0' has no coordinates",
        ),
    ],
)
def test_bad_leveldb(tmp_path, records, problem):
    path = write_leveldb(tmp_path / "db", records)
    with pytest.raises(CityError) as error:
        load_city(path)
    one_line(error, path, problem)


def test_damaged_leveldb_files(tmp_path):
    path = write_leveldb(tmp_path / "db", {b"panos_connectivity": streetlearn_graph()})
    (log,) = path.glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    with pytest.raises(CityError) as error:
        load_city(path)
    one_line(error, path, "cannot be read as a LevelDB")
    with pytest.raises(CityError) as error:
        load_city(tmp_path)
    one_line(error, tmp_path, "a directory that is not a LevelDB")
    with pytest.raises(CityError) as error:
        load_city(tmp_path / "none.gexf")
    one_line(error, tmp_path / "none.gexf", "no such file")


def test_places(monkeypatch):
    monkeypatch.setitem(sys.modules, "osmnx", None)
    with pytest.raises(CityError, match=r"^Ghent, Belgium: no such file; .* needs osmnx: pip install"):
        load_city_or_place("Ghent, Belgium")

    def offline(*_, **__):
        raise ConnectionError("name resolution\nfailed")

    fake = types.ModuleType("osmnx")
    fake.graph_from_place = offline
    monkeypatch.setitem(sys.modules, "osmnx", fake)
    with pytest.raises(
        CityError, match=r"could not be fetched \(is there a network\? ConnectionError: name resolution f"
    ):
        load_city_or_place("Ghent, Belgium")

    graph = nx.MultiDiGraph()
    for i, (lat, lng) in enumerate(PLACES):
        graph.add_node(i, x=lng, y=lat)
    graph.add_edges_from(ARMS)
    fake.graph_from_place = lambda *_, **__: graph
    is_the_crossing(load_city_or_place("Ghent, Belgium"))
    with pytest.raises(CityError, match=r"no such file$"):
        load_city_or_place("missing.gexf")


@pytest.mark.parametrize(
    ("module", "name", "extra"), [("osmium", "x.osm", "osm"), ("plyvel", "db", "streetlearn")]
)
def test_missing_extras(tmp_path, monkeypatch, module, name, extra):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    if module == "plyvel":
        path.mkdir()
        (path / "CURRENT").touch()
    else:
        path.write_bytes(osm_text())
    with pytest.raises(CityError) as error:
        load_city(path)
    one_line(error, path, f"needs {module}: pip install 'rapidtask[{extra}]'")
