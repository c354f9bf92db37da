"""Frame stores: the views of a city on disk, one frame per oriented street piece, read without loading.

A store is a directory of three files: `store.json` (what the frames are), `half_edges.npy` (which oriented
piece each is of, ascending) and `frames.npy` (uint8 `[F, 84, 84, 3]`), which is mapped into memory, so that
processes share it and read only what they use. `views/frame_build` writes them.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Int, UInt8

from rapidtask.cities.city_graph import CityGraph
from rapidtask.errors import InputError
from rapidtask.files import write_atomically
from rapidtask.worlds.streets import StreetPool

FRAME_SIZE = 84
"""Pixels a side of a frame."""
FORMAT = "rapidtask frame store 1"
CHUNK = 128
"""Frames written, and checked, at a time."""
FRAMES_PER_WORLD = 32
"""Room for so many frames per world, on average: pools of one size must have equal shapes, or each would be
compiled anew."""
INFO, HALF_EDGES, FRAMES = "store.json", "half_edges.npy", "frames.npy"


class FrameError(InputError):
    """A frame store that cannot be used; one line that names it and the problem."""


@dataclass(frozen=True)
class StoreInfo:
    """What is in a store."""

    city: str
    """Name of the city."""
    graph: str
    """Fingerprint of its street graph: frames of another graph are of other places."""
    source: str
    """What made the frames: "rendered"."""
    renderer: str
    """Version of what made the pixels."""
    which: str
    """"all" oriented pieces, or only those that leave "junctions" and dead ends."""
    hour: float | None
    """Hour of the day of the light."""
    streets: str
    """Where the streets come from."""
    licence: str
    """Licence of the frames, which follows the data they are made from."""
    num_frames: int
    frame_size: int = FRAME_SIZE
    checksums: tuple[int, ...] = ()
    """CRC-32 of each chunk of frames."""

    def same_views(self, other: StoreInfo) -> bool:
        """Whether two stores hold the same frames, finished or not."""
        return replace(self, checksums=()) == replace(other, checksums=())


class FrameStore:
    """A finished store, open for reading."""

    def __init__(self, path: str | Path) -> None:
        """Open a store; one that is damaged in a way that its size or header shows is refused."""
        self.path = Path(path)
        self.info = read_info(self.path)
        self.half_edges: Int[np.ndarray, " F"] = _load(self.path / HALF_EDGES)
        self.frames: UInt8[np.ndarray, "F 84 84 3"] = _load(self.path / FRAMES)
        size, count = self.info.frame_size, self.info.num_frames
        for name, array, dtype, shape in (
            (HALF_EDGES, self.half_edges, np.int32, (count,)),
            (FRAMES, self.frames, np.uint8, (count, size, size, 3)),
        ):
            if array.dtype != dtype or array.shape != shape:
                raise FrameError(
                    f"{self.path / name}: holds {array.dtype} {array.shape}, but {INFO} says "
                    f"{np.dtype(dtype)} {shape}"
                )

    def __len__(self) -> int:
        return self.info.num_frames

    def find(self, city: CityGraph, node: np.ndarray, first: np.ndarray) -> Int[np.ndarray, " ..."]:
        """Numbers of the frames seen at nodes toward their neighbours `first`; -1 where both are -1."""
        if graph_fingerprint(city) != self.info.graph:
            raise FrameError(f"{self.path}: made from another street graph than {city.name}; render it again")
        node, first = np.asarray(node), np.asarray(first)
        half_edge = half_edges_of(city, node, first)
        padding = half_edge < 0
        frame = np.minimum(np.searchsorted(self.half_edges, half_edge), len(self.half_edges) - 1)
        if (bad := np.argwhere((self.half_edges[frame] != half_edge) & ~padding)).size:
            where = tuple(bad[0])
            raise FrameError(
                f"{self.path}: no view from node {node[where]} to {first[where]}: the store has those of "
                f"{self.info.which!r}; render it with --which all"
            )
        return np.where(padding, -1, frame).astype(np.int32)

    def read(self, numbers: Int[np.ndarray, " K"]) -> UInt8[np.ndarray, "K 84 84 3"]:
        """The frames of these numbers; damage to them or to their chunks is named."""
        for chunk in np.unique(numbers // CHUNK).tolist():
            if (chunk_checksum(self.frames, chunk),) != self.info.checksums[chunk : chunk + 1]:
                first = chunk * CHUNK
                raise FrameError(
                    f"{self.path / FRAMES}: frames {first} to {min(first + CHUNK, len(self)) - 1} are damaged"
                )
        return np.asarray(self.frames[numbers])


def attach_frames(pool: StreetPool, directory: str | Path) -> StreetPool:
    """The pool with the frame of every state: the view at its node along its street.

    The directory holds frame stores, one per city, as `rapidtask cities render` writes them.
    """
    places = pool.places
    which = np.full(places.tail.shape, -1, np.int64)
    parts, total = [], 0
    for number in np.unique(places.city).tolist():
        city, worlds = places.cities[number], places.city == number
        store = FrameStore(Path(directory) / city.name)
        found = store.find(city, places.tail[worlds], places.first[worlds])
        # Worlds share streets: each frame is kept once.
        used = np.unique(found[found >= 0])
        which[worlds] = np.where(found >= 0, total + np.searchsorted(used, found), -1)
        parts.append(store.read(used))
        total += len(used)
    capacity = pool.num_worlds * FRAMES_PER_WORLD
    if total > capacity:
        capacity = places.tail.size
    frames = np.zeros((capacity, *parts[0].shape[1:]), np.uint8)
    np.concatenate(parts, out=frames[:total])
    return replace(pool, frames=jax.device_put(frames), frame_ids=jax.device_put(which.astype(np.int32)))


def half_edges_of(city: CityGraph, node: np.ndarray, first: np.ndarray) -> Int[np.ndarray, " ..."]:
    """Numbers of the half-edges from nodes to their neighbours; -1 where both are -1."""
    node, first = np.asarray(node, np.int64), np.asarray(first, np.int64)
    keys = city.tails.astype(np.int64) * city.num_nodes + city.neighbours
    order = np.argsort(keys)
    wanted = node * city.num_nodes + first
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    padding = (node < 0) & (first < 0)
    if (bad := np.argwhere((keys[order[at]] != wanted) & ~padding)).size:
        where = tuple(bad[0])
        raise FrameError(f"{city.name}: no street leads from node {node[where]} to {first[where]}")
    return np.where(padding, -1, order[at])


def chunk_checksum(frames: np.ndarray, number: int) -> int:
    """CRC-32 of one chunk."""
    return zlib.crc32(np.ascontiguousarray(frames[number * CHUNK : (number + 1) * CHUNK]).tobytes())


def graph_fingerprint(city: CityGraph) -> str:
    """A fingerprint of a street graph: places to about a centimetre, and who neighbours whom."""
    digest = hashlib.sha256()
    for array in (city.lat, city.lng):
        digest.update(np.round(array * 1e7).astype("<i8").tobytes())
    for array in (city.offsets, city.neighbours):
        digest.update(np.asarray(array, "<i4").tobytes())
    return digest.hexdigest()


def read_info(path: Path) -> StoreInfo:
    """Read what a store holds, and check it."""
    if not path.is_dir():
        made = f"`rapidtask cities render {path.name} --out {path.parent}` makes it"
        raise FrameError(f"{path}: no such frame store; {made}")
    try:
        values = json.loads((path / INFO).read_text())
    except FileNotFoundError:
        raise FrameError(f"{path}: not a frame store (it has no {INFO})") from None
    except (OSError, ValueError) as error:
        raise FrameError(f"{path / INFO}: cannot be read ({error})") from None
    path = path / INFO
    found = values.pop("format", None) if isinstance(values, dict) else type(values).__name__
    if found != FORMAT:
        raise FrameError(f"{path}: format is {found!r}, expected {FORMAT!r}")
    known = {field.name for field in fields(StoreInfo)}
    if wrong := sorted(known ^ values.keys()):
        raise FrameError(f"{path}: {'no' if wrong[0] in known else 'unknown'} field {wrong[0]!r}")
    for name in ("num_frames", "frame_size"):
        if not isinstance(values[name], int) or values[name] < 1:
            raise FrameError(f"{path}: {name} is {values[name]!r}, expected a whole number above 0")
    sums = values["checksums"]
    if not isinstance(sums, list) or not all(isinstance(value, int) for value in sums):
        raise FrameError(f"{path}: checksums is not a list of numbers")
    return StoreInfo(**{**values, "checksums": tuple(sums)})


def write_info(path: Path, info: StoreInfo) -> None:
    """Write a `store.json`, completely or not at all."""
    write_atomically(path / INFO, (json.dumps({"format": FORMAT, **asdict(info)}, indent=1) + "\n").encode())


def _load(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r")
    except FileNotFoundError:
        raise FrameError(f"{path}: missing") from None
    except (OSError, ValueError, EOFError) as error:
        raise FrameError(f"{path}: cannot be read, is it cut off? ({' '.join(str(error).split())})") from None
