"""Runs that take seconds: a 2x2 game, short episodes, small agents."""

from dataclasses import replace

from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.rivals.lstm import LSTMConfig
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.learning.config import LearningConfig
from rapidtask.runs.config import RunConfig
from rapidtask.runs.run import RunOptions

WORLD = MemoryPlanning(size=2, episode_steps=12)
EPN = EPNConfig(
    width=16, iterations=1, block="residual", comparisons="attention", symbols="fixed", plan_with_newest=True
)
LSTM = LSTMConfig(embedding_width=8, torso_width=16, width=16, policy_width=16)
LEARNING = LearningConfig(num_envs=8, minibatch_size=32, optimiser="adam")
STEPS_PER_ITERATION = LEARNING.num_envs * (WORLD.episode_steps + 1)
WHOLE_ROLLOUTS = {"learned_share": None, "ratio_clip": None}
OPTIONS = RunOptions(checkpoint_every=2, evaluate_every=3, evaluation_episodes=8)


def tiny_run(iterations: int = 5, *, agent=EPN, **learning) -> RunConfig:
    """Configuration of a run of so many iterations."""
    whole = WHOLE_ROLLOUTS if agent is not EPN or learning.get("learned_share", 1.0) is None else {}
    config = replace(LEARNING, **whole | learning)
    return RunConfig(world=WORLD, agent=agent, learning=config, steps=iterations * STEPS_PER_ITERATION)
