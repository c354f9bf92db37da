"""Mutated city files give a city or a CityError, never anything else."""

import contextlib
import gzip
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from city_samples import gexf_text, graphml_bytes, osm_text, pano, streetlearn_graph
from rapidtask.cities import leveldb
from rapidtask.cities.city_graph import CityError, CityGraph, make_city
from rapidtask.cities.loaders import load_city


def mutations(data):
    """The bytes with pieces overwritten, cut out, doubled or cut off."""
    place = st.integers(0, len(data) - 1)
    change = st.one_of(
        st.tuples(st.just("put"), place, st.binary(min_size=1, max_size=6)),
        st.tuples(st.just("digit"), place, st.sampled_from([b"9", b"-", b"e", b"nan", b'"', b"<", b"&"])),
        st.tuples(st.just("cut"), place, st.integers(1, 40)),
        st.tuples(st.just("double"), place, st.integers(1, 60)),
        st.tuples(st.just("end"), place, st.just(0)),
    )

    def apply(changes):
        out = data
        for kind, at, what in changes:
            if kind in ("put", "digit"):
                out = out[:at] + what + out[at + len(what) :]
            elif kind == "cut":
                out = out[:at] + out[at + what :]
            elif kind == "double":
                out = out[: at + what] + out[at:]
            else:
                out = out[:at]
        return out

    return st.lists(change, min_size=1, max_size=4).map(apply)


def is_valid(city):
    assert isinstance(city, CityGraph)
    assert np.isfinite(city.lat).all()
    assert np.isfinite(city.lng).all()
    assert np.isfinite(city.bearings).all()
    assert len(city.offsets) == city.num_nodes + 1
    assert city.degree.min() >= 1
    assert 0 <= city.neighbours.min() <= city.neighbours.max() < city.num_nodes


def load_or_refuse(path, data):
    path.write_bytes(data)
    try:
        city = load_city(path)
    except CityError as error:
        text = str(error)
    else:
        is_valid(city)
        return
    assert text.startswith(f"{path}: ")
    assert "\n" not in text


FUZZ = settings(
    max_examples=int(os.environ.get("RAPIDTASK_FUZZ_EXAMPLES", "120")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
    database=None,
)


@FUZZ
@given(data=mutations(gexf_text()))
def test_fuzz_gexf(tmp_path, data):
    load_or_refuse(tmp_path / "f.gexf", data)


@FUZZ
@given(data=mutations(gzip.compress(gexf_text(), mtime=0)))
def test_fuzz_gzip(tmp_path, data):
    load_or_refuse(tmp_path / "f.gexf.gz", data)


@FUZZ
@given(changes=st.data())
@pytest.mark.parametrize("geometry", [False, True])
def test_fuzz_graphml(tmp_path, geometry, changes):
    data = changes.draw(mutations(graphml_bytes(tmp_path, geometry=geometry)))
    load_or_refuse(tmp_path / "f.graphml", data)


@FUZZ
@given(data=mutations(osm_text()))
def test_fuzz_osm(tmp_path, data):
    pytest.importorskip("osmium")
    load_or_refuse(tmp_path / "f.osm", data)


@FUZZ
@given(data=mutations(streetlearn_graph()), record=mutations(pano(0)))
def test_fuzz_streetlearn_records(tmp_path, data, record):
    class Database:
        def get(self, key, verify_checksums):
            return record if key == b"pano0" else None

    for message in (data, streetlearn_graph(with_places=False)):
        with contextlib.suppress(leveldb.WireError, CityError):
            places, edges = leveldb._parse_graph(tmp_path, message, Database())
            is_valid(make_city("panoramas", *places.T, edges))
