"""What a step costs: episodes timed without their compilation."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rapidtask.evaluation.play import episode_keys, play_batch
from rapidtask.experiments.evaluations import Evaluations


def time_episodes(
    evaluations: Evaluations, label: str, world: Any, episodes: int, **options
) -> tuple[np.ndarray, dict[str, float]]:
    """Play episodes in one batch, compiled beforehand.

    Processor time, summed over threads, hardly depends on what else the machine does; time on the clock does.

    Returns:
        Whether each step completed a task, `[T, E]`, and milliseconds per step and environment as columns.
    """
    environment, policy = world.make(), evaluations.policy(label, world, **options)
    keys = episode_keys(evaluations.seed, episodes)
    compiled = play_batch.lower(environment, policy, keys).compile()
    wall, processor = time.perf_counter(), time.process_time()
    completed = compiled(environment, policy, keys).completed
    steps = world.episode_steps * episodes
    return completed, {
        "processor_ms_per_step": (time.process_time() - processor) * 1e3 / steps,
        "wall_ms_per_step": (time.perf_counter() - wall) * 1e3 / steps,
    }
