"""Training in environments of Gymnasium: lag of one rollout, processes that die, runs that are resumed."""

import json
import os
import signal
from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

from rapidtask.agents.rivals.lstm import LSTMConfig
from rapidtask.cli import main
from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.errors import InputError
from rapidtask.evaluation.lives import HELD_OUT, LivesScorer, world_seeds
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.lives_trainer import LivesTrainer
from rapidtask.learning.losses import prepare
from rapidtask.lives.workers import ProcessWorker, Workers
from rapidtask.runs.config import RunConfig
from rapidtask.runs.run import RunOptions, run
from ring_env import SIZE
from tiny_training import EPN, WHOLE_ROLLOUTS

WORLD = GymnasiumWorlds(
    id="ring_env:make",
    goal="ring_env:goal",
    oracle="ring_env:oracle",
    num_observations=SIZE,
    episode_steps=12,
)
LEARNING = LearningConfig(num_envs=4, minibatch_size=16, optimiser="adam", lag=1, cpu_devices=1)


@pytest.fixture(autouse=True)
def modules_of_tests(monkeypatch):
    """Processes find the modules of tests, as they find a user's."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))


def trained(iterations: int, workers: Workers, learning=LEARNING, agent=EPN) -> list:
    """Weights after each iteration."""
    steps = iterations * learning.num_envs * WORLD.episode_steps
    trainer = LivesTrainer(WORLD, agent, learning, total_steps=steps, seed=0)
    state, weights = trainer.init(workers), []
    for _ in range(iterations):
        state, metrics = trainer.iterate(workers, state)
        assert np.isfinite(metrics["loss"])
        weights.append(state.learner.agent)
    trainer.close()
    return weights


def same(a, b) -> bool:
    """Whether two agents have the same weights."""
    return bool(eqx.tree_equal(eqx.filter(a, eqx.is_array), eqx.filter(b, eqx.is_array)))


def test_with_lag_each_rollout_is_lived_by_the_weights_before_the_newest(monkeypatch):
    lived: dict[int, object] = {}
    collect = LivesTrainer.collect

    def note(self, workers, agent, number):
        lived[number] = agent
        return collect(self, workers, agent, number)

    monkeypatch.setattr(LivesTrainer, "collect", note)
    with Workers(WORLD.life, 4) as workers:
        late = trained(4, workers)
        assert sorted(lived) == [0, 1, 2, 3]
        assert same(lived[0], lived[1])
        assert same(lived[2], late[0])
        assert same(lived[3], late[1])
        assert not same(lived[3], late[2])
        trained(3, workers, replace(LEARNING, lag=0))
        assert not same(lived[2], late[0])


def test_with_lag_targets_are_corrected_for_the_agent_that_acted():
    with Workers(WORLD.life, 4) as workers:
        trainer = LivesTrainer(WORLD, EPN, LEARNING, total_steps=1, seed=0)
        acting, learning = EPN.make(WORLD.spec, 0), EPN.make(WORLD.spec, 1)
        rollout = trainer.collect(workers, acting, 0)
    same_agent = prepare(acting, LEARNING, rollout)
    without = prepare(acting, replace(LEARNING, lag=0), rollout)
    np.testing.assert_allclose(same_agent.value_target, without.value_target, atol=1e-5)
    other = prepare(learning, LEARNING, rollout)
    assert np.abs(other.value_target - without.value_target).max() > 1e-3
    # Ratios are taken to the policy that acted.
    np.testing.assert_array_equal(other.log_probability, rollout.log_probability)


def test_a_killed_process_changes_nothing_but_the_time_it_takes(monkeypatch):
    with Workers(WORLD.life, 4) as here:
        expected = trained(3, here)
    with Workers(WORLD.life, 4, 2) as workers:
        step, count = Workers.step, iter(range(1000))

        def kill_once(self, actions):
            if next(count) == 20:
                worker = self.workers[0]
                assert isinstance(worker, ProcessWorker)
                os.kill(worker.process.pid, signal.SIGKILL)  # pyright: ignore
            return step(self, actions)

        monkeypatch.setattr(Workers, "step", kill_once)
        found = trained(3, workers)
        assert workers.replaced == 1
    assert all(same(a, b) for a, b in zip(expected, found, strict=True))


@pytest.mark.parametrize("lag", [0, 1])
def test_a_resumed_run_goes_on_bit_for_bit(tmp_path, lag):
    learning = replace(LEARNING, lag=lag)
    options = RunOptions(checkpoint_every=1, evaluate_every=0, evaluation_episodes=2, workers=0)
    whole = RunConfig(WORLD, EPN, learning, steps=4 * 4 * WORLD.episode_steps)
    result = run(whole, tmp_path / "whole", options)
    assert result.scores is not None
    # Schedules depend on the number of steps, so the run is cut by a lost checkpoint, not by fewer steps.
    run(whole, tmp_path / "cut", options)
    for path in sorted((tmp_path / "cut" / "checkpoints").iterdir())[-2:]:
        path.unlink()
    (tmp_path / "cut" / "agent.safetensors").unlink()
    run(whole, tmp_path / "cut", options, resume=True)
    files = [(tmp_path / name / "agent.safetensors").read_bytes() for name in ("whole", "cut")]
    assert files[0] == files[1]


def test_a_recurrent_agent_learns_there_too():
    agent = LSTMConfig(embedding_width=8, torso_width=16, width=16, policy_width=16)
    with Workers(WORLD.life, 4) as workers:
        weights = trained(2, workers, replace(LEARNING, **WHOLE_ROLLOUTS), agent)
    assert not same(*weights)


def test_worlds_of_training_are_never_those_of_evaluations():
    training = {seed for life in range(50) for seed in world_seeds(0, life, 32, held_out=False)}
    held_out = set(world_seeds(0, 0, 2000, held_out=True))
    assert max(training) < HELD_OUT <= min(held_out)
    assert len(training) == 1600


def test_scores_are_held_against_the_scripted_oracle():
    scorer = LivesScorer(WORLD, episodes=20, seed=1)
    oracle, random = scorer.score_policy("oracle"), scorer.score_policy("random")
    # Goals are one or two rooms away: in 12 steps 12 or 6 tasks.
    assert 6.0 <= oracle.goals_per_episode <= 12.0
    assert oracle.oracle_share_last_third == 1.0
    assert random.goals_per_episode < oracle.goals_per_episode / 2
    agent = scorer.score_agent("epn", EPN.make(WORLD.spec, 0))
    assert agent.episodes == 20
    with pytest.raises(InputError, match="--policy edges"):
        scorer.score_policy("edges")


def test_a_trained_agent_is_evaluated_with_other_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(os.path.dirname(os.path.dirname(__file__)))
    options = RunOptions(evaluate_every=0, evaluation_episodes=2, workers=0)
    run(RunConfig(WORLD, EPN, LEARNING, steps=4 * WORLD.episode_steps), tmp_path / "run", options)
    evaluate = ["evaluate", "--checkpoint", str(tmp_path / "run"), "--episodes", "3"]
    main([*evaluate, "--options", "iterations=2", "--json"])
    scores = json.loads(capsys.readouterr().out)
    assert scores["policy"] == "epn, iterations=2"
    assert scores["episodes"] == 3
    with pytest.raises(SystemExit):
        main([*evaluate, "--warm-start"])
    assert "--warm-start" in capsys.readouterr().err


def test_options_without_effect_are_refused():
    with pytest.raises(InputError, match="rollout_steps"):
        LivesTrainer(WORLD, EPN, replace(LEARNING, rollout_steps=5), total_steps=1, seed=0)
    with pytest.raises(InputError, match="per_step_reward"):
        replace(WORLD, per_step_reward=0.5, reward="environment")
    with pytest.raises(InputError, match="no tables"):
        WORLD.make()
    with pytest.raises(InputError, match=r"--world\.id"):
        assert GymnasiumWorlds().spec
    assert jax.device_count() == 1
