"""Graphs of any sizes and degrees as worlds: padded, named, refused by the node that is wrong."""

import gzip

import equinox as eqx
import jax
import networkx as nx
import numpy as np
import pytest

from rapidtask.envs import Environment
from rapidtask.errors import InputError
from rapidtask.worlds import (
    Rules,
    WorldError,
    make_pool,
    make_torus,
    make_world,
    read_graphs,
    world_from_graph,
)
from rapidtask.worlds.world import UNREACHABLE

STAR = nx.relabel_nodes(nx.star_graph(4), dict(enumerate(["hub", "north", "east", "south", "west"])))
LINE = nx.path_graph(["a", "b", "c"])


def test_moves_follow_neighbours_and_a_missing_one_stays():
    world = world_from_graph(STAR, num_moves=5, num_slots=7)
    assert world.names == ("hub", "north", "east", "south", "west")
    assert np.asarray(world.next_state)[:3].tolist() == [[1, 2, 3, 4, 0, 0], [0] + [1] * 5, [0] + [2] * 5]
    assert np.asarray(world.next_state)[5:].tolist() == [[5] * 6, [6] * 6]


def test_a_pool_takes_graphs_of_any_sizes_and_degrees():
    pool = make_pool([world_from_graph(LINE), world_from_graph(STAR)], shuffle_observations=True)
    worlds = pool.worlds
    assert worlds.rules.actions == ("move 0", "move 1", "move 2", "move 3", "collect")
    assert worlds.num_observations == 5
    assert worlds.num_states.tolist() == [3, 5]
    assert np.asarray(worlds.next_state)[0].tolist() == [
        [1, 0, 0, 0, 0],
        [0, 2, 1, 1, 1],
        [1, 2, 2, 2, 2],
        [3] * 5,
        [4] * 5,
    ]
    assert np.asarray(worlds.distance)[0, :3, :3].tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert (np.asarray(worlds.distance)[0, 3:] == UNREACHABLE).all()
    assert np.asarray(worlds.distance)[1].max() == 2
    assert worlds.names == (("a", "b", "c"), ("hub", "north", "east", "south", "west"))


def test_goals_and_starts_are_never_padding_and_moves_never_reach_it():
    environment = Environment(
        make_pool([world_from_graph(LINE), world_from_graph(STAR)], shuffle_observations=True)
    )
    states, _ = eqx.filter_jit(environment.reset_batch)(jax.random.split(jax.random.key(0), 64))
    act = eqx.filter_jit(environment.step_batch)
    count = np.array([3, 5])[np.asarray(states.world.index)]
    assert set(count) == {3, 5}
    for step in range(4):
        states, _ = act(states, (np.arange(64) + step) % environment.num_actions)
        assert (np.asarray(states.state) < count).all()
        assert (np.asarray(states.goal) < count).all()


def test_grids_of_two_sizes_are_a_pool_of_no_single_torus():
    pool = make_pool([make_torus(2), make_torus(3)], shuffle_observations=True)
    assert pool.worlds.rules.torus_size is None
    assert pool.worlds.rules.inverse == make_torus(2).rules.inverse
    assert np.asarray(pool.worlds.next_state)[0, :4].tolist() == np.asarray(make_torus(2).next_state).tolist()
    assert make_pool([make_torus(2)] * 2, shuffle_observations=True).worlds.rules.torus_size == 2


def test_a_pool_of_named_and_unnamed_worlds_has_no_names():
    pool = make_pool([world_from_graph(LINE), make_world([[1], [0]])], shuffle_observations=False)
    assert pool.worlds.names is None
    assert pool.worlds.num_observations == 3


def directed_dead_end():
    return nx.DiGraph([("Nation", "Opéra"), ("Opéra", "Nation"), ("Nation", "Wharf")])


def weighted():
    return nx.Graph([("a", "b", {"weight": 2.5}), ("b", "c")])


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (nx.Graph(), {}, "two nodes or more, got Graph with 0 nodes"),
        ("metro.gexf", {}, "expected a networkx graph of two nodes or more, got metro.gexf"),
        (nx.Graph([("a", "b"), ("c", "d")]), {}, "'c' cannot be reached from 'a'"),
        (directed_dead_end(), {}, "'Nation' cannot be reached from 'Wharf'"),
        (nx.empty_graph(2), {}, "'1' cannot be reached from '0'"),
        (STAR, {"num_moves": 3}, "'hub' has 4 neighbours, but there are 3 moves"),
        (weighted(), {}, r"different weights \('a'-'b': 2.5, 'b'-'c': 1\), but every move takes one step"),
    ],
)
def test_wrong_graphs_name_the_node(graph, options, message):
    with pytest.raises(WorldError, match=message):
        world_from_graph(graph, **options)


def test_more_worlds_than_memory_has_room_for_are_refused(monkeypatch):
    monkeypatch.setattr("rapidtask.worlds.world.MOST_ENTRIES", 20)
    assert make_pool([world_from_graph(LINE)] * 2, shuffle_observations=True).num_worlds == 2
    with pytest.raises(WorldError, match="3 worlds of up to 3 states do not fit into memory"):
        make_pool([world_from_graph(LINE)] * 3, shuffle_observations=True)


def test_equal_weights_and_those_that_are_to_be_ignored_are_taken():
    graph = weighted()
    assert world_from_graph(graph, ignore_weights=True).distance[0, 2] == 2
    nx.set_edge_attributes(graph, 7.0, "weight")
    assert world_from_graph(graph).distance[0, 2] == 2


def test_labels_of_nodes_are_their_names():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "Louvre", 1: ""}, "label")
    nx.set_node_attributes(graph, {1: "Concorde"}, "name")
    assert world_from_graph(graph).names == ("Louvre", "Concorde", "2")


def test_graphs_are_read_from_files_folders_and_patterns(tmp_path):
    nx.write_graphml(STAR, tmp_path / "star.graphml")
    nx.write_gexf(LINE, tmp_path / "line.gexf")
    with gzip.open(tmp_path / "triangle.edgelist.gz", "wt") as file:
        file.write("# three\nx y\ny z 2\n\nz x  # and back\n")
    (tmp_path / "notes.txt").write_text("not a graph")
    graphs = read_graphs([f"{tmp_path}/s*.graphml", str(tmp_path)])
    assert [path.name for path in graphs] == ["star.graphml", "line.gexf", "triangle.edgelist.gz"]
    worlds = [world_from_graph(graph, ignore_weights=True) for graph in graphs.values()]
    assert [world.names for world in worlds] == [tuple(STAR), tuple(LINE), ("x", "y", "z")]
    assert list(graphs.values())[2]["y"]["z"]["weight"] == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.graphml", "<graphml", "bad.graphml: cannot be read as a graph: unclosed token"),
        ("bad.gexf", "<gexf/>", "bad.gexf: cannot be read as a graph: "),
        (
            "bad.edgelist",
            "a b c d",
            "bad.edgelist: cannot be read as a graph: expected two nodes and perhaps",
        ),
        ("bad.edgelist.gz", "a b", "bad.edgelist.gz: cannot be read as a graph: Not a gzipped file"),
        ("bad.txt", "a b", "bad.txt: unknown format; known are .graphml, .gexf, .edgelist, also .gz"),
    ],
)
def test_files_that_are_no_graphs_are_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_graphs([str(tmp_path / name)])


@pytest.mark.parametrize("name", ["none.graphml", "*.gexf", "."])
def test_names_that_stand_for_no_file_are_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no such file of a graph"):
        read_graphs([name])


def test_what_a_padded_move_would_make_untrue_is_refused():
    """A policy that takes `back` for the undoing of `go` would learn wrong edges where `back` only stays."""
    one = make_world([[1], [0]], Rules(("go", "collect")))
    for inverse, is_true in (((-1, -1, -1), True), ((-1, 0, -1), False), ((1, 0, -1), False)):
        two = make_world([[1, 2], [2, 0], [0, 1]], Rules(("go", "back", "collect"), inverse=inverse))
        if is_true:
            assert make_pool([one, two], shuffle_observations=True).worlds.rules == two.rules
            continue
        with pytest.raises(WorldError, match="world 0 has other rules than the world with the most moves"):
            make_pool([one, two], shuffle_observations=True)
