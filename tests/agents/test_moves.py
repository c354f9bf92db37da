import jax
import numpy as np
import pytest

from epn_histories import NUM_ACTIONS, NUM_ENVS, NUM_OBSERVATIONS, make_epn, quick_jit, random_history
from rapidtask.agents.memory import Memory
from rapidtask.agents.moves import COST, find_moves
from rapidtask.agents.neighbours import find_neighbours

OPTIONS = {"comparisons": "neighbours", "memory": "set", "goal_as_successor": True, "value_channels": 2}


def memory_of(rows, num_slots):
    """One memory of rows (origin, action, successor)."""
    columns = np.pad(np.array(rows, np.int32).T, ((0, 0), (0, num_slots - len(rows))))[:, None]
    count = (np.arange(num_slots) < len(rows)).astype(np.int32)[None]
    none = np.zeros(1, np.int32)
    return Memory(*columns, count, count, none, none, none)  # pyright: ignore


def moves_of(memory, num_places, num_actions, most=8):
    def find():
        neighbours = find_neighbours(memory, np.zeros_like(memory.count), num_places, (most, most))
        return find_moves(memory, neighbours, num_actions)

    return jax.tree.map(np.asarray, quick_jit(find)())


def in_plain_loops(rows, num_actions):
    """For each row what undoing it costs, and for each place how many outcomes are unknown."""
    leaving = {place: [row for row in rows if row[0] == place] for row in rows for place in (row[0], row[2])}
    tried, undone = np.zeros((2, num_actions, num_actions))
    for origin, action, successor in rows:
        for _, following, end in leaving[successor]:
            tried[action, following] += 1
            undone[action, following] += end == origin
    probability = (undone + 1 / num_actions) / (tried + 1)
    chances = {place: np.zeros(num_actions) for place in leaving}
    back = []
    for _, action, successor in rows:
        chance = probability[action].copy()
        chance[[row[1] for row in leaving[successor]]] = 0
        chances[successor] = np.maximum(chances[successor], chance)
        back.append(COST - np.log(max(chance.max(), 1e-30)))
    acts = np.array([[(row[1] == a, row[0] == row[2]) for a in range(num_actions)] for row in rows])
    stays = (acts.all(axis=2).sum(0) + 1 / num_actions) / (acts[..., 0].sum(0) + 1)
    unknown = {
        place: sum(
            1 - max(chances[place][a], stays[a])
            for a in range(num_actions)
            if a not in [row[1] for row in leaving[place]]
        )
        for place in leaving
    }
    return np.array(back), unknown


@pytest.mark.parametrize("completes", ["collect", "arrival"])
def test_moves_back_and_unknown_outcomes_are_those_of_plain_loops(completes):
    epn, walk = make_epn(**OPTIONS), random_history(3, 3, False, completes, reset_chance=0.05)
    memories, _ = quick_jit(lambda t: epn.unroll_memory(epn.initial_state(NUM_ENVS), t))(walk)
    memory = jax.tree.map(lambda x: np.asarray(x[-1]), memories)
    ours = moves_of(memory, NUM_OBSERVATIONS, NUM_ACTIONS)
    for b in range(NUM_ENVS):
        ends = zip(memory.origin[b], memory.action[b], memory.successor[b], strict=True)
        rows = [row for row, count in zip(ends, memory.count[b], strict=True) if count]
        assert len(rows) > 5
        back, unknown = in_plain_loops(rows, NUM_ACTIONS)
        np.testing.assert_allclose(ours.back[b, : len(rows)], back, rtol=1e-4)
        for place, number in unknown.items():
            assert ours.unknown[b, place] == pytest.approx(number, abs=1e-5)


def test_what_undoes_an_action_is_learned_from_where_it_did():
    """Left (0) and right (1) undo each other at three places; then left is turned where right is untried."""
    turns = [row for i in range(3) for row in ((2 * i, 0, 2 * i + 1), (2 * i + 1, 1, 2 * i))]
    before = moves_of(memory_of([(6, 0, 7)], 8), 8, 3)
    after = moves_of(memory_of([*turns, (6, 0, 7)], 8), 8, 3)
    assert before.back[0, 0] == pytest.approx(COST - np.log(1 / 3), abs=1e-4)
    assert after.back[0, 6] == pytest.approx(COST - np.log((3 + 1 / 3) / 4), abs=1e-4)
    # That much of an action at place 7 is no longer unknown; where all was tried there is no other way back.
    assert before.unknown[0, 7] - after.unknown[0, 7] > 0.4
    np.testing.assert_array_equal(after.to[0, 7], [6, 6, 6])  # whatever else may be, nothing speaks against
    np.testing.assert_allclose(after.cost[0, 7, 1], after.back[0, 6], rtol=1e-5)
    assert after.cost[0, 7, 1] + 0.9 < min(after.cost[0, 7, [0, 2]])
    assert after.to[0, 6, 0] == 7
    assert after.cost[0, 6, 0] == pytest.approx(COST)
    assert (after.to[0, 6, 1:] == 8).all()  # nothing led there, so nothing can be undone


def test_nothing_leads_back_where_everything_was_tried():
    rows = [(0, 0, 1), (1, 0, 2), (1, 1, 3), (1, 2, 1)]
    moves = moves_of(memory_of(rows, 4), 4, 3)
    assert moves.back[0, 0] > 50
    assert moves.unknown[0, 1] == 0
