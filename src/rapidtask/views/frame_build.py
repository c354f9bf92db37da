"""Building frame stores ahead of time: in parallel, with a progress bar, resumable after an interruption.

Chunks of frames are written to files of their own in `NAME.building`, each whole or not at all, so that those
that are there need not be made again. The store is put together from them and gets its name in one step: it
is complete or not there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import multiprocessing
import os
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int
from rich.console import Console
from rich.progress import track

from rapidtask.cities.city_graph import CityGraph
from rapidtask.files import lock_folder, write_atomically
from rapidtask.views.renderer import VERSION, RenderedFrames
from rapidtask.worlds.frame_store import (
    CHUNK,
    FRAME_SIZE,
    FRAMES,
    HALF_EDGES,
    INFO,
    FrameError,
    FrameStore,
    StoreInfo,
    chunk_checksum,
    graph_fingerprint,
    read_info,
    write_info,
)

Which = Literal["all", "junctions"]


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
        with lock_folder(build.folder):
            if (build.folder / INFO).exists() and not read_info(build.folder).same_views(info):
                raise FrameError(f"{build.folder}: an unfinished build of other frames; remove it first")
            write_info(build.folder, info)
            build.write_missing(workers, console)
            build.put_together(info).rename(final)
            shutil.rmtree(build.folder)
    except OSError as error:
        raise FrameError(f"{build.folder}: cannot be written ({error.strerror or error})") from error
    return FrameStore(final)


@dataclasses.dataclass(frozen=True)
class Build:
    """A store on its way."""

    folder: Path
    source: RenderedFrames
    half_edges: Int[np.ndarray, " F"]

    @property
    def chunks(self) -> range:
        """Numbers of the chunks."""
        return range(-(-len(self.half_edges) // CHUNK))

    def path(self, number: int) -> Path:
        """The file of a chunk."""
        return self.folder / f"{number}.npy"

    def write(self, number: int) -> None:
        """Make a chunk and put it on disk."""
        file = io.BytesIO()
        np.save(file, self.source.make(self.half_edges[number * CHUNK : (number + 1) * CHUNK]))
        write_atomically(self.path(number), file.getvalue())

    def write_missing(self, workers: int, console: Console | None) -> None:
        """Make the chunks that are not there."""
        missing = [number for number in self.chunks if not self.path(number).exists()]
        with contextlib.ExitStack() as stack:
            if workers > 1 and len(missing) > 1:
                # Spawned, not forked: JAX may have threads in this process.
                context = multiprocessing.get_context("spawn")
                pool = stack.enter_context(ProcessPoolExecutor(workers, context, _start_worker, (self,)))
                made = pool.map(_write_chunk, missing)
                # Whoever interrupts the build does not wait for what has not begun.
                stack.callback(pool.shutdown, cancel_futures=True)
            else:
                made = map(self.write, missing)
            done, shown = len(self.chunks) - len(missing), console is not None
            for _ in track(
                made, self.source.city.name, len(self.chunks), done, console=console, disable=not shown
            ):
                pass

    def put_together(self, info: StoreInfo) -> Path:
        """The finished store, still without its name."""
        store = self.folder / "store"
        store.mkdir(exist_ok=True)
        np.save(store / HALF_EDGES, self.half_edges)
        shape = (len(self.half_edges), FRAME_SIZE, FRAME_SIZE, 3)
        frames = np.lib.format.open_memmap(store / FRAMES, "w+", np.uint8, shape)
        for number in self.chunks:
            frames[number * CHUNK : (number + 1) * CHUNK] = np.load(self.path(number))
        frames.flush()
        sums = tuple(chunk_checksum(frames, number) for number in self.chunks)
        write_info(store, dataclasses.replace(info, checksums=sums))
        return store


_build: Build
"""What a worker process works on."""


def _start_worker(build: Build) -> None:
    """Take a build over, and end when the parent is gone: one that is killed cannot tell its workers."""
    global _build
    _build = build

    def end_with_parent() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, name="end-with-parent", daemon=True).start()


def _write_chunk(number: int) -> None:
    _build.write(number)
