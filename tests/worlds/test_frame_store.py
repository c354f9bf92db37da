"""Frame stores: random access, resumed builds, and what is said about damaged ones."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rapidtask.cities.city_graph import make_city
from rapidtask.errors import InputError
from rapidtask.views.frame_build import build_store, select_half_edges
from rapidtask.views.renderer import VERSION, RenderedFrames
from rapidtask.worlds.frame_store import CHUNK, FrameError, FrameStore


def long_street(num_nodes=220, name="long", shift=0.0):
    lat = 48.0 + 2e-4 * np.arange(num_nodes)
    edges = np.stack([np.arange(num_nodes - 1), np.arange(1, num_nodes)], axis=1)
    return make_city(name, lat + shift, np.full(num_nodes, 2.0), edges, source="a test", licence="CC0-1.0")


class Painted:
    """Frames that say which half-edge they are of; it can be told to fail, and counts what it made."""

    hour = None

    def __init__(self, city, fail_at=None):
        self.city, self.fail_at, self.made = city, fail_at, []

    def make(self, half_edges):
        if self.fail_at is not None and len(self.made) >= self.fail_at:
            raise KeyboardInterrupt
        self.made.append(int(half_edges[0]))
        return paint(half_edges)


def paint(half_edges):
    noise = np.random.default_rng(0).integers(0, 256, (84, 84, 3))
    return ((noise + np.asarray(half_edges)[:, None, None, None] * 7) % 256).astype(np.uint8)


def test_a_store_gives_the_frames_of_oriented_pieces(tmp_path):
    city = long_street()
    store = build_store(Painted(city), tmp_path)
    assert isinstance(store.frames, np.memmap)
    assert not store.frames.flags.writeable
    node, first = np.array([[5, 200], [-1, 6]]), np.array([[6, 199], [-1, 5]])
    ids = store.find(city, node, first)
    assert ids[1, 0] == -1
    for where in ((0, 0), (0, 1), (1, 1)):
        half_edge = int(store.half_edges[ids[where]])
        assert (city.tails[half_edge], city.neighbours[half_edge]) == (node[where], first[where])
        assert np.array_equal(store.frames[ids[where]], paint([half_edge])[0])
    assert np.array_equal(store.read(np.arange(len(store))), store.frames)
    info = json.loads((tmp_path / "long" / "store.json").read_text())
    assert (info["city"], info["streets"], info["licence"]) == ("long", "a test", "CC0-1.0")
    assert info["renderer"] == VERSION
    assert sorted(path.name for path in (tmp_path / "long").iterdir()) == [
        "frames.npy",
        "half_edges.npy",
        "store.json",
    ]


def test_an_interrupted_build_goes_on_where_it_stopped(tmp_path):
    city = long_street()
    with pytest.raises(KeyboardInterrupt):
        build_store(Painted(city, fail_at=2), tmp_path)
    assert not (tmp_path / "long").exists()
    rest = Painted(city)
    store = build_store(rest, tmp_path)
    assert rest.made == [2 * CHUNK, 3 * CHUNK]
    assert np.array_equal(store.frames, paint(np.arange(len(city.neighbours))))
    assert np.array_equal(store.read(np.arange(len(store))), store.frames)
    # Nothing is made again once it is complete.
    again = Painted(city)
    build_store(again, tmp_path)
    assert again.made == []


def test_a_chunk_that_was_not_written_to_its_end_is_made_again(tmp_path):
    city = long_street()
    with pytest.raises(KeyboardInterrupt):
        build_store(Painted(city, fail_at=3), tmp_path)
    chunk = tmp_path / "long.building" / "1.npy"
    chunk.rename(chunk.with_name(".1.npy.99.partial"))
    rest = Painted(city)
    store = build_store(rest, tmp_path)
    assert rest.made == [CHUNK, 3 * CHUNK]
    assert np.array_equal(store.frames, paint(np.arange(len(city.neighbours))))


def test_processes_render_the_same_as_one(tmp_path):
    city = long_street(66)  # the fewest that make more than one chunk
    one = build_store(RenderedFrames(city), tmp_path / "one")
    two = build_store(RenderedFrames(city), tmp_path / "two", workers=2)
    assert np.array_equal(one.frames, two.frames)
    assert one.info == two.info


SLOW_BUILD = """
import os, sys, time
from test_frame_store import Painted, long_street
from rapidtask.views.frame_build import build_store

class Slow(Painted):
    def make(self, half_edges):
        os.write(1, f"{os.getpid()}\\n".encode())
        time.sleep(600)

if __name__ == "__main__":
    build_store(Slow(long_street()), sys.argv[1], workers=2)
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    (tmp_path / "build.py").write_text(SLOW_BUILD)
    here = Path(__file__).parent
    paths = [str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "build.py"), str(tmp_path / "frames")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    workers: list[int] = []
    try:
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert len({*workers, parent.pid}) == 3
        parent.send_signal(signal.SIGKILL)
        # The workers share the parent's output: it ends when the last of them is gone.
        assert parent.communicate(timeout=60) == (b"", None)
        assert parent.returncode == -signal.SIGKILL
        workers = []
    finally:
        parent.kill()
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        parent.stdout.close()
        parent.wait()


def test_a_second_builder_is_kept_out(tmp_path):
    (tmp_path / "long.building").mkdir()
    lock = tmp_path / "long.building" / ".lock"
    code = (
        f"import fcntl, sys; f = open({str(lock)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InputError, match=r"long.building: another process is writing there"):
            build_store(Painted(long_street()), tmp_path)
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
    # The lock of a process that is gone holds nobody up.
    assert len(build_store(Painted(long_street()), tmp_path)) == 438


def test_junction_stores_say_what_they_lack(tmp_path):
    city = long_street()
    assert select_half_edges(city, "junctions").tolist() == [0, len(city.neighbours) - 1]
    store = build_store(Painted(city), tmp_path, which="junctions")
    assert store.find(city, np.array([0]), np.array([1])).tolist() == [0]
    with pytest.raises(FrameError, match=r"no view from node 5 to 6.*--which all"):
        store.find(city, np.array([5]), np.array([6]))
    with pytest.raises(FrameError, match="no street leads from node 5 to 9"):
        store.find(city, np.array([5]), np.array([9]))


def test_other_frames_in_the_place_are_refused(tmp_path):
    build_store(Painted(long_street()), tmp_path)
    with pytest.raises(FrameError, match="holds other frames already"):
        build_store(Painted(long_street(shift=0.001)), tmp_path)
    with pytest.raises(FrameError, match="another street graph than long"):
        FrameStore(tmp_path / "long").find(long_street(shift=0.001), np.array([0]), np.array([1]))
    other = long_street(name="second")
    with pytest.raises(KeyboardInterrupt):
        build_store(Painted(other, fail_at=1), tmp_path)
    with pytest.raises(FrameError, match="unfinished build of other frames"):
        build_store(Painted(other), tmp_path, which="junctions")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda path: (path / "store.json").unlink(), "not a frame store"),
        (lambda path: (path / "store.json").write_text("{"), "cannot be read"),
        (lambda path: (path / "store.json").write_text("[1]"), "format is 'list'"),
        (lambda path: (path / "store.json").write_text('{"format": "other 9"}'), "format is 'other 9'"),
        (lambda path: edit(path, "num_frames", -3), "num_frames is -3"),
        (lambda path: edit(path, "licence", None), "no field 'licence'"),
        (lambda path: edit(path, "num_frames", 10), "but store.json says"),
        (lambda path: (path / "frames.npy").unlink(), "frames.npy: missing"),
        (lambda path: cut(path / "frames.npy"), "is it cut off"),
        (lambda path: cut(path / "half_edges.npy"), "is it cut off"),
        (lambda path: (path / "frames.npy").write_bytes(b"rubbish" * 100), "cannot be read"),
    ],
)
def test_damage_is_named(tmp_path, spoil, problem):
    path = build_store(Painted(long_street(70)), tmp_path).path
    spoil(path)
    with pytest.raises(FrameError, match=problem) as caught:
        FrameStore(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_changed_pixels_are_found(tmp_path):
    store = build_store(Painted(long_street()), tmp_path)
    frames = np.lib.format.open_memmap(store.path / "frames.npy", "r+")
    frames[CHUNK + 5, 3, 4] ^= 1
    frames.flush()
    again = FrameStore(store.path)
    assert len(again.read(np.array([CHUNK - 1, 2 * CHUNK]))) == 2
    with pytest.raises(FrameError, match=f"frames {CHUNK} to {2 * CHUNK - 1} are damaged"):
        again.read(np.array([CHUNK + 9]))


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FrameError, match="cannot be written"):
        build_store(Painted(long_street(70)), tmp_path / "file")


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def edit(path, name, value):
    info = json.loads((path / "store.json").read_text())
    info[name] = value
    if value is None:
        del info[name]
    (path / "store.json").write_text(json.dumps(info))
