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
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int
from rich.console import Console
from rich.progress import track

from rapidtask.cities.city_graph import CityGraph
from rapidtask.views.renderer import VERSION, RenderedFrames
from rapidtask.worlds.frame_store import (
    CHUNK,
    FRAME_SIZE,
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

Which = Literal["all", "junctions"]
DONE, LOCK = "done.txt", "lock"


def select_half_edges(city: CityGraph, which: Which) -> Int[np.ndarray, " F"]:
    """The oriented pieces that can be states: under the release's rules streets end at junctions only."""
    return np.flatnonzero((which == "all") | (city.degree[city.tails] != 2)).astype(np.int32)


def build_store(
    source: RenderedFrames,
    directory: str | Path,
    *,
    which: Which = "all",
    workers: int = 1,
    console: Console | None = None,
) -> FrameStore:
    """Build the store of a city in `directory/CITY`, or finish one that was interrupted.

    `which` views are made, see `select_half_edges`; without a console there is no progress bar.
    """
    city = source.city
    final = Path(directory) / city.name
    half_edges = select_half_edges(city, which)
    info = StoreInfo(
        city=city.name,
        graph=graph_fingerprint(city),
        source="rendered",
        renderer=VERSION,
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
    build = Build(final.with_name(f"{final.name}.building"), source, half_edges)
    try:
        build.folder.mkdir(parents=True, exist_ok=True)
        with _lock(build.folder):
            sums = _fill(build, _prepare(build, info), workers, console)
            write_info(build.folder, dataclasses.replace(info, checksums=sums))
            (build.folder / DONE).unlink()
            (build.folder / LOCK).unlink(missing_ok=True)
            build.folder.rename(final)
    except OSError as error:
        raise FrameError(f"{build.folder}: cannot be written ({error.strerror or error})") from error
    return FrameStore(final)


@dataclasses.dataclass(frozen=True)
class Build:
    """A store on its way, as far as whoever writes a chunk of it must know."""

    folder: Path
    source: RenderedFrames
    half_edges: Int[np.ndarray, " F"]

    def write(self, number: int) -> int:
        """Make a chunk and put it on disk; returns its checksum."""
        part = slice(number * CHUNK, (number + 1) * CHUNK)
        frames = np.lib.format.open_memmap(self.folder / FRAMES, "r+")
        frames[part] = self.source.make(self.half_edges[part])
        frames.flush()
        return chunk_checksum(frames, number)


def _prepare(build: Build, info: StoreInfo) -> dict[int, int]:
    """Set the files up, or take over those of an interrupted build; returns checksums of what is done."""
    folder, done = build.folder, build.folder / DONE
    if done.exists():
        if not read_info(folder).same_views(info):
            raise FrameError(f"{folder}: an unfinished build of other frames; remove it first")
        frames = np.load(folder / FRAMES, mmap_mode="r")
        # What follows the last line break was cut off.
        lines = [line.split() for line in done.read_text().split("\n")[:-1]]
        noted = {int(line[0]): int(line[1]) for line in lines if len(line) == 2}
        # A chunk whose frames differ from its line is made again.
        sums = {number: value for number, value in noted.items() if chunk_checksum(frames, number) == value}
        done.write_text("".join(f"{number} {value}\n" for number, value in sums.items()))
        return sums
    np.save(folder / HALF_EDGES, build.half_edges)
    shape = (info.num_frames, FRAME_SIZE, FRAME_SIZE, 3)
    np.lib.format.open_memmap(folder / FRAMES, "w+", np.uint8, shape).flush()
    write_info(folder, info)
    # Last: without it, the next attempt sets everything up again.
    done.touch()
    return {}


def _fill(build: Build, sums: dict[int, int], workers: int, console: Console | None) -> tuple[int, ...]:
    """Make the chunks that have no checksum yet, and note each as it is done; returns all checksums."""
    num_chunks = -(-len(build.half_edges) // CHUNK)
    missing = [number for number in range(num_chunks) if number not in sums]
    with open(build.folder / DONE, "a") as done, contextlib.ExitStack() as stack:
        if workers > 1 and len(missing) > 1:
            # Spawned, not forked: JAX may have threads in this process.
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(ProcessPoolExecutor(workers, context, _start_worker, (build,)))
            made = pool.map(_write_chunk, missing)
            # Whoever interrupts the build does not wait for what has not begun.
            stack.callback(pool.shutdown, cancel_futures=True)
        else:
            made = map(build.write, missing)
        progress = track(
            zip(missing, made, strict=True), build.source.city.name, num_chunks, len(sums),
            console=console, disable=console is None,
        )  # fmt: skip
        for number, checksum in progress:
            sums[number] = checksum
            print(number, checksum, file=done, flush=True)
            os.fsync(done.fileno())
    return tuple(sums[number] for number in range(num_chunks))


_build: Build
"""What a worker process works on."""


def _start_worker(build: Build) -> None:
    """Take a build over, and end when the parent is gone: one that is killed cannot tell its workers.

    What they leave half written is made again: no line of `done.txt` vouches for it.
    """
    global _build
    _build = build

    def end_with_parent() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, name="end-with-parent", daemon=True).start()


def _write_chunk(number: int) -> int:
    return _build.write(number)


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
