"""Files written for keeps."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rapidtask.errors import InputError

LOCK = ".lock"


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that its name only ever shows the whole old content or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:  # a full disk
        partial.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from writing into a folder, which is made; what a crash left half-written goes."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOCK, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{folder}: another process is writing there; choose another --out") from None
        for partial in folder.rglob(".*.partial"):
            partial.unlink(missing_ok=True)
        yield
