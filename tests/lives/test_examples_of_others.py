"""The environments of others that examples train in: their oracles solve every task in the fewest steps."""

import importlib

import numpy as np
import pytest

from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.evaluation.lives import LivesScorer

SIZES = {"frozen_lake": (36, 60), "minigrid_rooms": (80, 60), "simple_grid": (25, 60)}
"""Observations and steps of each."""


@pytest.fixture(params=SIZES)
def name(request) -> str:
    """An example."""
    pytest.importorskip(
        {"minigrid_rooms": "minigrid", "simple_grid": "gym_simplegrid"}.get(request.param, "gymnasium")
    )
    return request.param


def test_the_oracle_solves_tasks_that_chance_does_not(name):
    observations, steps = SIZES[name]
    module = f"examples.{name}"
    world = GymnasiumWorlds(
        id=f"{module}:make",
        goal=f"{module}:goal",
        oracle=f"{module}:oracle",
        num_observations=observations,
        episode_steps=steps,
    )
    scorer = LivesScorer(world, episodes=10, seed=3)
    oracle, random = scorer.score_policy("oracle"), scorer.score_policy("random")
    assert random.goals_per_episode < oracle.goals_per_episode / 4
    if name == "frozen_lake":
        # Ten moves from corner to corner of a map of 6 x 6, unless holes are in the way.
        assert 5.0 <= oracle.goals_per_episode <= 6.0
    if name == "minigrid_rooms":
        # The same task again and again takes the same time.
        np.testing.assert_allclose(np.diff(oracle.steps_to_nth_goal[:3]), 0.0, atol=1e-9)


def test_a_map_is_told_by_its_seed(name):
    module = importlib.import_module(f"examples.{name}")

    def first_steps(seed: int) -> list:
        env = module.make(seed)
        env.reset(seed=seed)
        return [module.oracle(env), *(str(env.step(module.oracle(env))) for _ in range(3))]

    assert first_steps(4) == first_steps(4)
