import networkx as nx
import numpy as np
import pytest

from rapidtask.worlds import Rules, WorldError, make_pool, make_torus, make_world, world_from_graph
from rapidtask.worlds.world import UNREACHABLE

RING = [[1, 2], [2, 0], [0, 1]]  # three states in a circle, moves forward and back


def test_torus_moves_wrap_and_up_is_plus_y():
    torus = make_torus(4)
    up, down, left, right, collect = np.asarray(torus.next_state)[15]  # the cell (3, 3)
    assert (up, down, left, right, collect) == (3, 11, 14, 12, 15)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_torus_distance_is_the_sum_of_wrapped_gaps(size):
    distance = np.asarray(make_torus(size).distance)
    for a in range(size**2):
        for b in range(size**2):
            gaps = [abs(a % size - b % size), abs(a // size - b // size)]
            assert distance[a, b] == sum(min(gap, size - gap) for gap in gaps)


def test_distance_agrees_with_networkx_on_a_directed_graph():
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (2, 0)])
    world, nodes = world_from_graph(graph), list(graph)
    expected = dict(nx.all_pairs_shortest_path_length(graph))
    for a, b in np.ndindex(4, 4):
        assert world.distance[a, b] == expected[nodes[a]][nodes[b]]


def test_padding_is_masked_and_leads_nowhere():
    world = make_world(RING, num_slots=5)
    assert int(world.num_states) == 3
    assert np.asarray(world.next_state)[3:].tolist() == [[3] * 3, [4] * 3]
    assert (np.asarray(world.distance)[3:] == UNREACHABLE).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"moves": [[1, 2], [2, 0], [0, 3]]}, r"moves\[2, 1\] is 3, not a state in 0\.\.2"),
        ({"moves": [[1, -1], [0, 0]]}, r"moves\[0, 1\] is -1"),
        ({"moves": [1, 2, 0]}, r"table \[states, moves\], got shape \(3,\)"),
        ({"moves": [[0.5, 1.0], [1.0, 0.0]]}, "integers"),
        ({"moves": [[1, 0], [0, 1], [0, 1]]}, "state 2 cannot be reached from state 0"),
        ({"moves": [[0, 0]]}, "one state"),
        ({"moves": np.zeros((0, 2), int)}, "got shape"),
        ({"moves": RING, "num_slots": 2}, "do not fit num_slots=2"),
        ({"moves": RING, "rules": Rules(("a", "collect"))}, "2 columns but rules.actions names 1"),
    ],
)
def test_wrong_tables_are_refused_by_name(arguments, message):
    with pytest.raises(WorldError, match=message):
        make_world(**arguments)


def test_wrong_rules_and_graphs_and_pools_are_refused():
    with pytest.raises(WorldError, match=r"inverse\[0\] is 5"):
        Rules(("a", "b", "collect"), inverse=(5, -1, -1))
    with pytest.raises(WorldError, match="3 actions"):
        Rules(("a", "b", "collect"), inverse=(1, 0))
    with pytest.raises(WorldError, match="world 0 has other rules than the world with the most moves"):
        make_pool(
            [make_world([[1], [0]], Rules(("go",), "arrival")), make_world(RING)], shuffle_observations=False
        )
    with pytest.raises(WorldError, match="names has 1 entries for 3 states"):
        make_world(RING, names=["a"])
    with pytest.raises(WorldError, match="size is 1"):
        make_torus(1)
