import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapidtask.envs.environment import TimeStep
from rapidtask.learning import vtrace as vtrace_module
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.losses import moved_enough, targets_of
from rapidtask.learning.rollout import Rollout

vtrace = jax.jit(vtrace_module.vtrace)
VALUES_TM1, VALUES_T = np.float32([1, 2, 3]), np.float32([2, 3, 4])
REWARDS, DISCOUNTS = np.float32([1, 0, 2]), np.full(3, 0.5, np.float32)
RATIOS = np.float32([0.5, 2, 1])


def test_hand_computed_targets_and_advantages():
    targets = vtrace(VALUES_TM1, VALUES_T, REWARDS, DISCOUNTS, RATIOS)
    # Differences 0.5 (1 + 0.5·2 - 1) = 0.5, 1 (0 + 0.5·3 - 2) = -0.5, 1 (2 + 0.5·4 - 3) = 1; carried
    # backwards by 0.5·c: 1, then -0.5 + 0.5 = 0, then 0.5.
    np.testing.assert_allclose(targets.values, [1.5, 2.0, 4.0])
    np.testing.assert_allclose(targets.advantages, [1.0, 0.0, 1.0])


def test_hand_computed_with_lambda_below_one():
    targets = vtrace(VALUES_TM1, VALUES_T, REWARDS, DISCOUNTS, RATIOS, lambda_=0.5)
    np.testing.assert_allclose(targets.values, [1.46875, 1.75, 4.0])
    np.testing.assert_allclose(targets.advantages, [0.9375, -0.25, 1.0])


def test_lambda_zero_is_one_step():
    targets = vtrace(VALUES_TM1, VALUES_T, REWARDS, DISCOUNTS, np.ones(3, np.float32), lambda_=0.0)
    np.testing.assert_allclose(targets.values, REWARDS + DISCOUNTS * VALUES_T)


def random_trajectory(seed: int, num_steps: int = 30):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=num_steps + 1)
    discounts = 0.95 * (rng.random(num_steps) > 0.1)
    arrays = (values[:-1], values[1:], rng.normal(size=num_steps), discounts, rng.lognormal(size=num_steps))
    return [x.astype(np.float32) for x in arrays]


@pytest.mark.parametrize("lambda_", [1.0, 0.7, 0.0])
@pytest.mark.parametrize(("rho_bar", "c_bar"), [(1.0, 1.0), (0.5, 1.0), (2.0, 2.0), (2.0, 0.5)])
def test_equals_the_sum_over_products_of_the_paper(lambda_, rho_bar, c_bar):
    """IMPALA's equation 1 term by term, in NumPy, and what its policy gradient is scaled by."""
    trajectory = random_trajectory(7, 12)
    values_tm1, values_t, rewards, discounts, ratios = (np.asarray(x, np.float64) for x in trajectory)
    rho, c = np.minimum(rho_bar, ratios), lambda_ * np.minimum(c_bar, ratios)
    differences = rho * (rewards + discounts * values_t - values_tm1)
    expected = [
        values_tm1[s] + sum(np.prod(discounts[s:t] * c[s:t]) * differences[t] for t in range(s, len(rewards)))
        for s in range(len(rewards))
    ]
    following = lambda_ * np.append(expected[1:], values_t[-1]) + (1 - lambda_) * values_t
    targets = vtrace(*trajectory, lambda_=lambda_, rho_bar=rho_bar, c_bar=c_bar)
    np.testing.assert_allclose(targets.values, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        targets.advantages, rewards + discounts * following - values_tm1, rtol=1e-5, atol=1e-5
    )


def test_targets_carry_no_gradient():
    trajectory = random_trajectory(0)

    def total(values_tm1):
        targets = vtrace(values_tm1, *trajectory[1:])
        return jnp.sum(targets.values) + jnp.sum(targets.advantages)

    assert not jax.grad(total)(trajectory[0]).any()


def two_episodes(discount_at_end: float) -> Rollout:
    """Two actions, a last timestep, an ignored action, and the first timestep of the next episode."""
    column = lambda *values: jnp.asarray(values, jnp.float32)[:, None]  # noqa: E731
    ids = jnp.zeros((4, 1), jnp.int32)
    timesteps = TimeStep(
        observation=ids,
        goal=ids,
        action=ids,
        reward=column(0, 1, 2, 0),
        completed=column(0, 1, 1, 0) > 0,
        discount=column(1, 1, discount_at_end, 1),
        first=column(1, 0, 0, 1) > 0,
        last=column(0, 0, 1, 0) > 0,
    )
    return Rollout(timesteps, ids[:-1], column(0, 0, 0), column(1, 2, 3, 10), None)


@pytest.mark.parametrize(
    ("discount_at_end", "expected"),
    # Truncated: 2 + 0.5·3 bootstraps from the last timestep. Terminated: only the reward of 2 is left.
    [(1.0, [1 + 0.5 * (2 + 0.5 * 3), 2 + 0.5 * 3]), (0.0, [1 + 0.5 * 2, 2])],
)
def test_truncation_bootstraps_and_termination_does_not(discount_at_end, expected):
    rollout = two_episodes(discount_at_end)
    config = LearningConfig(discount=0.5, vtrace_lambda=1.0, normalise_advantages=False)
    targets = targets_of(rollout, rollout.values, rollout.log_probability, config)
    np.testing.assert_allclose(targets.values[:2, 0], expected)
    np.testing.assert_allclose(targets.advantages[:2, 0], np.subtract(expected, [1.0, 2.0]))


@pytest.mark.parametrize("discount_at_end", [1.0, 0.0])
def test_nothing_flows_back_from_the_next_episode(discount_at_end):
    rollout = two_episodes(discount_at_end)
    config = LearningConfig(discount=0.5, vtrace_lambda=0.9)
    before = targets_of(rollout, rollout.values, rollout.log_probability, config)
    values, log_probability = rollout.values.at[3].set(-50.0), rollout.log_probability.at[2].set(-5.0)
    after = targets_of(rollout, values, log_probability, config)
    np.testing.assert_array_equal(before.values[:2], after.values[:2])
    np.testing.assert_array_equal(before.advantages[:2], after.advantages[:2])


def test_steps_leave_the_policy_gradient_once_they_moved_in_their_advantages_direction():
    ratio = jnp.array([1.3, 1.1, 0.7, 1.3, 0.9, 0.7])
    advantage = jnp.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    assert moved_enough(ratio, advantage, 0.2).tolist() == [True, False, False, False, False, True]
