import dm_env
import equinox as eqx
import jax
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import specs, test_utils

from rapidtask.envs.dm_environment import DmEnvironment
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError


def make(seed=0, **options):
    return DmEnvironment(MemoryPlanning(**{"size": 3, "episode_steps": 6, **options}).make(), seed)


class ContractTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
    """dm_env's own test of the interface, across the ends of episodes."""

    def make_object_under_test(self):
        return make()

    def make_action_sequence(self):
        return iter(np.random.default_rng(0).integers(5, size=20))


def test_specs_are_those_of_the_released_environment():
    env = make(size=4)
    assert isinstance(env.action_spec(), specs.DiscreteArray)
    assert env.action_spec().num_values == 5
    assert {name: (spec.shape, spec.dtype) for name, spec in env.observation_spec().items()} == {
        "position": ((16,), np.int32),
        "goal": ((16,), np.int32),
    }
    assert (env.discount_spec().minimum, env.discount_spec().maximum) == (0, 1)


def test_agrees_with_the_core_across_episodes():
    env = make(seed=9)
    core = MemoryPlanning(size=3, episode_steps=6).make()
    states, expected = core.reset_batch(jax.random.key(9)[None])
    step_batch = eqx.filter_jit(core.step_batch)
    timestep = env.reset()
    rewarded = 0
    for step in range(60):
        assert timestep.observation["position"].argmax() == expected.observation[0]
        assert timestep.observation["goal"].argmax() == expected.goal[0]
        assert timestep.first() == bool(expected.first[0])
        assert timestep.last() == bool(expected.last[0])
        if not timestep.first():
            assert timestep.reward == expected.reward[0]
            rewarded += timestep.reward
        action = 4 if expected.observation[0] == expected.goal[0] else step % 4
        timestep = env.step(action)
        states, expected = step_batch(states, np.array([action]))
    assert rewarded > 0


@pytest.mark.parametrize(("time_limit", "discount"), [("termination", 0.0), ("truncation", 1.0)])
def test_discount_tells_termination_from_truncation(time_limit, discount):
    env = make(time_limit=time_limit)
    env.reset()
    timesteps = [env.step(0) for _ in range(6)]
    assert [timestep.step_type for timestep in timesteps] == [dm_env.StepType.MID] * 5 + [
        dm_env.StepType.LAST
    ]
    assert [timestep.discount for timestep in timesteps] == [1.0] * 5 + [discount]


@pytest.mark.parametrize("action", [-1, 5, 2**32, 0.0, np.array([1])])
def test_wrong_actions_are_refused(action):
    env = make()
    env.reset()
    with pytest.raises(InputError, match=r"in 0\.\.4"):
        env.step(action)


def test_seeds_differ():
    observations = [make(seed).reset().observation for seed in range(6)]
    assert len({tuple(observation["position"]) for observation in observations}) > 1
