import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from epn_histories import (
    NUM_ENVS,
    NUM_OBSERVATIONS,
    NUM_STEPS,
    flatten,
    histories,
    make_epn,
    quick_jit,
    random_history,
)
from rapidtask.agents.memory import empty_memory, most_recent, remember
from rapidtask.envs.environment import TimeStep
from rapidtask.viewer.value_readout import known_distance, known_edges
from rapidtask.worlds import Rules

UP, RIGHT, COLLECT = 0, 3, 4


def timestep(observation, goal, action=0, completed=False, first=False):
    """A timestep of a batch of one."""
    ints, truths = (
        np.asarray([[observation], [goal], [action]], np.int32),
        np.asarray([[completed], [first]]),
    )
    zero = np.zeros(1, np.float32)
    return TimeStep(
        *ints,
        reward=truths[0].astype(np.float32),
        completed=truths[0],
        discount=zero + 1,
        first=truths[1],
        last=zero > 0,
    )


@functools.cache
def compiled_remember(unique, arrival):
    return jax.jit(functools.partial(remember, unique=unique, arrival=arrival))


def play(steps, num_slots=8, unique=True, arrival=True):
    """The memory of one environment after some timesteps, without its batch axis."""
    memory = empty_memory(1, num_slots)
    for step in steps:
        memory = compiled_remember(unique, arrival)(memory, step)
    return jax.tree.map(lambda x: x[0], memory)


def rows(memory):
    """(origin, action, successor, count, written) of each row in use."""
    fields = (memory.origin, memory.action, memory.successor, memory.count, memory.written)
    return [tuple(int(field[i]) for field in fields) for i in range(int(memory.size))]


ROUND_TRIP = [
    timestep(5, 7, first=True),
    timestep(6, 7, UP),
    timestep(5, 7, RIGHT),
    timestep(6, 7, UP),
    timestep(6, 7, COLLECT),
]


def test_unique_counts_what_it_knows():
    memory = play(ROUND_TRIP)
    assert rows(memory) == [(5, UP, 6, 2, 3), (6, RIGHT, 5, 1, 2), (6, COLLECT, 6, 1, 4)]
    assert (memory.steps, memory.observation, memory.goal) == (4, 6, 7)
    np.testing.assert_allclose(memory.log_count[:4], [np.log(2), 0, 0, -np.inf], rtol=1e-6)


def test_all_keeps_every_step():
    expected = [(5, UP, 6, 1, 1), (6, RIGHT, 5, 1, 2), (5, UP, 6, 1, 3), (6, COLLECT, 6, 1, 4)]
    assert rows(play(ROUND_TRIP, unique=False)) == expected


@pytest.mark.parametrize("unique", [False, True])
def test_a_new_episode_starts_with_nothing(unique):
    memory = play([*ROUND_TRIP, timestep(9, 8, first=True)], unique=unique)
    assert rows(memory) == []
    memory = play([*ROUND_TRIP, timestep(9, 8, first=True), timestep(2, 8, UP)], unique=unique)
    assert rows(memory) == [(9, UP, 2, 1, 1)]
    assert memory.steps == 1


@pytest.mark.parametrize(("arrival", "led_to"), [(True, 7), (False, 2)])
def test_a_completed_task_led_to_its_goal_or_to_what_is_seen_next(arrival, led_to):
    """On streets: at 5, moving up reaches the goal 7; the agent wakes at 2 with goal 3, and moves right."""
    steps = [timestep(5, 7, first=True), timestep(2, 3, UP, completed=True), timestep(4, 3, RIGHT)]
    assert rows(play(steps, arrival=arrival)) == [(5, UP, led_to, 1, 1), (2, RIGHT, 4, 1, 2)]


def test_without_respawn_both_boundaries_record_the_same():
    """On the grid: collecting at 7 stays at 7; only the goal is new."""
    steps = [timestep(5, 7, first=True), timestep(7, 7, UP), timestep(7, 3, COLLECT, completed=True)]
    arrived, seen = play(steps, arrival=True), play(steps, arrival=False)
    assert rows(arrived) == rows(seen) == [(5, UP, 7, 1, 1), (7, COLLECT, 7, 1, 2)]


def test_a_full_memory_of_every_step_overwrites_its_oldest_row():
    steps = [timestep(0, 15, first=True), *(timestep(i, 15, UP) for i in range(1, 6))]
    memory = play(steps, num_slots=3, unique=False)
    assert rows(memory) == [(3, UP, 4, 1, 4), (4, UP, 5, 1, 5), (2, UP, 3, 1, 3)]


def test_a_full_counted_memory_overwrites_the_row_written_longest_ago():
    places = [0, 1, 0, 1, 2, 3]  # 0-1 comes again, so that 1-0 is the stalest when 2-3 needs a row
    steps = [timestep(0, 15, first=True), *(timestep(place, 15, UP) for place in places[1:])]
    memory = play(steps, num_slots=3)
    assert rows(memory) == [(0, UP, 1, 2, 3), (2, UP, 3, 1, 5), (1, UP, 2, 1, 4)]


@pytest.mark.parametrize(("k", "written"), [(2, [5, 4]), (3, [5, 4, 2]), (8, [5, 4, 2, 1, 3])])
def test_the_belief_is_the_most_recent_rows(k, written):
    memory = empty_memory(1, 5)
    slots = jnp.asarray([[1, 5, 2, 4, 3]])
    # Slot 4 was written third but is not in use any more: it can only come last, and stays masked.
    counts = jnp.asarray([[1, 2, 1, 1, 0]])
    memory = eqx.tree_at(lambda m: (m.written, m.count, m.origin), memory, (slots, counts, slots + 10))
    recent, belief = most_recent(memory, slots[..., None] * jnp.ones(3), k)
    assert recent.written[0].tolist() == written
    assert recent.origin[0].tolist() == [i + 10 for i in written]
    assert belief[0, :, 0].tolist() == written
    assert recent.mask[0].tolist() == [i != 3 for i in written]
    assert int(recent.count[0, 0]) == 2


@given(arguments=histories)
@settings(max_examples=20, deadline=None)
def test_memories_hold_what_was_experienced(arguments):
    """Against lists of transitions kept by hand, for environments whose episodes are out of step."""
    timesteps = random_history(**arguments)
    memories = jax.tree.map(np.asarray, compiled_memories()(timesteps))
    for env, expected in enumerate(experience(timesteps)):
        for step, transitions in enumerate(expected):
            counted, every = (jax.tree.map(lambda x, s=step, e=env: x[s, e], m) for m in memories)
            assert [row[:3] for row in rows(every)] == transitions
            assert [row[:3] for row in rows(counted)] == list(dict.fromkeys(transitions))
            assert all(row[3] == transitions.count(row[:3]) for row in rows(counted))


@functools.cache
def compiled_memories():
    agents = [
        make_epn(memory=kind, plan_with_newest=True, goal_as_successor=True) for kind in ("unique", "all")
    ]
    return quick_jit(
        lambda timesteps: [a.unroll_memory(a.initial_state(NUM_ENVS), timesteps)[0] for a in agents]
    )


def experience(timesteps):
    """For each environment and step, the transitions (origin, action, place reached) of its episode."""
    t = jax.tree.map(np.asarray, timesteps)
    for env in range(NUM_ENVS):
        history, so_far = [], []
        for step in range(NUM_STEPS):
            if t.first[step, env]:
                history = []
            else:
                reached = (t.goal[step - 1] if t.completed[step, env] else t.observation[step])[env]
                origin, action = t.observation[step - 1, env], t.action[step, env]
                history = [*history, (int(origin), int(action), int(reached))]
            so_far.append(history)
        yield so_far


RULES = {
    "grid": Rules(("up", "down", "left", "right", "collect"), inverse=(1, 0, 3, 2, -1)),
    # Turning left and right undo each other; going forward cannot be undone in one step.
    "streets": Rules(
        ("left", "right", "forward", "stay", "back"), "arrival", True, inverse=(1, 0, -1, -1, -1)
    ),
}


@functools.cache
def compiled_edges_and_distances(domain):
    rules = RULES[domain]

    def run(timesteps):
        agent = make_epn(memory="unique", plan_with_newest=True, goal_as_successor=True)
        memories = flatten(agent.unroll_memory(agent.initial_state(NUM_ENVS), timesteps)[0])
        edges = jax.vmap(lambda memory: known_edges(memory, rules, NUM_OBSERVATIONS))(memories)
        one = lambda memory, goal: known_distance(memory, goal, rules, NUM_OBSERVATIONS)  # noqa: E731
        distances = jax.vmap(one)(memories, flatten(timesteps).goal)
        return jax.tree.map(lambda x: x.reshape(NUM_STEPS, NUM_ENVS, *x.shape[1:]), (edges, distances))

    return quick_jit(run)


@pytest.mark.parametrize("domain", RULES)
@given(arguments=histories)
@settings(max_examples=10, deadline=None)
def test_known_distances_are_shortest_paths_over_what_was_experienced(domain, arguments):
    rules = RULES[domain]
    completes = "collect" if domain == "grid" else "arrival"
    timesteps = random_history(**{**arguments, "completes": completes})
    edges, distances = jax.tree.map(np.asarray, compiled_edges_and_distances(domain)(timesteps))
    goals = np.asarray(timesteps.goal)
    for env, expected in enumerate(experience(timesteps)):
        for step in range(0, NUM_STEPS, 3):
            graph, table = known_graph(expected[step], rules)
            assert {
                (int(o), int(a)): int(edges[step, env, o, a]) for o, a in np.argwhere(edges[step, env] >= 0)
            } == table
            to_goal = dict(nx.single_target_shortest_path_length(graph, int(goals[step, env])))
            computed = enumerate(distances[step, env])
            assert {place: int(d) for place, d in computed if d < NUM_OBSERVATIONS} == to_goal


def known_graph(transitions, rules):
    """The graph of experienced moves and their inverses, and where each (place, move) leads."""
    graph, table = nx.DiGraph(), {}
    graph.add_nodes_from(range(NUM_OBSERVATIONS))
    for origin, action, reached in transitions:
        if action < rules.num_moves:
            table[origin, action] = reached
            if rules.inverse[action] >= 0:
                table[reached, rules.inverse[action]] = origin
    for (origin, _), reached in table.items():
        graph.add_edge(origin, reached)
    return graph, table
