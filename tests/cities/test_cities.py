import math
import pathlib
import runpy

import jax
import numpy as np
import pytest

from city_samples import node_spacing
from rapidtask.cities.catalogue import (
    CITIES_VARIABLE,
    HELD_OUT_REGIONS,
    list_cities,
    load_cities,
    select_cities,
)
from rapidtask.cities.city_graph import CityError, great_circle_bearing, great_circle_distance, make_city
from rapidtask.cities.generated import CHARACTERS, HELD_OUT, generated_city
from rapidtask.cities.gexf import save_city
from rapidtask.cities.spacing import space_evenly
from rapidtask.cities.statistics import compute_statistics
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.worlds.streets import NeighbourhoodOptions, sample_pool

METRE = 1 / 111_195


def cross_city(name="cross"):
    """A crossing with four arms of 100, 60, 60 and 40 m in pieces of 20 m."""
    arms = [((0, 1), 5), ((1, 0), 3), ((0, -1), 3), ((-1, 0), 2)]
    points, edges = [(0.0, 0.0)], []
    for (x, y), count in arms:
        for i in range(1, count + 1):
            edges.append((0 if i == 1 else len(points) - 1, len(points)))
            points.append((x * i * 20 * METRE, y * i * 20 * METRE))
    lng, lat = np.array(points).T
    return make_city(name, lat, lng, np.array(edges))


def test_great_circles():
    zero, ninety = np.array(0.0), np.array(90.0)
    assert great_circle_bearing(zero, zero, zero, ninety) == pytest.approx(math.pi / 2)
    assert great_circle_bearing(zero, zero, -ninety, zero) == pytest.approx(math.pi)
    assert great_circle_bearing(zero, zero, zero, zero) == 0
    # London to New York starts out at 288.3°, not at the rhumb line's 258°.
    bearing = great_circle_bearing(*(np.array(x) for x in (51.5074, -0.1278, 40.7128, -74.0060)))
    assert math.degrees(bearing) % 360 == pytest.approx(288.3, abs=0.1)
    distance = great_circle_distance(*(np.array(x) for x in (51.5074, -0.1278, 40.7128, -74.0060)))
    assert distance == pytest.approx(5_570_000, rel=1e-3)


def test_neighbours_are_sorted_by_bearing():
    city = cross_city()
    # From the crossing: west -90°, north 0°, east 90°, south 180°.
    assert city.neighbours[: city.offsets[1]].tolist() == [12, 1, 6, 9]
    assert len(city.edges) == 13
    assert city.edges.shape == (13, 2)


def test_largest_part_is_kept_and_said():
    lat, lng = np.array([0, 0, 0, 1, 1.0]), np.array([0, 0.1, 0.2, 0, 0.1])
    city = make_city("two", lat, lng, np.array([(0, 1), (1, 2), (3, 4), (1, 0), (2, 2)]))
    assert city.num_nodes == 3
    assert len(city.edges) == 2
    assert city.notes == ("kept the largest of 2 unconnected parts: 3 of 5 nodes",)


@pytest.mark.parametrize(
    ("lat", "edges", "message"),
    [
        (
            [0.0, math.nan],
            [(0, 1)],
            r"^x: node 1 has latitude nan, not a number in -90..90 \(1 such nodes\)$",
        ),
        ([0.0, 91.0], [(0, 1)], "node 1 has latitude 91.0"),
        ([0.0, 1.0], [(0, 2)], r"edge 0 joins \[0, 2\], but there are 2 nodes"),
        ([0.0, 1.0], [(1, 1)], "every edge joins a node with itself"),
        ([0.0, 1.0], [], "the graph has no edges"),
        ([], [], "the graph has no nodes"),
        ([0.0, 1.0], [(0.5, 1.0)], "edges must be pairs of node numbers"),
    ],
)
def test_bad_arrays(lat, edges, message):
    with pytest.raises(CityError, match=message):
        make_city("x", np.array(lat), np.zeros(len(lat)), np.array(edges))


def test_statistics_by_hand():
    statistics = compute_statistics(cross_city())
    assert statistics.num_streets == 4
    assert statistics.num_intersections == 1
    assert statistics.dead_ends == pytest.approx(4 / 5)
    assert statistics.degree_4 == pytest.approx(1 / 5)
    assert statistics.street_length_quartiles == pytest.approx((55, 60, 70), rel=1e-3)
    assert statistics.circuity == pytest.approx(1)
    assert statistics.orientation_entropy == pytest.approx(math.log(4))
    assert node_spacing(cross_city()) == pytest.approx(20, rel=1e-3)


def test_even_spacing_keeps_loops_and_parallel_streets():
    east = np.array([0, 200, 100, 50, 80, -100, 300.0])
    north = np.array([0, 0, 60, 90, 120, 0, 0.0])
    edges = [(0, 1), (0, 2), (2, 1), (0, 3), (3, 4), (4, 0), (0, 5), (1, 6)]
    city = space_evenly(make_city("x", north * METRE, east * METRE, np.array(edges)))
    statistics = compute_statistics(city)
    assert statistics.num_streets == 5
    assert statistics.num_intersections == 2
    assert node_spacing(city) == pytest.approx(20, rel=0.06)
    again = space_evenly(city)
    assert again.num_nodes == city.num_nodes


@pytest.mark.parametrize("name", CHARACTERS)
def test_generated_cities_look_real(name):
    """The ranges of real cities (docs/cities.md)."""
    statistics = compute_statistics(generated_city(name))
    low, middle, high = statistics.street_length_quartiles
    grid = name == "gridport"
    assert (0.40 if grid else 0.50) <= statistics.degree_3 <= 0.70
    assert 0.10 <= statistics.degree_4 <= (0.55 if grid else 0.35)
    assert 0.01 <= statistics.dead_ends <= 0.30
    assert 32 <= low <= 64
    assert 50 <= middle <= 90
    assert 82 <= high <= 142
    assert 1.01 <= statistics.circuity <= 1.09
    assert 2.9 <= round(statistics.orientation_entropy, 2) <= 3.58
    assert 18 <= node_spacing(generated_city(name)) <= 22
    assert statistics.num_intersections > 500


@pytest.mark.parametrize("rules", ["paper", "release"])
def test_neighbourhoods_of_generated_cities(rules):
    for name in CHARACTERS:
        pool = sample_pool([generated_city(name)], 200, 0, NeighbourhoodOptions(rules, 5))
        nodes = [len(np.unique(tail[tail >= 0])) for tail in pool.places.tail]
        assert 10 <= np.median(nodes) <= 14
        assert 18 <= np.median(pool.worlds.num_states) <= 28


def test_the_stored_cities_are_those_that_are_generated():
    script = runpy.run_path(str(pathlib.Path(__file__).parents[2] / "tools" / "generate_cities"))
    assert list(script["PLANS"]) == list(CHARACTERS)
    drawn, stored = (
        script["build_city"]("starcross", script["PLANS"]["starcross"], 1),
        generated_city("starcross"),
    )
    assert drawn.num_nodes != stored.num_nodes  # another seed, another city
    made = script["generate_city"]("starcross")
    assert np.array_equal(made["starcross_places"], [stored.lat, stored.lng])
    assert np.array_equal(made["starcross_edges"], stored.edges)
    with pytest.raises(CityError, match="atlantis: no such generated city"):
        generated_city("atlantis")


def test_generated_catalogue(monkeypatch):
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    assert [entry.name for entry in list_cities()] == list(CHARACTERS)
    train, held_out = select_cities("train"), select_cities("held-out")
    assert len(train) == 12
    assert [entry.name for entry in held_out] == [HELD_OUT]
    with pytest.raises(CityError, match="nowhere: no such city or file"):
        select_cities("nowhere")


def test_training_and_held_out_regions_are_never_mixed(tmp_path, monkeypatch):
    for name in ("paris_se", "paris_nw", "home"):
        save_city(cross_city(name), tmp_path / f"{name}.gexf.gz")
    save_city(cross_city(), tmp_path / "hidden" / "paris_se_full_graph.gexf.gz")
    monkeypatch.setenv(CITIES_VARIABLE, str(tmp_path))
    train = {entry.name for entry in select_cities("train")}
    held_out = {entry.name for entry in select_cities("held-out")}
    assert train == {"paris_nw", "home"}
    assert held_out == {"paris_se"}
    for directory in (None, tmp_path):
        for name in HELD_OUT_REGIONS:
            for asked in (name, f"starcross,{name}"):
                with pytest.raises(CityError, match=f"{name}: held out for evaluation"):
                    load_cities(asked, directory, training=True)
        with pytest.raises(CityError, match="held out"):
            load_cities("held-out", directory, training=True)
    with pytest.raises(CityError, match="paris_se: held out"):
        load_cities(str(tmp_path / "hidden" / "paris_se_full_graph.gexf.gz"), training=True)
    with pytest.raises(CityError, match="held out"):
        StreetLearn(city="held-out").stream()
    # A directory with the held-out region only: training falls back on generated cities, not on it.
    monkeypatch.setenv(CITIES_VARIABLE, str(tmp_path / "hidden"))
    assert HELD_OUT_REGIONS.isdisjoint(entry.name for entry in select_cities("train"))


def test_pools_of_the_two_groups_lie_in_different_cities(monkeypatch):
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    for city, expected in (("train", set(CHARACTERS) - {HELD_OUT}), ("held-out", {HELD_OUT})):
        pool = StreetLearn(city=city, pool_size=400).sample()
        assert {pool.places.cities[i].name for i in pool.places.city} == expected


def test_the_pool_of_the_same_options_follows_the_directory(tmp_path, monkeypatch):
    options = StreetLearn(city="train", pool_size=4)
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    assert len(options.sample().places.cities) == 12
    assert options.sample() is options.sample()
    save_city(generated_city("starcross"), tmp_path / "home.gexf.gz")
    monkeypatch.setenv(CITIES_VARIABLE, str(tmp_path))
    assert [city.name for city in options.sample().places.cities] == ["home"]


def test_bad_directories(tmp_path, monkeypatch):
    with pytest.raises(CityError, match=r"no such directory of cities$"):
        list_cities(tmp_path / "none")
    monkeypatch.setenv(CITIES_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(CityError, match=r"no such directory of cities \(from RAPIDTASK_CITIES\)"):
        list_cities()
    save_city(cross_city(), tmp_path / "starcross.gexf.gz")
    with pytest.raises(CityError, match="there is another city named 'starcross'"):
        list_cities(tmp_path)


def test_a_changed_file_is_loaded_again(tmp_path):
    path = save_city(cross_city(), tmp_path / "here.gexf.gz")
    (first,) = load_cities("here", tmp_path)
    assert load_cities("here", tmp_path)[0] is first
    save_city(generated_city("starcross"), path)
    assert load_cities("here", tmp_path)[0].num_nodes > first.num_nodes


def test_options_make_environments(monkeypatch):
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    environment = StreetLearn(city="starcross", pool_size=8).make()
    assert environment.num_observations == 60
    assert environment.episode.episode_steps == 200
    assert environment.rules.completes == "arrival"
    _, timestep = environment.reset(jax.random.key(0))
    assert int(timestep.goal) != int(timestep.observation)
    release = StreetLearn(city="starcross", rules="release", pool_size=8)
    assert release.neighbourhoods.intersections == 8
    assert release.make().num_actions == 4
    assert StreetLearn(keep_intermediate=True).num_worlds < 200
    for bad in ({"rules": "mine"}, {"num_intersections": 0}, {"pool_size": 0}, {"num_symbols": 1}):
        with pytest.raises(InputError, match=next(iter(bad))):
            StreetLearn(**bad).make()


SHARED = pathlib.Path(__file__).parents[3] / "shared" / "cities"


@pytest.mark.skipif(not SHARED.is_dir(), reason="no real cities here")
def test_real_catalogue():
    train = {entry.name for entry in select_cities("train", SHARED)}
    assert len(train) == 13
    assert "paris_se" not in train
    assert [entry.name for entry in select_cities("held-out", SHARED)] == ["paris_se"]
