import itertools

import equinox as eqx
import jax
import networkx as nx
import numpy as np
import pytest

from rapidtask.cities.city_graph import CityError, make_city
from rapidtask.envs.environment import Environment, EpisodeOptions
from rapidtask.worlds.streets import NeighbourhoodOptions, StreetPoolStream, sample_pool
from rapidtask.worlds.streets.growth import grow_neighbourhood
from rapidtask.worlds.world import UNREACHABLE
from street_reference import agree, moves_of, paper_world, release_world, slow_distances, to_networkx

METRE = 1 / 111_195
"""Degrees of latitude a metre is, near enough for hand-made cities."""


def draw(name, points, paths):
    """A city from named points (metres east, north) and the streets through them."""
    names = {point: i for i, point in enumerate(points)}
    edges = [(names[a], names[b]) for path in paths for a, b in itertools.pairwise(path.split())]
    east, north = np.array(list(points.values()), float).T
    return make_city(name, north * METRE, east * METRE, np.array(edges)), names


def tricky_city():
    """Two junctions joined by three streets, a loop at one, dead ends: all that makes streets hard."""
    points = {
        "A": (0, 0), "B": (100, 3), "up1": (30, 40), "up2": (70, 41), "down": (52, -35),
        "l1": (-20, 30), "l2": (-40, 32), "l3": (-30, 7), "w": (-60, -11), "dead": (-90, -40),
        "C": (160, 10), "n": (165, 70), "e": (220, 20), "s": (150, -60), "bn": (104, 60),
    }  # fmt: skip
    paths = ["A B", "A up1 up2 B", "A down B", "A l1 l2 l3 A", "A w dead", "B bn", "B C", "C n", "C e", "C s"]
    return draw("tricky", points, paths)


@pytest.mark.parametrize("rules", ["paper", "release"])
@pytest.mark.parametrize("keep_intermediate", [False, True])
def test_agrees_with_the_reference_on_loops_parallel_streets_and_dead_ends(rules, keep_intermediate):
    city, _ = tricky_city()
    agree(sample_pool([city], 20, 0, NeighbourhoodOptions(rules, 3, keep_intermediate)))


def test_parallel_streets_and_loops_are_states_of_their_own_under_paper_rules():
    city, names = tricky_city()
    pool = sample_pool([city], 1, 0, NeighbourhoodOptions("paper", 3))
    count = int(pool.worlds.num_states[0])
    pairs = list(zip(pool.places.tail[0, :count].tolist(), pool.places.head[0, :count].tolist(), strict=True))
    assert pairs.count((names["A"], names["B"])) == 3
    assert pairs.count((names["A"], names["A"])) == 2
    moves = moves_of(pool, 0)
    a, b = names["A"], names["B"]
    # By hand: facing B by the upper street (37° from north) the next one clockwise is the straight one.
    assert moves[a, names["up1"]]["right"] == (a, b)
    assert moves[a, b]["right"] == (a, names["down"])
    # Straight on at B is the street to C; at a dead end one faces the way one came.
    assert moves[a, b]["forward"] == (b, names["C"])
    assert moves[a, names["w"]]["forward"] == (names["dead"], names["w"])


def test_release_merges_parallel_streets_and_swaps_left_and_right():
    city, names = tricky_city()
    pool = sample_pool([city], 1, 0, NeighbourhoodOptions("release", 3))
    moves = moves_of(pool, 0)
    a, b = names["A"], names["B"]
    pairs = [state for state in moves if state[0] == a]
    # One edge to B, one loop (bearing 0, as released), one dead end; "left" is the next one clockwise.
    assert sorted(pairs) == sorted([(a, b), (a, a), (a, names["dead"])])
    assert moves[a, a]["left"] == (a, b)
    assert moves[a, b]["right"] == (a, a)
    assert moves[a, a]["forward"] == (a, a)
    # The view from A toward B looks along the shortest of the three streets.
    assert first_of(pool)[a, b] == b
    assert first_of(pool)[a, names["dead"]] == names["w"]


def first_of(pool):
    """{(tail, head): first node} of a pool's first world."""
    nodes = (pool.places.tail[0].tolist(), pool.places.head[0].tolist(), pool.places.first[0].tolist())
    return {(tail, head): first for tail, head, first in zip(*nodes, strict=True)}


def test_release_does_not_wrap_angles_and_the_paper_does():
    # Arriving southward with bearing just below +pi; ahead are one street just above -pi and one at +2.
    points = {
        "top": (0, 100), "x": (1, 0), "sw": (-1, -100), "se": (91, -42), "t1": (-70, 150), "t2": (70, 150),
    }  # fmt: skip
    city, names = draw("south", points, ["top x", "x sw", "x se", "top t1", "top t2"])
    top, x = names["top"], names["x"]
    paper = moves_of(sample_pool([city], 1, 0, NeighbourhoodOptions("paper", 2)), 0)
    release = moves_of(sample_pool([city], 1, 0, NeighbourhoodOptions("release", 2)), 0)
    assert paper[top, x]["forward"] == (x, names["sw"])
    assert release[top, x]["forward"] == (x, names["se"])


@pytest.mark.parametrize("rules", ["paper", "release"])
def test_of_two_equally_near_directions_the_first_is_taken(rules):
    # Mirror images about a meridian: bearings -a and a, exactly.
    points = {
        "s": (0, -100), "x": (0, 0), "nw": (-70, 60), "ne": (70, 60), "sw": (-60, -150), "se": (60, -160),
    }  # fmt: skip
    city, names = draw("fork", points, ["s x", "x nw", "x ne", "s sw", "s se"])
    moves = moves_of(sample_pool([city], 1, 0, NeighbourhoodOptions(rules, 2)), 0)
    assert moves[names["s"], names["x"]]["forward"] == (names["x"], names["nw"])


def test_an_intersection_may_be_closed_by_its_last_node():
    points = {"c": (0, 0), "a": (-50, 40), "b": (0, 50), "d": (50, 45), "z": (3, 100), "n": (5, 150)}
    city, names = draw("lens", points, ["c a z", "c b z", "c d z", "z n"])
    edges = grow_neighbourhood(city, names["c"], NeighbourhoodOptions("paper", 2))
    assert edges is not None
    assert {names["c"], names["z"]} == {tail for tail, _, _ in edges}
    assert len(edges) == 6


def test_centres():
    city, _ = tricky_city()
    paper = sample_pool([city], 300, 0, NeighbourhoodOptions("paper", 1))
    assert set(paper.places.centre.tolist()) == set(range(city.num_nodes))
    release = sample_pool([city], 100, 0, NeighbourhoodOptions("release", 1))
    assert set(release.places.centre.tolist()) == set(np.flatnonzero(city.degree > 2).tolist())


def test_release_refuses_equal_bearings():
    # Two junctions due north of a third one, reached by different streets: the same bearing twice.
    points = {
        "a": (0, 0), "n1": (0, 50), "n2": (0, 100), "side": (40, 50), "w": (-50, 0), "s": (0, -50),
        "n1w": (-50, 50), "n1e": (50, 60), "n2w": (-50, 100), "n2e": (50, 100),
    }  # fmt: skip
    paths = ["a n1", "a side n2", "a w", "a s", "n1 n1w", "n1 n1e", "n2 n2w", "n2 n2e"]
    city, _ = draw("columns", points, paths)
    with pytest.raises(CityError, match="equal bearings"):
        sample_pool([city], 4, 0, NeighbourhoodOptions("release", 3))
    assert sample_pool([city], 4, 0, NeighbourhoodOptions("paper", 3)).num_worlds == 4


def grid_city(size=12, seed=0):
    generator = np.random.default_rng(seed)
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(size, size))
    places = np.stack(np.divmod(np.arange(size * size), size), 1) * 80 + generator.normal(0, 8, (size**2, 2))
    kept = [edge for edge in graph.edges if generator.random() > 0.15]
    return make_city("jittered grid", 50 + places[:, 0] * METRE, 8 + places[:, 1] * METRE, np.array(kept))


@pytest.mark.parametrize("rules", ["paper", "release"])
def test_tables_of_a_pool(rules):
    options = NeighbourhoodOptions(rules, 5)
    pool = sample_pool([grid_city(), tricky_city()[0]][:1], 64, 3, options)
    worlds = pool.worlds
    next_state, distance = np.asarray(worlds.next_state), np.asarray(worlds.distance)
    assert worlds.num_observations == next_state.shape[1] == 60
    for world, count in enumerate(np.asarray(worlds.num_states)):
        table = next_state[world, :count, :3]
        np.testing.assert_array_equal(distance[world, :count, :count], slow_distances(table))
        assert distance[world, :count, :count].max() < UNREACHABLE
        assert (distance[world, count:] == UNREACHABLE).all()
        assert (distance[world, :, count:] == UNREACHABLE).all()
        states = np.arange(count)
        assert worlds.rules.inverse[:3] == (-1, 2, 1)
        for action, inverse in ((1, 2), (2, 1)):
            np.testing.assert_array_equal(table[table[:, action], inverse], states)
        assert (next_state[world, count:] == np.arange(count, 60)[:, None]).all()
        if rules == "release":
            np.testing.assert_array_equal(next_state[world, :count, 3], states)
        assert (pool.places.tail[world, :count] >= 0).all()
        assert (pool.places.tail[world, count:] == -1).all()
    agree(pool)


def test_distances_beyond_64_states():
    options = NeighbourhoodOptions("paper", 8, keep_intermediate=True)
    pool = sample_pool([grid_city()], 4, 0, options)
    worlds = pool.worlds
    big = sample_pool([grid_city()], 4, 0, NeighbourhoodOptions("paper", 40, num_symbols=300)).worlds
    assert int(big.num_states.min()) > 64
    for tables in (worlds, big):
        for world, count in enumerate(np.asarray(tables.num_states)):
            table = np.asarray(tables.next_state)[world, :count, :3]
            np.testing.assert_array_equal(
                np.asarray(tables.distance)[world, :count, :count], slow_distances(table)
            )


def test_worlds_that_do_not_fit_are_sampled_again_and_counted():
    city = grid_city()
    pool = sample_pool([city], 50, 0, NeighbourhoodOptions("paper", 5, num_symbols=18))
    assert int(pool.worlds.num_states.max()) <= 18
    assert pool.places.resampled["too many states"] > 0.1
    assert sample_pool([city], 50, 0).places.resampled["too many states"] == 0
    with pytest.raises(CityError, match=r"jittered grid: .* refused .*too many states; 4 states fit"):
        sample_pool([city], 50, 0, NeighbourhoodOptions("paper", 5, num_symbols=4))
    with pytest.raises(CityError, match="neighbourhoods of 500 were asked for"):
        sample_pool([city], 50, 0, NeighbourhoodOptions("paper", 500, num_symbols=60))


def test_seeds():
    city = grid_city()
    a, b, c = (sample_pool([city], 30, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.worlds.next_state, b.worlds.next_state)
    assert a.places.centre.tolist() != c.places.centre.tolist()


def test_stream_is_a_function_of_seed_and_number():
    cities = [grid_city()]
    with StreetPoolStream(cities, 20, seed=5) as stream:
        pools = [stream.take(n) for n in range(3)]
    with StreetPoolStream(cities, 20, seed=5) as resumed:
        again = resumed.take(2)
        far = resumed.take(7)
        resumed.take(3)
        np.testing.assert_array_equal(far.worlds.next_state, resumed.take(7).worlds.next_state)
    np.testing.assert_array_equal(pools[2].worlds.next_state, again.worlds.next_state)
    assert pools[0].places.centre.tolist() != pools[1].places.centre.tolist()
    too_many = NeighbourhoodOptions(num_intersections=999, num_symbols=60)
    with StreetPoolStream(cities, 20, seed=5, options=too_many) as bad, pytest.raises(CityError, match="999"):
        bad.take(0)


@pytest.mark.parametrize("rules", ["paper", "release"])
def test_environment_walks_the_streets(rules):
    """Episodes in the environment follow the reference's moves, whatever the symbols."""
    pool = sample_pool([grid_city()], 3, 0, NeighbourhoodOptions(rules, 5))
    environment = Environment(pool, EpisodeOptions(episode_steps=50))
    assert environment.num_actions == (3 if rules == "paper" else 4)
    step = eqx.filter_jit(environment.step)
    state, _ = environment.reset(jax.random.key(0))
    world = int(state.world.index)
    graph = to_networkx(pool.places.cities[0])
    reference = (paper_world if rules == "paper" else release_world)(graph, int(pool.places.centre[world]), 5)
    second = pool.places.first if rules == "paper" else pool.places.head

    def name(number):
        return int(pool.places.tail[world, number]), int(second[world, number])

    generator = np.random.default_rng(0)
    checked = 0
    for _ in range(50):
        action = int(generator.integers(3))
        expected = reference[name(int(state.state))][("forward", "left", "right")[action]]
        state, timestep = step(state, action)
        assert 0 <= int(timestep.observation) < 60
        if not bool(timestep.completed):
            assert name(int(state.state)) == expected
            checked += 1
    assert checked > 30


@pytest.mark.parametrize("rules", ["paper", "release"])
@pytest.mark.parametrize("keep_intermediate", [False, True])
def test_lines_lead_from_tail_to_head(rules, keep_intermediate):
    city, _ = tricky_city()
    pool = sample_pool([city], 10, 0, NeighbourhoodOptions(rules, 3, keep_intermediate))
    for world in range(10):
        lines = pool.places.lines(world)
        assert len(lines) == int(pool.worlds.num_states[world])
        for state, line in enumerate(lines):
            for node, point in (
                (pool.places.tail, line[0]),
                (pool.places.first, line[1]),
                (pool.places.head, line[-1]),
            ):
                assert point.tolist() == [city.lat[node[world, state]], city.lng[node[world, state]]]
            assert keep_intermediate == (len(line) == 2) or len(line) == 2
