"""Where trials run: processes on this machine, or tasks on a Ray cluster."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rapidtask.errors import InputError

SECONDS_BETWEEN_LOOKS = 0.1
TRIAL_FILE = "trial.json"
"""What a trial is to do, in its folder."""
STDERR_FILE = "stderr.txt"
"""What its process said."""


@dataclass(frozen=True)
class Finished:
    """A trial that has ended."""

    trial: int
    exit_code: int


class Workers(Protocol):
    """Runs trials side by side."""

    def start(self, trial: int, folder: Path) -> None:
        """Start the trial of a folder."""
        ...

    def finished(self) -> Iterator[Finished]:
        """Trials that have ended since the last look; waits a moment if there is none."""
        ...

    def stop(self) -> None:
        """Stop all trials; each leaves a checkpoint."""
        ...


class LocalWorkers:
    """One process per trial on this machine."""

    def __init__(self) -> None:
        self._running: dict[int, subprocess.Popen] = {}

    def start(self, trial: int, folder: Path) -> None:
        """See `Workers`."""
        self._running[trial] = _start(folder)

    def finished(self) -> Iterator[Finished]:
        """See `Workers`."""
        ended = {trial: process for trial, process in self._running.items() if process.poll() is not None}
        if not ended:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        for trial, process in ended.items():
            del self._running[trial]
            yield Finished(trial, process.returncode)

    def stop(self) -> None:
        """See `Workers`."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait()


class RayWorkers:
    """One Ray task per trial; the sweep's folder must be on a file system that all nodes share."""

    def __init__(self, address: str, cpus: float, gpus: float) -> None:
        """Connect.

        Args:
            address: of a cluster (`auto`, `host:port`, `ray://…`), or "local" for Ray on this machine.
            cpus: processors that a trial takes.
            gpus: accelerators that a trial takes.
        """
        try:
            import ray  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise InputError("--ray needs Ray: pip install 'rapidtask[cluster]'") from None
        self._ray: Any = ray
        try:
            ray.init(
                address=None if address == "local" else address,
                include_dashboard=False if address == "local" else None,
                log_to_driver=False,
            )
        except ConnectionError as error:
            raise InputError(f"--ray {address}: {error}") from None
        # A trial whose node is lost starts again elsewhere and goes on from its checkpoint.
        self._task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=-1)(_run_in_task)
        self._running: dict[Any, int] = {}

    def start(self, trial: int, folder: Path) -> None:
        """See `Workers`."""
        self._running[self._task.remote(str(folder.resolve()))] = trial

    def finished(self) -> Iterator[Finished]:
        """See `Workers`."""
        done, _ = self._ray.wait(list(self._running), timeout=SECONDS_BETWEEN_LOOKS)
        for reference in done:
            yield Finished(self._running.pop(reference), self._ray.get(reference))

    def stop(self) -> None:
        """See `Workers`: without its worker, a trial stops by itself."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._ray.shutdown()


def _start(folder: Path) -> subprocess.Popen:
    # In a session of its own: Ctrl-C reaches the sweep, which stops its trials.
    with (folder / STDERR_FILE).open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "rapidtask.sweeps.trial", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def _run_in_task(folder: str) -> int:
    return _start(Path(folder)).wait()
