import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numpy_environment import NumpyMemoryPlanning
from rapidtask.envs import Environment, EnvironmentSpec, EpisodeOptions, MemoryPlanning, make_environment
from rapidtask.envs.environment import EnvState
from rapidtask.worlds import Rules, make_pool, make_world

NUM_STEPS = 60


class Replay:
    """Stands in for NumPy's generator: hands the slow game what the fast one drew."""

    def __init__(self):
        self.symbols, self.cells = None, []

    def permutation(self, _):
        return self.symbols

    def integers(self, _, size):
        return self.cells.pop(0)


@eqx.filter_jit
def reset(environment: Environment, keys):
    return environment.reset_batch(keys)


@eqx.filter_jit
def record(environment: Environment, key, actions):
    """All states and timesteps of B environments under the given actions [T, B], the first included."""
    start = environment.reset_batch(jax.random.split(key, actions.shape[1]))

    def step(carry, action):
        new = environment.step_batch(carry, action)
        return new[0], new

    rest = jax.lax.scan(step, start[0], actions)[1]
    return jax.tree.map(lambda first, later: jnp.concatenate([first[None], later]), start, rest)


SIZES = (2, 5)
"""Of the game: the smallest, and an odd one where ways are long; each compiles a program of its own."""


@pytest.fixture(scope="module")
def games():
    return {
        (size, respawn): make_environment("memory-planning", size=size, respawn=respawn, episode_steps=25)
        for size in SIZES
        for respawn in (False, True)
    }


@settings(max_examples=40, deadline=None)
@given(
    size=st.sampled_from(SIZES), respawn=st.booleans(), seed=st.integers(0, 2**31 - 1), eager=st.booleans()
)
def test_agrees_step_by_step_with_the_plain_numpy_game(games, size, respawn, seed, eager):
    environment = games[size, respawn]
    generator = np.random.default_rng(seed)
    # Eager players collect half of the time: many tasks completed, hence many goals and respawns drawn.
    odds = [0.125] * 4 + [0.5] if eager else [0.2] * 5
    actions = generator.choice(5, p=odds, size=(NUM_STEPS, 4)).astype(np.int32)
    states, steps = jax.tree.map(np.asarray, _raw(record(environment, jax.random.key(seed), actions)))
    for b in range(actions.shape[1]):
        compare_with_numpy(states, steps, actions, b, size, respawn, environment.episode.episode_steps)


def compare_with_numpy(states, steps, actions, b, size, respawn, episode_steps):
    cell = lambda state: (int(state) % size, int(state) // size)  # noqa: E731
    replay = Replay()
    game = NumpyMemoryPlanning(replay, size, episode_steps, respawn)
    ended = True
    for t in range(len(actions) + 1):
        here, goal = cell(states.state[t, b]), cell(states.goal[t, b])
        if ended:
            replay.symbols = states.world.observation[t, b].reshape(size, size)
            assert sorted(replay.symbols.ravel()) == list(range(size**2))
            replay.cells = [here, goal]
            seen, reward, ended = game.reset(), 0.0, False
            assert steps.first[t, b]
        else:
            # A completed task draws the next start (with respawn) and goal; both come from the fast game.
            replay.cells = [here, goal] if respawn else [goal]
            drawn = len(replay.cells)
            seen, reward, ended = game.step(int(actions[t - 1, b]))
            assert steps.completed[t, b] == (len(replay.cells) < drawn)
            assert not steps.first[t, b]
            assert steps.action[t, b] == actions[t - 1, b]
        assert here != goal or not (steps.first[t, b] or steps.completed[t, b])
        assert seen["position"].argmax() == steps.observation[t, b]
        assert seen["goal"].argmax() == steps.goal[t, b]
        assert reward == steps.reward[t, b]
        assert ended == steps.last[t, b]
        assert steps.discount[t, b] == (0.0 if ended else 1.0)


def _raw(recorded: tuple[EnvState, object]):
    """Without the keys, which have no NumPy form."""
    states, steps = recorded
    return eqx.tree_at(lambda states: states.key, states, None), steps


def test_goals_and_starts_are_uniform_over_the_other_cells():
    environment = make_environment("memory-planning", size=3)
    states, _ = reset(environment, jax.random.split(jax.random.key(0), 72_000))
    pairs = np.bincount(np.asarray(states.state * 9 + states.goal), minlength=81).reshape(9, 9)
    assert (np.diag(pairs) == 0).all()
    others = pairs[~np.eye(9, dtype=bool)]
    assert abs(others / 1000 - 1).max() < 5 / np.sqrt(1000)  # five standard deviations


def test_same_key_same_episode_at_every_batch_size():
    environment = make_environment("memory-planning", episode_steps=20)
    keys = jax.random.split(jax.random.key(3), 8)
    actions = jax.random.randint(jax.random.key(4), (50, 8), 0, 5)

    @jax.jit
    def run(keys, actions):
        state, _ = environment.reset_batch(keys)
        return jax.lax.scan(lambda s, a: environment.step_batch(s, a), state, actions)[1]

    together, again = run(keys, actions), run(keys, actions)
    apart = [run(keys[i : i + 1], actions[:, i : i + 1]) for i in range(8)]
    for leaf, repeated, *single in zip(*map(jax.tree.leaves, (together, again, *apart)), strict=True):
        np.testing.assert_array_equal(leaf, repeated)
        np.testing.assert_array_equal(leaf, np.concatenate(single, axis=1))


def test_environments_out_of_step_restart_each_at_its_own_time():
    environment = make_environment("memory-planning", episode_steps=10)
    states, _ = reset(environment, jax.random.split(jax.random.key(0), 3))
    states = eqx.tree_at(lambda s: s.steps, states, jnp.asarray([0, 4, 9], jnp.int32))
    actions = jnp.zeros((22, 3), jnp.int32)
    _, steps = jax.lax.scan(lambda s, a: environment.step_batch(s, a), states, actions)
    restarts = [np.flatnonzero(np.asarray(steps.first)[:, b]).tolist() for b in range(3)]
    assert restarts == [[10, 21], [6, 17], [1, 12]]


def test_truncation_keeps_the_discount_and_termination_does_not():
    for time_limit, discount in (("termination", 0.0), ("truncation", 1.0)):
        environment = make_environment("memory-planning", episode_steps=3, time_limit=time_limit)
        _, steps = record(environment, jax.random.key(0), np.zeros((3, 1), np.int32))
        assert steps.last[:, 0].tolist() == [False, False, False, True]
        assert steps.discount[:, 0].tolist() == [1.0, 1.0, 1.0, discount]


def test_per_step_reward_is_paid_only_where_no_task_completes():
    environment = make_environment("memory-planning", size=2, per_step_reward=-0.25)

    @jax.jit
    def reward_at_goal(action):
        state, _ = environment.reset(jax.random.key(1))
        return environment.step(eqx.tree_at(lambda s: s.state, state, state.goal), action)[1].reward

    assert reward_at_goal(4) == 1.0
    assert reward_at_goal(0) == -0.25


def test_arrival_rule_completes_on_arriving_and_respawns():
    rules = Rules(("on",), "arrival", respawn=True)
    pool = make_pool(make_world([[1], [2], [3], [0]], rules), shuffle_observations=False)
    environment = Environment(pool, EpisodeOptions(episode_steps=400))
    actions = jnp.zeros((400, 1), jnp.int32)
    states, steps = record(environment, jax.random.key(0), actions)
    before, goal = np.asarray(states.state)[:-1, 0], np.asarray(states.goal)[:-1, 0]
    completed = np.asarray(steps.completed)[1:, 0]
    np.testing.assert_array_equal(completed, (before + 1) % 4 == goal)
    starts = np.asarray(states.state)[1:, 0][completed]
    assert set(starts.tolist()) == {0, 1, 2, 3}


def test_steps_are_compiled_once():
    traces = []
    environment = make_environment("memory-planning")

    @jax.jit
    def step(states, actions):
        traces.append(1)
        return environment.step_batch(states, actions)

    states, _ = reset(environment, jax.random.split(jax.random.key(0), 4))
    for action in range(5):
        states, _ = step(states, jnp.full(4, action, jnp.int32))
    assert len(traces) == 1


def test_wrong_options_are_refused_by_name():
    with pytest.raises(ValueError, match="episode_steps is 0"):
        make_environment("memory-planning", episode_steps=0)
    with pytest.raises(ValueError, match="time_limit is 'never'"):
        make_environment("memory-planning", time_limit="never")
    with pytest.raises(ValueError, match="unknown world 'chess'"):
        make_environment("chess")


@pytest.mark.parametrize("size", [2, 4, 7])
@pytest.mark.parametrize("respawn", [False, True])
def test_the_shape_is_known_before_the_environment_is_built(size, respawn):
    options = MemoryPlanning(size=size, respawn=respawn, episode_steps=10 * size)
    assert options.spec == options.make().spec == EnvironmentSpec(size * size, 5, 10 * size, pixels=False)
