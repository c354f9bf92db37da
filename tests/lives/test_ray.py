"""Environments in actors of Ray, two on this machine; one that is killed is replaced."""

import os

import numpy as np
import pytest

from rapidtask.lives.life import LifeOptions
from rapidtask.lives.workers import RayWorker, WorkerLostError, Workers
from ring_env import SIZE

# Ray starts its processes by a fork that does nothing but execute another program, which JAX warns of.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:os.fork", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
RING = LifeOptions("ring_env:make", "ring_env:goal", SIZE)
SEEDS = [3, 1, 4, 1, 5]


def lived(workers: Workers) -> np.ndarray:
    """Three steps of five lives."""
    actions = np.array([0, 1, 1, 0, 2])
    return np.stack([workers.start(SEEDS), *(workers.step(actions) for _ in range(3))])


def test_lives_are_the_same_in_actors_of_ray_and_after_one_was_killed(monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    with Workers(RING, 5) as here:
        expected = lived(here)
    with Workers(RING, 5, 2, ray="local") as workers:
        assert (lived(workers) == expected).all()
        worker = workers.workers[0]
        assert isinstance(worker, RayWorker)
        ray.kill(worker.actor)
        with pytest.raises(WorkerLostError):
            lived(workers)
        assert workers.replaced == 1
        assert (lived(workers) == expected).all()
