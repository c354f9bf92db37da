"""The labels of whole ways: a row in the middle joins what leads to it and what goes on from it."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapidtask.agents.agent import AgentOutput, RowTrace
from rapidtask.agents.memory import empty_memory, remember
from rapidtask.envs.environment import TimeStep
from rapidtask.learning.labels import label
from rapidtask.learning.value_map import ValueMapHeads
from rapidtask.worlds.world import Rules

STREETS = Rules(("forward", "left", "right"), "arrival", True, inverse=(-1, 2, 1))
NUM_PLACES, ITERATIONS = 10, 2
FORWARD, LEFT, RIGHT = range(3)
ROUTE = [(0, FORWARD), (1, FORWARD), (2, FORWARD), (3, FORWARD), (4, RIGHT), (5, FORWARD), (0, FORWARD)]
"""Places and the moves made there: round a ring of six places."""


def timestep(here, goal, action=0, first=False):
    """One timestep of one agent, in the midst of a task."""
    one = lambda value, kind: jnp.full(1, value, kind)  # noqa: E731
    return TimeStep(
        observation=one(here, jnp.int32),
        goal=one(goal, jnp.int32),
        action=one(action, jnp.int32),
        reward=one(0, jnp.float32),
        completed=one(False, bool),
        discount=one(1, jnp.float32),
        first=one(first, bool),
        last=one(False, bool),
    )


@pytest.fixture
def known():
    """The memory of the route, the current timestep and its labels: here is place 1, the goal place 5."""
    memory, goal = empty_memory(1, 8), 5
    memory = remember(memory, timestep(ROUTE[0][0], goal, first=True), unique=True, arrival=True)
    for (_, action), (place, _) in itertools.pairwise(ROUTE):
        memory = remember(memory, timestep(place, goal, action), unique=True, arrival=True)
    now = timestep(1, goal, ROUTE[-1][1])
    memory = remember(memory, now, unique=True, arrival=True)
    labels = jax.vmap(lambda m, t: label(m, t, STREETS, NUM_PLACES, ways=True))(memory, now)
    return memory, now, labels


def expected_ways(memory, iterations=ITERATIONS):
    """Class of each row, end of the way and first move, worked out by hand.

    From 1 the only known move is forward: 1 → 2 → 3 → 4 → 5 is four moves to the goal. Two iterations know
    two moves from each side, so the rows 2 → 3 and 3 → 4 join the halves; one iteration knows one, and no
    row joins them. Every place has a move never tried.
    """
    target = np.zeros((8, 2, 3), int)
    rows = zip(memory.origin[0].tolist(), memory.successor[0].tolist(), memory.mask[0].tolist(), strict=True)
    for row, (origin, successor, used) in enumerate(rows):
        if used and (origin, successor) in {(2, 3), (3, 4)} and iterations == 2:
            target[row, 0, FORWARD] = 1 + 4
        if used and 1 <= origin <= 1 + iterations:
            target[row, 1, FORWARD] = 1 + (origin - 1) + 1 + 1
    return target


def one_hot_output(memory, target, num_classes):
    """An agent's output whose readout says the classes of `target`, for a head that reads them off."""
    said = 100.0 * jax.nn.one_hot(target, num_classes).reshape(1, 8, -1)
    beliefs = jnp.zeros((ITERATIONS, 1, 8, said.shape[-1]))
    rows = RowTrace(beliefs, said, memory.mask, memory.origin, memory.successor)
    zeros = jnp.zeros((1, 3))
    return AgentOutput(zeros, zeros[:, 0], jnp.zeros((1, said.shape[-1])), zeros[:, 0], rows)


def readout_loss(known, target, read_after=None):
    memory, now, labels = known
    max_distance = 2 * ITERATIONS + 1
    num_classes = max_distance + 3
    width = 2 * 3 * num_classes
    heads = ValueMapHeads(width, max_distance, 3, jax.random.key(0), num_targets=3, ways=True)
    heads = eqx.tree_at(lambda h: h.readout_head.weight, heads, jnp.eye(width))
    output = one_hot_output(memory, target, num_classes)
    return float(heads.losses(output, now.observation, labels, read_after)["readout"])


def test_rows_in_the_middle_know_the_whole_way(known):
    target = expected_ways(known[0])
    assert (target[:, 0] > 0).sum() == 2
    assert readout_loss(known, target) < 1e-6


def test_a_plan_acted_on_early_is_asked_for_shorter_ways(known):
    target = expected_ways(known[0], iterations=1)
    assert (target[:, 0] > 0).sum() == 0
    assert readout_loss(known, target, jnp.asarray([1])) < 1e-6
    assert readout_loss(known, target) > 1.0


@pytest.mark.parametrize(
    "wrong", [(slice(None), 0, FORWARD), (slice(None), 1, FORWARD), (slice(None), 0, LEFT)]
)
def test_other_ways_are_wrong(known, wrong):
    target = expected_ways(known[0])
    target[wrong] = (target[wrong] + 1) % 5
    assert readout_loss(known, target) > 1.0


def test_distances_to_untried_moves(known):
    _, _, labels = known
    # Every place of the ring has moves never tried; place 4 knows right, and 5, from where it came, left.
    assert labels.hops[0, 2, :6].tolist() == [1] * 6
    assert labels.after[0, 1].tolist() == [1, 0, 0]


def test_advice_is_the_edge_planners(known):
    memory, _, labels = known
    # The goal's way is known and begins forward; in a place with no known way, moves never tried are advised.
    np.testing.assert_allclose(labels.advice[0], [1, 0, 0])
    lost = timestep(7, 5)
    labels = jax.vmap(lambda m, t: label(m, t, STREETS, NUM_PLACES, ways=True))(memory, lost)
    np.testing.assert_allclose(labels.advice[0], [0, 0.5, 0.5])  # Turns can be undone.
    unseen_goal = timestep(1, 9)
    labels = jax.vmap(lambda m, t: label(m, t, STREETS, NUM_PLACES, ways=True))(memory, unseen_goal)
    np.testing.assert_allclose(labels.advice[0], [0, 0.5, 0.5])
