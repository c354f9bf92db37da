"""What a step costs: episodes timed without their compilation."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from rapidtask.evaluation.play import episode_keys, play_batch
from rapidtask.experiments.material import ExperimentWorld, Material


@dataclass(frozen=True)
class TimedEpisodes:
    """Episodes and what they cost."""

    completed: np.ndarray
    """Whether each step completed a task, `[T, E]`."""
    processor_ms: float
    """Milliseconds of processor time per step and environment, summed over threads."""
    wall_ms: float
    """Milliseconds on the clock per step and environment."""

    def columns(self) -> dict[str, float]:
        """The cost as columns of a table."""
        return {"processor_ms_per_step": self.processor_ms, "wall_ms_per_step": self.wall_ms}


def time_episodes(
    material: Material, label: str, world: ExperimentWorld, episodes: int, **options
) -> TimedEpisodes:
    """Play episodes in one batch, compiled beforehand.

    Processor time hardly depends on what else the machine does; time on the clock does.
    """
    environment, policy = world.make(), material.policy(label, world, **options)
    keys = episode_keys(material.seed, episodes)
    compiled = play_batch.lower(environment, policy, keys).compile()
    wall, processor = time.perf_counter(), time.process_time()
    completed = compiled(environment, policy, keys).completed
    steps = world.episode_steps * episodes
    return TimedEpisodes(
        completed,
        (time.process_time() - processor) * 1e3 / steps,
        (time.perf_counter() - wall) * 1e3 / steps,
    )
