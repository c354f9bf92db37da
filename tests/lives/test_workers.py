"""Processes that step environments: the same lives wherever they are lived; one that dies is replaced."""

import os
import signal

import numpy as np
import pytest

from rapidtask.errors import InputError
from rapidtask.lives.life import LifeOptions
from rapidtask.lives.workers import ProcessWorker, WorkerLostError, Workers
from ring_env import SIZE

RING = LifeOptions("ring_env:make", "ring_env:goal", SIZE)
SEEDS = [3, 1, 4, 1, 5]


def lived(workers: Workers) -> np.ndarray:
    """Three steps of five lives."""
    actions = np.array([0, 1, 1, 0, 2])
    return np.stack([workers.start(SEEDS), *(workers.step(actions) for _ in range(3))])


@pytest.fixture(autouse=True)
def modules_of_tests(monkeypatch):
    """Processes find the modules of tests, as they find a user's."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))


def test_lives_are_the_same_in_one_process_and_in_two_and_after_one_was_killed():
    with Workers(RING, 5) as here:
        expected = lived(here)
    with Workers(RING, 5, 2) as workers:
        assert (lived(workers) == expected).all()
        worker = workers.workers[1]
        assert isinstance(worker, ProcessWorker)
        assert worker.process.pid is not None
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.join()
        with pytest.raises(WorkerLostError):
            lived(workers)
        assert workers.replaced == 1
        assert (lived(workers) == expected).all()


def test_what_is_wrong_in_a_process_is_said_here():
    with (
        Workers(LifeOptions("ring_env:make", None, 5), 2, 1) as workers,
        pytest.raises(InputError, match="goal"),
    ):
        workers.start([0, 1])


def test_environments_are_spread_evenly_and_no_process_is_without():
    with Workers(RING, 2, 7) as workers:
        assert len(workers.workers) == 2
