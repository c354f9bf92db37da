"""Labels by geometry: what a walk on a torus tells who knows that it is one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapidtask.agents.memory import empty_memory, remember
from rapidtask.envs.environment import TimeStep
from rapidtask.learning.geometry import cells_after_moves, torus_distances
from rapidtask.learning.labels import label
from rapidtask.worlds.memory_planning import make_torus


def walk(size, num_steps, seed):
    """A random walk as timesteps, the state at each, and the symbol of each state."""
    random = np.random.default_rng(seed)
    torus = make_torus(size)
    symbols = random.permutation(size * size)
    actions = random.integers(0, 4, num_steps)
    states = [int(random.integers(size * size))]
    for action in actions[1:]:
        states.append(int(torus.next_state[states[-1], action]))
    goals = random.integers(0, size * size, num_steps)
    zeros = jnp.zeros((num_steps, 1))
    timesteps = TimeStep(
        observation=jnp.asarray(symbols[states], jnp.int32)[:, None],
        goal=jnp.asarray(goals, jnp.int32)[:, None],
        action=jnp.asarray(actions, jnp.int32)[:, None],
        reward=zeros,
        completed=zeros > 0,
        discount=zeros + 1,
        first=(jnp.arange(num_steps) == 0)[:, None],
        last=zeros > 0,
    )
    return torus, timesteps, states, symbols


def labels_along(torus, timesteps, num_symbols):
    def step(memory, timestep):
        memory = remember(memory, timestep, unique=True, arrival=True)
        one = lambda m, t: label(m, t, torus.rules, num_symbols, geometry=True)  # noqa: E731
        return memory, jax.vmap(one)(memory, timestep)

    return jax.jit(lambda t: jax.lax.scan(step, empty_memory(1, 5 * num_symbols), t)[1])(timesteps)


@pytest.mark.parametrize("size", [3, 4])
def test_visited_places_have_their_true_distances_and_others_none(size):
    num_symbols, num_steps = size * size, 40
    torus, timesteps, states, symbols = walk(size, num_steps, seed=size)
    labels = jax.tree.map(lambda x: np.asarray(x)[:, 0], labels_along(torus, timesteps, num_symbols))
    goals = np.argsort(symbols)[np.asarray(timesteps.goal)[:, 0]]
    true = np.asarray(torus.distance)
    checked = set()
    for t in range(num_steps):
        here, goal, seen = states[t], goals[t], set(states[: t + 1])
        goal_seen = goal in seen
        for state in range(num_symbols):
            to_goal, to_here = labels.distance[t, :, symbols[state]]
            assert to_here == true[state, here] if state in seen else to_here >= num_symbols
            known = state in seen and goal_seen
            assert to_goal == true[state, goal] if known else to_goal >= num_symbols
            checked.add((known, state in seen))
        for move in range(4):
            reached = int(torus.next_state[here, move])
            after = labels.after[t, 0, move]
            if reached not in seen:
                assert after == -1
            else:
                assert after == true[reached, goal] if goal_seen else after >= num_symbols
    assert checked == {(True, True), (False, True), (False, False)}


def test_geometry_is_the_worlds():
    torus = make_torus(4)
    np.testing.assert_array_equal(torus_distances(4), torus.distance)
    assert cells_after_moves(4) == torus.next_state[0, :4].tolist()


def test_hops_are_known_moves_only():
    """Three moves right lead to the place left of the start: three known moves away, one by geometry."""
    torus, timesteps, _, symbols = walk(4, 4, seed=0)
    right = 3
    states = [0, 1, 2, 3]
    timesteps = TimeStep(
        observation=jnp.asarray(symbols[states], jnp.int32)[:, None],
        goal=jnp.full((4, 1), int(symbols[0]), jnp.int32),
        action=jnp.full((4, 1), right, jnp.int32),
        reward=timesteps.reward,
        completed=timesteps.completed,
        discount=timesteps.discount,
        first=timesteps.first,
        last=timesteps.last,
    )
    labels = labels_along(torus, timesteps, 16)
    assert labels.hops[3, 0, 0, symbols[3]] == 3
    assert labels.distance[3, 0, 0, symbols[3]] == 1
    assert labels.after[3, 0, 0].tolist() == [-1, -1, 2, 0]
