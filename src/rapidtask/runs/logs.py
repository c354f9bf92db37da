"""The log of a run: one JSON object per line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from rapidtask.files import write_atomically


class RunLog:
    """Appends records to `log.jsonl`; what a full disk does not take is kept and written later."""

    def __init__(self, folder: Path, resume_after: int | None):
        """Open the log of a run.

        Args:
            folder: the run's folder.
            resume_after: keep records up to this iteration only, as if the run had never gone further; None
                starts a new log.
        """
        self.path = folder / "log.jsonl"
        kept = (
            [] if resume_after is None else [r for r in read_log(self.path) if r["iteration"] <= resume_after]
        )
        write_atomically(self.path, "".join(json.dumps(record) + "\n" for record in kept).encode())
        self.seconds: float = kept[-1]["seconds"] if kept else 0.0
        """Seconds of training logged so far."""
        self._file = self.path.open("ab", buffering=0)
        self._waiting = b""

    def write(self, record: dict[str, Any]) -> None:
        """Append one record; it must have `iteration`. A disk that is full ends no run."""
        self._waiting += json.dumps(record).encode() + b"\n"
        try:
            self._append()
        except OSError as error:
            print(f"rapidtask: {error}; kept to be written later", file=sys.stderr)

    def sync(self) -> None:
        """Return when all that was logged is on disk, as it must be before a checkpoint that follows it."""
        self._append()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush and close; what was logged is on disk afterwards."""
        try:
            self.sync()
        finally:
            self._file.close()

    def _append(self) -> None:
        try:
            while self._waiting:
                self._waiting = self._waiting[self._file.write(self._waiting) :]
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None


def read_log(path: Path) -> list[dict]:
    """Records of a log; damaged lines are passed over, as a last one cut short by a crash."""
    records = []
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(record, dict) and isinstance(record.get("iteration"), int):
                records.append(record)
    return records
