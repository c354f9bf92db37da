import subprocess
import sys

import equinox as eqx
import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import rapidtask  # noqa: F401  (registers the ids)
from rapidtask.envs import episode
from rapidtask.envs.gymnasium_env import RapidTaskEnv, RapidTaskVectorEnv
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError
from rapidtask.worlds.memory_planning import make_memory_planning

ID = "rapidtask/MemoryPlanning-v0"
OPTIONS = {"size": 3, "episode_steps": 6}


def make(**options):
    return gymnasium.make(ID, **{**OPTIONS, **options})


def make_vec(num_envs=3, mode="vector_entry_point", **options):
    return gymnasium.make_vec(ID, num_envs=num_envs, vectorization_mode=mode, **{**OPTIONS, **options})


def assert_equal(left, right):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    jax.tree.map(np.testing.assert_array_equal, left, right)


def test_check_env_has_nothing_to_warn_about():
    check_env(make(render_mode="rgb_array").unwrapped)


def test_previous_action_and_reward_are_shown_if_asked_for():
    check_env(make(show_previous=True, render_mode="ansi").unwrapped)
    envs = make_vec(show_previous=True, per_step_reward=-0.25)
    observation, _ = envs.reset(seed=0)
    for step in range(9):  # the seventh begins another episode
        assert observation in envs.observation_space
        if step % 7 == 0:
            assert not observation["previous_action"].any()
            assert not observation["previous_reward"].any()
        actions = np.array([step % 5, 4, 2])
        observation, reward, *_ = envs.step(actions)
        if step % 7 != 6:
            np.testing.assert_array_equal(observation["previous_action"], np.eye(5)[actions])
            np.testing.assert_array_equal(observation["previous_reward"][:, 0], reward)


def test_import_registers_without_jax():
    code = f"import sys, gymnasium, rapidtask; gymnasium.spec({ID!r}); print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


ASYNC = """
import gymnasium, rapidtask

if __name__ == "__main__":
    options = {"num_envs": 2, "size": 2, "episode_steps": 5}
    ours = gymnasium.make_vec("rapidtask/MemoryPlanning-v0", **options)
    options["vectorization_mode"] = "async"
    theirs = gymnasium.make_vec("rapidtask/MemoryPlanning-v0", **options, vector_kwargs={"context": "spawn"})
    print((theirs.reset(seed=3)[0]["goal"] == ours.reset(seed=3)[0]["goal"]).all())
    theirs.close()
"""


def run_python(path, code):
    path.write_text(code)
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked by default on Linux")
def test_processes_that_would_hang_are_refused(tmp_path):
    done = run_python(tmp_path / "main.py", ASYNC.replace(', vector_kwargs={"context": "spawn"}', ""))
    last = done.stderr.splitlines()[-1]
    assert last.startswith('rapidtask.errors.InputError: vectorization_mode is "async"'), done.stderr


@pytest.mark.slow
def test_spawned_processes_agree_with_the_batch(tmp_path):
    done = run_python(tmp_path / "main.py", ASYNC)
    assert done.stdout == "True\n", done.stderr


def test_observations_are_int32_one_hots_of_the_core():
    env = make()
    observation, _ = env.reset(seed=5)
    _, timestep = eqx.filter_jit(MemoryPlanning(**OPTIONS).make().reset)(jax.random.key(5))
    for name, expected in (("position", timestep.observation), ("goal", timestep.goal)):
        assert observation[name].dtype == np.int32
        assert observation[name].sum() == 1
        assert observation[name].argmax() == expected


def test_oracle_is_rewarded_for_collecting_at_the_goal_only():
    env = make(size=2, per_step_reward=-0.25, episode_steps=40)
    observation, _ = env.reset(seed=0)
    rewards, collects = [], []
    for step in range(40):
        at_goal = observation["position"].argmax() == observation["goal"].argmax()
        # Up and right in turn visits all four cells of a 2×2 torus.
        observation, reward, *_, info = env.step(4 if at_goal else 3 * (step % 2))
        rewards.append(reward)
        collects.append(at_goal)
        assert info == {"completed": at_goal}
    assert sum(collects) > 5
    assert rewards == [1.0 if at_goal else -0.25 for at_goal in collects]


@pytest.mark.parametrize(
    ("time_limit", "ends"), [("termination", (True, False)), ("truncation", (False, True))]
)
def test_time_limit_terminates_or_truncates(time_limit, ends):
    env = make(time_limit=time_limit)
    env.reset(seed=0)
    flags = [env.step(0)[2:4] for _ in range(6)]
    assert flags == [(False, False)] * 5 + [ends]
    envs = make_vec(time_limit=time_limit)
    envs.reset(seed=0)
    for _ in range(6):
        _, _, terminated, truncated, _ = envs.step(np.zeros(3, int))
    assert (terminated.tolist(), truncated.tolist()) == ([ends[0]] * 3, [ends[1]] * 3)


@pytest.mark.parametrize("respawn", [False, True])
def test_batch_agrees_with_single_environments_across_episodes(respawn):
    ours, theirs = make_vec(respawn=respawn), make_vec(mode="sync", respawn=respawn)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP is theirs.metadata["autoreset_mode"]
    assert_equal(ours.reset(seed=7), theirs.reset(seed=7))
    actions = np.random.default_rng(0)
    completed = 0
    for _ in range(50):  # seven episodes of six steps and a reset
        action = actions.choice(5, 3, p=[0.1, 0.1, 0.2, 0.2, 0.4])
        step = ours.step(action)
        assert_equal(step, theirs.step(action))
        completed += step[1].sum()
    assert completed > 0
    assert_equal(ours.reset(), theirs.reset())
    assert_equal(ours.reset(seed=[3, None, 5]), theirs.reset(seed=[3, None, 5]))


def test_batch_restarts_on_the_step_after_the_last_as_the_core_does():
    envs = make_vec()
    core = MemoryPlanning(**OPTIONS).make()
    step_batch = eqx.filter_jit(core.step_batch)
    envs.reset(seed=11)
    states, _ = eqx.filter_jit(core.reset_batch)(jax.vmap(jax.random.key)(np.arange(11, 14, dtype=np.uint32)))
    for step in range(1, 16):
        action = np.array([step % 5, 4, 1])
        observation, reward, terminated, truncated, _ = envs.step(action)
        states, timestep = step_batch(states, action)
        np.testing.assert_array_equal(observation["position"].argmax(1), timestep.observation)
        np.testing.assert_array_equal(observation["goal"].argmax(1), timestep.goal)
        np.testing.assert_array_equal(reward, timestep.reward)
        assert terminated.tolist() == [step % 7 == 6] * 3
        assert not truncated.any()
        assert bool(timestep.first.all()) == (step % 7 == 0)


def test_seeds_make_worlds_and_no_seed_makes_new_ones():
    env, other = make(), make()
    first, _ = env.reset(seed=1)
    second, _ = env.reset()
    assert_equal(other.reset(seed=1)[0], first)
    assert_equal(other.reset()[0], second)
    labels = set()
    for seed in range(8):
        env.reset(seed=seed)
        labels.add(env.unwrapped.batch.episodes.scene().labels)
    assert len(labels) == 8
    env.reset(seed=2**40 + 1)  # as large as Gymnasium allows
    unseeded = [make(), make()]
    scenes = [(e.reset(), e.unwrapped.batch.episodes.scene().labels)[1] for e in unseeded]
    assert scenes[0] != scenes[1]


def test_nothing_is_compiled_again():
    episode._step.clear_cache()
    episode._start.clear_cache()
    for seed in range(2):
        env = make(size=2)
        for action in (0, np.int64(1), np.int32(2), 3, 4, 4):
            if action == 0:
                env.reset(seed=seed)
            env.step(action)
        env.reset()
        env.step(0)
        env.reset()
    assert episode._step._cache_size() == 1
    assert episode._start._cache_size() == 2  # the first episode, and those that follow another


@pytest.mark.parametrize("action", [-1, 5, 1.5, np.array([1])])
def test_wrong_actions_are_refused(action):
    env = make().unwrapped
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"in 0\.\.4"):
        env.step(action)
    envs = make_vec()
    envs.reset(seed=0)
    with pytest.raises(InputError, match=r"in 0\.\.4"):
        envs.step(np.array([0, 0, action]) if np.ndim(action) == 0 else action)


def test_steps_outside_episodes_are_refused():
    env = make().unwrapped
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    for _ in range(6):
        env.step(0)
    with pytest.raises(ResetNeeded):
        env.step(0)
    with pytest.raises(ResetNeeded):
        make_vec().step(np.zeros(3, int))


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="render_mode is 'bogus'"):
        RapidTaskEnv(MemoryPlanning().make(), "bogus")
    with pytest.raises(InputError, match="num_envs is 0"):
        RapidTaskVectorEnv(MemoryPlanning().make(), 0)
    with pytest.raises(InputError, match="seed has 2 entries for 3"):
        make_vec().reset(seed=[1, 2])
    for env in (make(), make_vec()):
        with pytest.raises(InputError, match="options: reset knows none, so 'reset_mask' would do nothing"):
            env.reset(options={"reset_mask": [True]})
    with pytest.raises(TypeError, match="sise"):
        make(sise=4)


@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
def test_batch_draws_each_environment_as_it_would_draw_itself(render_mode):
    modes = ("vector_entry_point", "sync")
    ours, theirs = (make_vec(2, mode, size=2, render_mode=render_mode) for mode in modes)
    observation, _ = ours.reset(seed=3)
    theirs.reset(seed=3)
    completed = 0
    for step in range(12):
        at_goal = observation["position"].argmax(1) == observation["goal"].argmax(1)
        action = np.where(at_goal, 4, 3 * (step % 2))
        observation, reward, *_ = ours.step(action)
        theirs.step(action)
        completed += reward.sum()
        if step in (3, 5, 6, 9):  # in mid-episode, at the end of one, at the start of the next, later
            for left, right in zip(ours.render(), theirs.render(), strict=True):
                np.testing.assert_array_equal(left, right)
        if step == 5:
            assert completed > 0


def test_any_environment_can_be_wrapped():
    from rapidtask.envs.environment import Environment

    env = RapidTaskEnv(Environment(make_memory_planning(2)))
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert env.observation_space["goal"].shape == (4,)
