"""One trial of a sweep, as a process of its own: `python -m rapidtask.sweeps.trial FOLDER`.

The folder holds `trial.json`; the run inside it goes on from its newest checkpoint if there is one. Exit
codes are those of `rapidtask train`: 0 when done, 2 with a message when it failed, 128 + n after signal n.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rapidtask.errors import InputError
from rapidtask.learning.distributed import split_cpu, use_compilation_cache
from rapidtask.learning.run import Progress, RunOptions, run
from rapidtask.learning.run_config import run_config_from_json
from rapidtask.sweeps.workers import TRIAL_FILE

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def main(folder: Path) -> int:
    """Run the trial of a folder to its end; the exit code."""
    spec = json.loads((folder / TRIAL_FILE).read_text(encoding="utf-8"))
    parent = os.getppid()

    def stop_if_orphaned(progress: Progress) -> None:
        # The sweep was killed. It must not find its trial running when it comes back.
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)

    use_compilation_cache()
    try:
        with only_one(folder):
            config = run_config_from_json(spec["config"])
            split_cpu(config.learning.cpu_devices)
            result = run(
                config,
                folder,
                RunOptions(**spec["run_options"]),
                resume=True,
                show=stop_if_orphaned,
            )
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if result.stopped_by is None else 128 + result.stopped_by


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Wait until no other process works in the folder, and keep others out."""
    with (folder / ".lock").open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
