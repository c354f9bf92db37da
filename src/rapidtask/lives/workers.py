"""Processes that step environments, here or on a cluster of Ray; one that dies is replaced.

Environments are numbered, and a life is told by its seed: it is the same in whatever process it is lived.
So a rollout that a process was lost in can be lived again from its start.
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np

from rapidtask.errors import InputError
from rapidtask.lives.life import LifeOptions, Lives


class WorkerLostError(RuntimeError):
    """A process ended in the middle of a rollout; another has taken its place."""


class Worker(Protocol):
    """Some environments, elsewhere: what is sent is answered in order."""

    def send(self, command: str, values: Sequence[int]) -> None:
        """Ask for a step, or for the start of a life; raises `WorkerLostError` if nobody is there."""
        ...

    def receive(self) -> np.ndarray | InputError:
        """The answer."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class HereWorker:
    """Environments in this process."""

    def __init__(self, options: LifeOptions, count: int) -> None:
        self._lives, self._answer = Lives(options, count), np.zeros(0)

    def send(self, command: str, values: Sequence[int]) -> None:
        """See `Worker`."""
        self._answer = getattr(self._lives, command)(values)

    def receive(self) -> np.ndarray:
        """See `Worker`."""
        return self._answer

    def close(self) -> None:
        """See `Worker`."""
        self._lives.close()


class ProcessWorker:
    """Environments in a process of this machine."""

    def __init__(self, options: LifeOptions, count: int) -> None:
        # Not forked: JAX has threads, and hangs in forked processes.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, options, count), daemon=True)
        self.process.start()
        theirs.close()

    def send(self, command: str, values: Sequence[int]) -> None:
        """See `Worker`."""
        try:
            self._connection.send((command, list(values)))
        except OSError:
            raise WorkerLostError(f"process {self.process.pid} ended") from None

    def receive(self) -> np.ndarray | InputError:
        """See `Worker`."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            raise WorkerLostError(f"process {self.process.pid} ended") from None

    def close(self) -> None:
        """See `Worker`."""
        self._connection.close()
        self.process.terminate()
        self.process.join()


class RayWorker:
    """Environments in an actor of Ray, wherever the cluster has room."""

    def __init__(self, options: LifeOptions, count: int) -> None:
        self._ray = _import_ray()
        remote = self._ray.remote(num_cpus=1)(_Answers)
        self.actor = remote.remote(options, count)
        self._answer: Any = None

    def send(self, command: str, values: Sequence[int]) -> None:
        """See `Worker`."""
        self._answer = self.actor.answer.remote(command, list(values))

    def receive(self) -> np.ndarray | InputError:
        """See `Worker`."""
        try:
            return self._ray.get(self._answer)
        except self._ray.exceptions.RayActorError:
            raise WorkerLostError("an actor of Ray ended") from None

    def close(self) -> None:
        """See `Worker`."""
        self._ray.kill(self.actor)


class Workers:
    """B environments, spread over processes; what they show comes in the order of the environments."""

    def __init__(
        self, options: LifeOptions, num_envs: int, num_workers: int = 0, ray: str | None = None
    ) -> None:
        """Start the processes: `num_workers` of them, 0 for none but this, or as many actors of Ray.

        Args:
            options: which environment.
            num_envs: how many of them, B.
            num_workers: processes to spread them over.
            ray: address of a cluster of Ray, "local" for one of its own on this machine; by default none.
        """
        self._options, self._ray = options, ray
        if ray is not None:
            _import_ray().init(address=ray, ignore_reinit_error=True, log_to_driver=False)
        parts = np.array_split(np.arange(num_envs), max(1, min(num_workers, num_envs)))
        self._parts = [part.tolist() for part in parts]
        self._kind = RayWorker if ray is not None else ProcessWorker if num_workers else HereWorker
        self.workers: list[Worker] = [self._kind(options, len(part)) for part in self._parts]
        self.replaced = 0
        """Processes that were lost and replaced so far."""

    def start(self, seeds: Sequence[int]) -> np.ndarray:
        """Begin a life in every environment, `[B]`."""
        return self._ask("start", seeds)

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Take an action in every environment, `[B]`."""
        return self._ask("step", actions.tolist())

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.close()
        if self._ray == "local":
            _import_ray().shutdown()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, command: str, values: Sequence[int]) -> np.ndarray:
        lost: WorkerLostError | None = None
        answers: list[np.ndarray] = []
        asked: list[Worker] = []
        for number, part in enumerate(self._parts):
            try:
                self.workers[number].send(command, [values[i] for i in part])
                asked.append(self.workers[number])
            except WorkerLostError as error:
                lost = self._replace(number, error)
        # All that were asked are heard, or their answers would be taken for later ones.
        for worker in asked:
            try:
                answer = worker.receive()
            except WorkerLostError as error:
                lost = self._replace(self.workers.index(worker), error)
                continue
            if isinstance(answer, InputError):
                raise answer
            answers.append(answer)
        if lost is not None:
            raise lost
        return np.concatenate(answers)

    def _replace(self, number: int, error: WorkerLostError) -> WorkerLostError:
        self.workers[number].close()
        self.workers[number] = self._kind(self._options, len(self._parts[number]))
        self.replaced += 1
        return error


class _Answers:
    """Lives that answer commands; what is wrong with an environment is an answer too."""

    def __init__(self, options: LifeOptions, count: int) -> None:
        self._options, self._count, self._lives = options, count, None

    def answer(self, command: str, values: Sequence[int]) -> np.ndarray | InputError:
        """Do what is asked for."""
        try:
            if self._lives is None:
                self._lives = Lives(self._options, self._count)
            return getattr(self._lives, command)(values)
        except InputError as error:
            return InputError(str(error))
        except Exception as error:  # whatever somebody's environment may raise
            traceback.print_exc()
            return InputError(f"--world.id {self._options.environment}: {type(error).__name__}: {error}")


def _serve(connection: Connection, options: LifeOptions, count: int) -> None:
    # The learner decides when to stop: a signal of the terminal is for it alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _Answers(options, count)
    while True:
        try:
            connection.send(answers.answer(*connection.recv()))
        except (EOFError, OSError):
            return


def _import_ray() -> Any:
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError("--run-options.ray needs Ray: pip install 'rapidtask[cluster]'") from None
    return ray
