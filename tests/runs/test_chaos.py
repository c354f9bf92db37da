"""Runs that are killed, starved of disk and doubled end with the bytes of one that was left in peace."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from rapidtask.runs.agent_files import AGENT_FILE, CHECKPOINTS
from rapidtask.runs.checkpoint import checkpoint_path, list_checkpoints, read_latest
from rapidtask.runs.logs import read_log

pytestmark = pytest.mark.slow

ITERATIONS, KILLS = 150, 20
TRAIN = [
    *("train", "--world.size", "2", "--world.episode-steps", "12"),
    *("--learning.num-envs", "8", "--learning.minibatch-size", "32", "--agent.width", "16"),
    *("--agent.iterations", "1", "--agent.learned-iterations", "None"),
    *("--run-options.checkpoint-every", "1", "--run-options.evaluate-every", "10"),
    *("--run-options.evaluation-episodes", "8"),
]


def start_training(folder: Path, *flags: str, iterations: int = ITERATIONS) -> subprocess.Popen:
    arguments = [*TRAIN, "--out", str(folder), "--steps", str(iterations * 8 * 13), *flags]
    command = [sys.executable, "-m", "rapidtask", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def wait_until(process: subprocess.Popen, seen: Callable[[], bool]) -> None:
    while process.poll() is None and not seen():
        time.sleep(0.01)


def num_records(folder: Path) -> int:
    return len(read_log(folder / "log.jsonl"))


def finish(process: subprocess.Popen, code: int = 0) -> str:
    """What a process said; no checkpoint may have been found damaged."""
    _, errors = process.communicate()
    assert process.returncode == code, errors
    assert "passing over" not in errors
    return errors


def refusal(errors: str) -> str:
    """The one line that a command ended with; a traceback would be more."""
    usual = ("Compiling", "steps ", "rapidtask: [", "--resume: no checkpoint in ")
    said = [line for line in errors.splitlines() if not line.startswith(usual)]
    assert len(said) == 1, errors
    return said[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that was left in peace."""
    folder = tmp_path_factory.mktemp("whole")
    finish(start_training(folder))
    return folder


def assert_same_run(folder: Path, whole: Path) -> None:
    timeless = [
        [{k: v for k, v in record.items() if k != "seconds"} for record in read_log(f / "log.jsonl")]
        for f in (folder, whole)
    ]
    assert timeless[0] == timeless[1]
    last = checkpoint_path(Path(CHECKPOINTS), ITERATIONS)
    for name in (AGENT_FILE, last):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()
    assert not list(folder.rglob("*.partial"))


def test_killed_twenty_times(whole, tmp_path):
    chance = random.Random(1)
    for kill in range(KILLS):
        started = time.monotonic()
        process = start_training(tmp_path, "--resume")
        if kill % 2:  # After a few more iterations, at any point of the next.
            target = num_records(tmp_path) + chance.randrange(1, 12)
            wait_until(process, lambda target=target: num_records(tmp_path) >= target)
            time.sleep(chance.random() * 0.1)
            to_start = time.monotonic() - started
        else:  # While it starts, reads the checkpoint, compiles, or has just begun.
            until = started + chance.random() * (to_start if kill else 5.0)
            most = num_records(tmp_path) + 2  # However slow the start before it was.
            wait_until(
                process,
                lambda until=until, most=most: time.monotonic() > until or num_records(tmp_path) >= most,
            )
        process.send_signal(signal.SIGKILL)
        finish(process, -signal.SIGKILL)
    assert 0 < num_records(tmp_path) < ITERATIONS
    finish(start_training(tmp_path, "--resume"))
    assert_same_run(tmp_path, whole)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own with 4 MB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"no small disk can be mounted: {done.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


def test_a_disk_that_fills_up_and_is_freed(whole, small_disk):
    folder = small_disk / "run"
    for fullness in range(2):
        process = start_training(folder, "--resume")
        before = num_records(folder)
        wait_until(process, lambda before=before: num_records(folder) >= before + 3)
        filler = fill(small_disk)
        said = refusal(finish(process, 2))
        assert said.startswith(f"rapidtask: error: {folder}"), said
        assert said.endswith("No space left on device"), said
        found = read_latest(folder / CHECKPOINTS)
        assert found is not None
        if fullness:  # A run that starts while the disk is full leaves what there is.
            assert "No space left on device" in refusal(finish(start_training(folder, "--resume"), 2))
        filler.unlink()
    finish(start_training(folder, "--resume"))
    assert_same_run(folder, whole)


def test_a_second_training_in_the_same_folder(whole, tmp_path):
    first = start_training(tmp_path)
    wait_until(first, lambda: num_records(tmp_path) >= 1)
    first.send_signal(signal.SIGSTOP)  # It must not be done before the second has begun.
    said = refusal(finish(start_training(tmp_path, "--resume"), 2))
    first.send_signal(signal.SIGCONT)
    assert said == f"rapidtask: error: {tmp_path}: another process is writing there; choose another --out"
    finish(first)
    assert_same_run(tmp_path, whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_write_a_checkpoint_and_say_how_to_go_on(tmp_path, number):
    folder = tmp_path / "run"
    process = start_training(folder, iterations=100_000)
    wait_until(process, lambda: num_records(folder) >= 2)
    process.send_signal(number)
    errors = finish(process, 128 + number)
    newest = list_checkpoints(folder / CHECKPOINTS)[0]
    assert newest == checkpoint_path(folder / CHECKPOINTS, num_records(folder))
    assert f"Checkpoint: {newest}" in errors
    assert errors.rstrip().endswith(f"Go on with: rapidtask train --resume --out {folder}")
