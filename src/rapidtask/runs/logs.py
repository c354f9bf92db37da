"""The log of a run: one JSON object per line, and the same numbers as TensorBoard events."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tensorboardX import SummaryWriter

from rapidtask.files import write_atomically


class RunLog:
    """Appends records to `log.jsonl` and to TensorBoard's event files."""

    def __init__(self, folder: Path, resume_after: int | None):
        """Open the log in a run's folder; what it holds up to iteration `resume_after`, if any, is kept."""
        self.path = folder / "log.jsonl"
        earlier = [] if resume_after is None else read_log(self.path)
        kept = [record for record in earlier if record["iteration"] <= resume_after]
        write_atomically(self.path, "".join(json.dumps(record) + "\n" for record in kept).encode())
        self.seconds: float = kept[-1]["seconds"] if kept else 0.0
        """Seconds of training logged so far."""
        self._file = self.path.open("a", encoding="utf-8")
        # TensorBoard forgets what an earlier process logged beyond the checkpoint.
        purge = None if resume_after is None else (kept[-1]["steps"] if kept else 0) + 1
        self._events = SummaryWriter(str(folder / "tensorboard"), purge_step=purge)

    def write(self, record: dict[str, Any]) -> None:
        """Append one record; it must have `iteration` and `steps`."""
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        for name, value in record.items():
            if isinstance(value, int | float) and name not in ("iteration", "steps"):
                self._events.add_scalar(name, value, record["steps"])

    def sync(self) -> None:
        """Return when all that was logged is on disk, as it must be before a checkpoint that follows it."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush and close; what was logged is on disk afterwards."""
        self.sync()
        self._file.close()
        self._events.close()


def read_log(path: Path) -> list[dict]:
    """Records of a log; a last line cut short by a crash is left out."""
    records = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return records
