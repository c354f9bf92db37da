"""A run in lives whose learner and whose processes are killed ends with the bytes of one left in peace."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rapidtask.runs.agent_files import AGENT_FILE
from rapidtask.runs.logs import read_log

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
TRAIN = """
    train --world gymnasium --world.id ring_env:make --world.goal ring_env:goal
    --world.num-observations 5 --world.episode-steps 12 --steps 5760
    --learning.num-envs 8 --learning.minibatch-size 32 --learning.lag 1
    --agent.width 16 --agent.iterations 1 --agent.learned-iterations None
    --run-options.checkpoint-every 1 --run-options.evaluate-every 0 --run-options.evaluation-episodes 4
"""
"""60 iterations of 8 lives of 12 steps, each followed by a checkpoint."""


def start_training(folder: Path, *flags: str) -> subprocess.Popen:
    """Begin, or go on with, a run; in a process group of its own."""
    command = [sys.executable, "-m", "rapidtask", *shlex.split(TRAIN), "--out", str(folder), *flags]
    return subprocess.Popen(command, cwd=TESTS, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def wait_for(folder: Path, process: subprocess.Popen, records: int) -> None:
    """Until the run has logged so many iterations."""
    while process.poll() is None and len(read_log(folder / "log.jsonl")) < records:
        time.sleep(0.02)


def children(process: subprocess.Popen) -> list[int]:
    """Processes that step environments."""
    found = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"], capture_output=True, text=True
    )
    return [int(number) for number in found.stdout.split()]


def test_killed_learners_and_processes_lose_nothing_but_the_rollout_under_way(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = start_training(whole)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    for records in (5, 20):
        process = start_training(killed, "--resume")
        wait_for(killed, process, records)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    process = start_training(killed, "--resume")
    wait_for(killed, process, 30)
    workers = children(process)
    assert len(workers) == 2
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert (killed / AGENT_FILE).read_bytes() == (whole / AGENT_FILE).read_bytes()
    iterations = [record["iteration"] for record in read_log(killed / "log.jsonl")]
    assert iterations == list(range(1, 61))
