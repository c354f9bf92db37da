"""Street worlds of whole cities, generated and (where present) real: agreement with the reference, sizes."""

import pathlib

import numpy as np
import pytest

from rapidtask.cities.catalogue import load_cities
from rapidtask.worlds.streets import NeighbourhoodOptions, sample_pool
from street_reference import agree

SHARED = pathlib.Path(__file__).parents[3] / "shared" / "cities"
real = pytest.mark.skipif(not SHARED.is_dir(), reason="no real cities here")
"""Such tests are slow ones: `make test` is the same on every machine, whatever files lie beside it."""
REAL = "paris_se,moscow,lublin"


def oddities(pool):
    """How many worlds have a loop, parallel streets, a dead end of the city."""
    found = np.zeros(3, int)
    for world in range(pool.num_worlds):
        count = int(pool.worlds.num_states[world])
        tail, head = pool.places.tail[world, :count], pool.places.head[world, :count]
        pairs = set(zip(tail.tolist(), head.tolist(), strict=True))
        dead = pool.places.cities[pool.places.city[world]].degree[tail] == 1
        loops = (tail == head).any()
        found += [loops, len(pairs) < count - 2 * loops, dead.any()]
    return dict(zip(("loops", "parallel", "dead ends"), found.tolist(), strict=True))


@pytest.mark.parametrize("rules", ["paper", "release"])
def test_generated_cities_agree_with_the_reference(rules):
    cities = load_cities("train") + load_cities("held-out")
    pool = sample_pool(cities, 150, 0, NeighbourhoodOptions(rules, 5))
    agree(pool)
    assert oddities(pool)["dead ends"] > 20


@pytest.mark.parametrize("rules", ["paper", "release"])
@pytest.mark.parametrize("num_intersections", [1, 9])
def test_generated_cities_agree_at_other_sizes(rules, num_intersections):
    cities = load_cities("cul_de_sac,gridport")
    agree(sample_pool(cities, 20, 0, NeighbourhoodOptions(rules, num_intersections)))
    agree(sample_pool(cities, 5, 0, NeighbourhoodOptions(rules, num_intersections, keep_intermediate=True)))


@pytest.mark.slow
@real
@pytest.mark.parametrize("rules", ["paper", "release"])
def test_real_cities_agree_with_the_reference(rules):
    pool = sample_pool(load_cities(REAL, SHARED), 300, 0, NeighbourhoodOptions(rules, 5))
    agree(pool)
    seen = oddities(pool)
    assert seen["dead ends"] > 50
    if rules == "paper":
        assert seen["loops"] > 0
        assert seen["parallel"] > 0
    agree(
        sample_pool(load_cities(REAL, SHARED), 12, 0, NeighbourhoodOptions(rules, 5, keep_intermediate=True))
    )


def sizes(pool):
    nodes = [len(np.unique(tail[tail >= 0])) for tail in pool.places.tail]
    return np.median(nodes), np.median(pool.worlds.num_states)


@pytest.mark.slow
@real
@pytest.mark.parametrize("rules", ["paper", "release"])
def test_sizes_at_five_intersections_on_real_cities(rules):
    for name in ("paris_se", "moscow", "amsterdam", "vienna_favoriten"):
        pool = sample_pool(load_cities(name, SHARED), 1000, 0, NeighbourhoodOptions(rules, 5))
        nodes, edges = sizes(pool)
        assert 10 <= nodes <= 14, name
        assert 18 <= edges <= 28, name
        assert sum(pool.places.resampled.values()) < 0.005


@pytest.mark.slow
@real
@pytest.mark.parametrize("rules", ["paper", "release"])
def test_sizes_at_five_intersections_on_all_real_cities(rules):
    cities = load_cities("train", SHARED) + load_cities("held-out", SHARED)
    for city in cities:
        pool = sample_pool([city], 3000, 0, NeighbourhoodOptions(rules, 5))
        nodes, edges = sizes(pool)
        # Lublin's squares and car parks were drawn as stars: up to twenty streets meet in one node.
        assert 10 <= nodes <= (15 if city.name == "lublin" else 14), city.name
        assert 18 <= edges <= (32 if city.name == "lublin" else 28), city.name
        assert sum(pool.places.resampled.values()) < 0.01
    nodes, edges = sizes(sample_pool(cities, 5000, 0, NeighbourhoodOptions(rules, 5)))
    assert 10 <= nodes <= 14
    assert 18 <= edges <= 28


@real
@pytest.mark.parametrize("rules", ["paper", "release"])
def test_more_intersections_fit(rules):
    """Lublin, the worst fit, apart: its share of neighbourhoods beyond 60 states is what it is."""
    for num_intersections, refused in ((7, 0.01), (9, 0.02), (12, 0.01)):
        options = NeighbourhoodOptions(rules, num_intersections)
        pool = sample_pool(load_cities("paris_se,moscow,amsterdam", SHARED), 600, 0, options)
        assert sum(pool.places.resampled.values()) <= refused
        assert options.slots == (120 if num_intersections == 12 else 60)
        assert int(pool.worlds.num_states.max()) <= options.slots
