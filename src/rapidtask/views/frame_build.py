"""Building frame stores ahead of time: in parallel, with a progress bar, resumable after an interruption.

Frames are written into `NAME.building`, chunk by chunk; a line of `done.txt` says that a chunk is on disk and
what its checksum is. The finished directory gets its name in one step, so a store is complete or not there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import IO, Literal

import numpy as np
from jaxtyping import Int
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rapidtask.cities.city_graph import CityGraph
from rapidtask.views.camera import FRAME_SIZE
from rapidtask.views.frame_store import (
    CHUNK,
    FRAMES,
    HALF_EDGES,
    FrameError,
    FrameStore,
    StoreInfo,
    chunk_checksum,
    graph_fingerprint,
    read_info,
    write_info,
)
from rapidtask.views.sources import FrameSource

Which = Literal["all", "junctions"]
DONE, LOCK = "done.txt", "lock"


def select_half_edges(city: CityGraph, which: Which) -> Int[np.ndarray, " F"]:
    """The oriented pieces that can be states.

    Under the paper's rules a neighbourhood may end anywhere along a street, so that all can be; under the
    release's, streets end at junctions and dead ends.
    """
    chosen = np.ones(len(city.neighbours), bool) if which == "all" else city.degree[city.tails] != 2
    return np.flatnonzero(chosen).astype(np.int32)


def build_store(
    source: FrameSource,
    directory: str | Path,
    *,
    which: Which = "all",
    workers: int = 1,
    console: Console | None = None,
) -> FrameStore:
    """Build the store of a city in `directory/CITY`, or finish one that was interrupted.

    Args:
        source: makes the frames.
        directory: where stores are kept.
        which: which views; see `select_half_edges`.
        workers: processes.
        console: where a progress bar goes; None for silence.

    Raises:
        FrameError: if the place is taken by something else, or another process is building there.
    """
    city = source.city
    final = Path(directory) / city.name
    half_edges = select_half_edges(city, which)
    info = StoreInfo(
        city=city.name,
        graph=graph_fingerprint(city),
        source=source.kind,
        renderer=source.version,
        which=which,
        hour=source.hour,
        streets=city.source,
        licence=city.licence,
        num_frames=len(half_edges),
    )
    if final.exists():
        store = FrameStore(final)
        if not store.info.same_views(info):
            raise FrameError(f"{final}: holds other frames already; remove it, or choose another --out")
        return store
    building = final.with_name(f"{final.name}.building")
    try:
        building.mkdir(parents=True, exist_ok=True)
        with _lock(building):
            sums = _prepare(building, info, half_edges)
            _fill(building, source, half_edges, sums, workers, console)
            write_info(building, dataclasses.replace(info, checksums=tuple(sums[i] for i in sorted(sums))))
            (building / DONE).unlink()
            (building / LOCK).unlink(missing_ok=True)
            building.rename(final)
    except OSError as error:
        raise FrameError(f"{building}: cannot be written ({error.strerror or error})") from error
    return FrameStore(final)


def _prepare(building: Path, info: StoreInfo, half_edges: np.ndarray) -> dict[int, int]:
    """Set the files up, or take over those of an interrupted build.

    Returns:
        The checksum of each chunk that is done. A chunk whose frames differ from its line is made again.
    """
    if (building / DONE).exists():
        found = read_info(building)
        if not found.same_views(info):
            raise FrameError(f"{building}: an unfinished build of other frames; remove it first")
        frames = np.load(building / FRAMES, mmap_mode="r")
        lines = [line.split() for line in (building / DONE).read_text().split("\n")[:-1]]
        sums = {int(line[0]): int(line[1]) for line in lines if len(line) == 2}
        good = {number: value for number, value in sums.items() if chunk_checksum(frames, number) == value}
        (building / DONE).write_text("".join(f"{number} {value}\n" for number, value in good.items()))
        return good
    np.save(building / HALF_EDGES, half_edges)
    shape = (info.num_frames, FRAME_SIZE, FRAME_SIZE, 3)
    np.lib.format.open_memmap(building / FRAMES, "w+", np.uint8, shape).flush()
    write_info(building, info)
    # Last: without it, the next attempt sets everything up again.
    (building / DONE).touch()
    return {}


def _fill(
    building: Path,
    source: FrameSource,
    half_edges: np.ndarray,
    sums: dict[int, int],
    workers: int,
    console: Console | None,
) -> None:
    """Make the chunks that are missing, and note each as it is done."""
    num_chunks = -(-len(half_edges) // CHUNK)
    missing = [number for number in range(num_chunks) if number not in sums]
    progress = Progress(
        TextColumn(source.city.name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=console is None,
    )
    with progress, open(building / DONE, "a") as done:
        task = progress.add_task("frames", total=len(half_edges), completed=len(sums) * CHUNK)
        for number, checksum in _make_chunks(building, source, half_edges, missing, workers):
            sums[number] = checksum
            _note(done, f"{number} {checksum}\n")
            progress.advance(task, min(CHUNK, len(half_edges) - number * CHUNK))


def _make_chunks(
    building: Path, source: FrameSource, half_edges: np.ndarray, missing: list[int], workers: int
) -> Iterator[tuple[int, int]]:
    """Make chunks in whatever order; yields (number, checksum) of each that is on disk."""
    if workers <= 1 or len(missing) <= 1 or not source.parallel:
        for number in missing:
            yield number, _write_chunk(building, source, half_edges, number)
        return
    # Spawned, not forked: JAX may have threads in this process.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker, (building, source, half_edges)) as pool:
        waiting = {pool.submit(_work, number): number for number in missing}
        try:
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()
        finally:
            for future in waiting:
                future.cancel()


_worker: tuple[Path, FrameSource, np.ndarray]


def _start_worker(building: Path, source: FrameSource, half_edges: np.ndarray) -> None:
    global _worker
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    _worker = (building, source, half_edges)


def _end_with_parent() -> None:
    """End this worker when its parent is gone.

    A parent that is killed cannot tell its workers, which would go on with the chunks they were given and
    then wait for ever. What they leave half written is made again: no line of `done.txt` vouches for it.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(number: int) -> int:
    building, source, half_edges = _worker
    return _write_chunk(building, source, half_edges, number)


def _write_chunk(building: Path, source: FrameSource, half_edges: np.ndarray, number: int) -> int:
    part = slice(number * CHUNK, (number + 1) * CHUNK)
    made = source.make(half_edges[part])
    frames = np.lib.format.open_memmap(building / FRAMES, "r+")
    frames[part] = made
    frames.flush()
    return chunk_checksum(frames, number)


def _note(file: IO[str], line: str) -> None:
    file.write(line)
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def _lock(building: Path) -> Iterator[None]:
    """Keep a second build out; the system lets go of the lock when a process dies."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    with open(building / LOCK, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FrameError(f"{building}: another process is building it") from None
        yield
