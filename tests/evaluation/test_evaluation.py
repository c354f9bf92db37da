import numpy as np
import pytest

from rapidtask.envs import make_environment
from rapidtask.evaluation import evaluate
from rapidtask.evaluation.scores import ratio_and_stderr, score, steps_between_goals


def completed_at(*episodes: tuple[int, ...], num_steps: int = 9) -> np.ndarray:
    """Completion flags [T, E] from the steps (counted from 1) at which each episode completed tasks."""
    flags = np.zeros((num_steps, len(episodes)), bool)
    for episode, steps in enumerate(episodes):
        flags[np.asarray(steps, int) - 1, episode] = True
    return flags


def test_scores_of_two_hand_written_episodes():
    ours = completed_at((3, 5, 9), (1, 8))
    oracle = completed_at((2, 4, 7, 8), (3, 7, 9))
    scores = score("ours", ours, oracle, seed=5, world={})
    assert scores.goals_per_episode == 2.5
    assert scores.goals_per_episode_stderr == pytest.approx(0.5)
    assert scores.goals_last_third == 1.0  # steps 7 to 9: one goal in each
    assert scores.oracle_share_last_third == 0.5  # the oracle made two in each
    assert scores.steps_to_nth_goal == [2.0, 4.5]  # (3, 1), (2, 7); only one episode made a third goal
    assert (scores.episodes, scores.seed) == (2, 5)


def test_nth_goal_is_scored_only_where_nearly_all_episodes_reached_it():
    flags = completed_at(*[(1, 2, 3), (4, 6)] * 9, (4, 6), (5,))
    assert [len(steps) for steps in steps_between_goals(flags)] == [20, 19]
    assert steps_between_goals(completed_at((), ())) == []


def test_ratio_error_is_zero_for_proportional_scores_and_shrinks_with_noise():
    reference = np.asarray([8.0, 12.0, 10.0, 10.0])
    assert ratio_and_stderr(reference / 2, reference) == (0.5, 0.0)
    generator = np.random.default_rng(0)
    ratios = []
    for _ in range(400):
        a, b = generator.normal(6, 1, 100), generator.normal(10, 2, 100)
        ratios.append(ratio_and_stderr(a, b))
    values, errors = np.transpose(ratios)
    assert errors.mean() == pytest.approx(values.std(), rel=0.15)


def test_evaluation_is_reproducible_and_batches_do_not_matter():
    environment = make_environment("memory-planning", episode_steps=30)
    first, second = (next(evaluate(environment, ["edges"], episodes=50, seed=3)) for _ in range(2))
    assert first == second
    other = next(evaluate(environment, ["edges"], episodes=50, seed=4))
    assert other.goals_per_episode != first.goals_per_episode

    from rapidtask.evaluation.play import play
    from rapidtask.policies import make_policy

    policy = make_policy("edges", environment)
    whole = play(environment, policy, 50, seed=3).completed
    np.testing.assert_array_equal(whole, play(environment, policy, 50, seed=3, batch_size=16).completed)
    np.testing.assert_array_equal(whole[:, :7], play(environment, policy, 7, seed=3).completed)


def test_bad_number_of_episodes_is_named():
    with pytest.raises(ValueError, match="episodes is 0"):
        next(evaluate(make_environment("memory-planning"), ["random"], episodes=0))
