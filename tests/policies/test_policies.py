from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from rapidtask.envs import Environment, EpisodeOptions, make_environment
from rapidtask.evaluation.play import play
from rapidtask.evaluation.scores import last_third_goals
from rapidtask.policies import POLICIES, make_policy
from rapidtask.policies.edges import UNKNOWN, plan
from rapidtask.worlds import Rules, make_pool, make_torus, make_world
from rapidtask.worlds.torus import cell_of, gap, state_of

# goals per episode and in the last third: docs of the domain, 4x4 torus, 100 steps, no respawn
REFERENCE = {
    "random": (1.0, 0.33),
    "random-walk": (5.2, 1.7),
    "within-task": (10.6, 3.6),
    "edges": (17.3, 7.9),
    "edges-inverse": (22.7, 9.0),
    "hand-coded": (28.7, 10.5),
    "oracle": (31.6, 10.6),
}


@pytest.fixture(scope="module")
def game():
    return make_environment("memory-planning")


@pytest.fixture(scope="module")
def completed(game):
    return {name: play(game, make_policy(name, game), 1000, seed=0).completed for name in POLICIES}


@pytest.mark.parametrize("name", POLICIES)
def test_reference_table_within_two_percent(completed, name):
    measured = (completed[name].sum(axis=0).mean(), last_third_goals(completed[name]).mean())
    for ours, reference in zip(measured, REFERENCE[name], strict=True):
        # The references are rounded: half a unit of their last digit comes on top.
        assert ours == pytest.approx(reference, abs=0.02 * reference + 0.05)


@pytest.mark.parametrize("name", ["random", "random-walk"])
def test_random_policies_match_the_exact_markov_chain(completed, name):
    """The displacement from agent to goal on the torus is a Markov chain of 16 states."""
    walks = name == "random-walk"
    transition, reward = np.zeros((16, 16)), np.zeros(16)
    for cell in range(16):
        collects = (1.0 if cell == 0 else 0.0) if walks else 0.2
        for dx, dy in ((0, 1), (0, -1), (-1, 0), (1, 0)):
            transition[cell, (cell // 4 + dy) % 4 * 4 + (cell % 4 + dx) % 4] += (1 - collects) / 4
        if cell:
            transition[cell, cell] += collects
        else:
            transition[0, 1:] += collects / 15
            reward[0] = collects
    chance, expected = np.r_[0, np.full(15, 1 / 15)], 0.0
    for _ in range(100):
        expected += chance @ reward
        chance = chance @ transition
    goals = completed[name].sum(axis=0)
    assert goals.mean() == pytest.approx(expected, abs=4 * goals.std() / np.sqrt(len(goals)))


def test_hand_coded_steps_to_each_goal(completed):
    at = np.argmax(completed["hand-coded"].cumsum(axis=0)[None] >= np.arange(1, 8)[:, None, None], axis=1) + 1
    steps = np.diff(at, axis=0, prepend=0).mean(axis=1)
    np.testing.assert_allclose(steps, [9.1, 4.7, 3.8, 3.5, 3.3, 3.3, 3.2], atol=0.15)


def expected_renewals(steps_per_goal: dict[int, float], horizon: int) -> float:
    """Expected number of tasks completed when each takes an independent number of steps."""
    expected = np.zeros(horizon + 1)
    for t in range(1, horizon + 1):
        expected[t] = sum(p * (1 + expected[t - k]) for k, p in steps_per_goal.items() if k <= t)
    return float(expected[horizon])


def test_oracle_and_within_task_optimum_match_their_closed_forms(completed):
    # From any cell: 4 cells at distance 1, 6 at 2, 4 at 3, 1 at 4; one more step collects.
    oracle = expected_renewals({2: 4 / 15, 3: 6 / 15, 4: 4 / 15, 5: 1 / 15}, 100)
    # The k-th new cell is the goal with probability 1/15 for each k.
    within = expected_renewals({k + 1: 1 / 15 for k in range(1, 16)}, 100)
    for name, expected in (("oracle", oracle), ("within-task", within)):
        goals = completed[name].sum(axis=0)
        assert goals.mean() == pytest.approx(expected, abs=4 * goals.std() / np.sqrt(len(goals)))


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_torus_distances_are_those_of_its_table(size):
    states = np.arange(size * size)
    (x, y), distance = cell_of(states, size), np.asarray(make_torus(size).distance)
    np.testing.assert_array_equal(state_of(x - size, y + size, size), states)
    expected = gap(x[:, None], x, size) + gap(y[:, None], y, size)
    np.testing.assert_array_equal(distance, expected)


def test_plan_finds_shortest_known_paths():
    #     0 -> 1 -> 2 -> 0, and 3 -> 2; nothing known leads to 3
    successor = jnp.asarray([[1, UNKNOWN], [UNKNOWN, 2], [0, UNKNOWN], [2, UNKNOWN]])
    to_two = plan(successor, jnp.arange(4) == 2)
    assert to_two.tolist() == [2, 1, 0, 1]
    to_three = plan(successor, jnp.arange(4) == 3)
    assert to_three[3] == 0
    assert (to_three[:3] >= 4).all()


@cache
def goals_in_a_small_game(name):
    """Mean goals of a policy on another size, and with respawns, unlike in the table above."""
    game = make_environment("memory-planning", size=3, respawn=True, episode_steps=60)
    return play(game, make_policy(name, game), 64, seed=1).completed.sum(axis=0).mean()


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_runs_on_another_size_and_stays_below_the_oracle(name):
    goals, best = (goals_in_a_small_game(policy) for policy in (name, "oracle"))
    assert goals <= best
    assert name in ("random", "random-walk") or goals > 0.3 * best


@pytest.mark.parametrize("completes", ["collect", "arrival"])
def test_policies_work_on_a_world_without_torus(completes):
    # A ring of 8 with moves on and back; arrival with respawn, as on streets.
    ring = [[(i + 1) % 8, (i - 1) % 8] for i in range(8)]
    if completes == "collect":
        rules = Rules(("on", "back", "collect"), "collect", inverse=(1, 0, -1))
    else:
        rules = Rules(("on", "back"), "arrival", respawn=True, inverse=(1, 0))
    pool = make_pool(make_world(ring, rules), shuffle_observations=True)
    environment = Environment(pool, EpisodeOptions(episode_steps=120))
    goals = {
        name: play(environment, make_policy(name, environment), 128, seed=0).completed.sum(axis=0).mean()
        for name in ("random", "within-task", "edges-inverse", "oracle")
    }
    assert goals["random"] < goals["within-task"] < goals["edges-inverse"] < goals["oracle"]
    assert goals["edges-inverse"] > 0.7 * goals["oracle"]
