import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rapidtask.commands import train
from rapidtask.errors import InputError
from rapidtask.learning.trainer import share_of_device
from rapidtask.runs.agent_files import AGENT_FILE, CHECKPOINTS
from rapidtask.runs.checkpoint import list_checkpoints, read_checkpoint
from rapidtask.runs.distributed import parse
from rapidtask.runs.logs import read_log
from tiny_training import LEARNING

ROUNDING = 1e-4
"""Gradients of all steps at once are sums of the same terms in another order, however they are spread."""


@pytest.mark.parametrize(
    "spelled", ["", "localhost", "localhost,0,2", "localhost:x,0,2", "localhost:1,a,2", "localhost:1,0"]
)
def test_a_wrong_spelling_is_named(spelled):
    with pytest.raises(InputError, match=r"expected coordinator:port,process_id,num_processes or auto"):
        parse(spelled)


def test_a_process_beyond_the_last_is_refused():
    with pytest.raises(InputError, match="process_id 2 is not below num_processes 2"):
        parse("localhost:1,2,2")
    assert parse("10.0.0.1:1234,1,2") == ("10.0.0.1:1234", 1, 2)


def test_devices_share_environments_and_minibatches():
    share = share_of_device(LEARNING, 2)
    assert (share.num_envs, share.minibatch_size) == (4, 16)
    with pytest.raises(InputError, match="num_envs is 8, not a multiple of the 3 devices"):
        share_of_device(LEARNING, 3)
    with pytest.raises(InputError, match="minibatch_size is 30, not a multiple of the 4 devices"):
        share_of_device(replace(LEARNING, minibatch_size=30), 4)


def test_without_a_cluster_auto_says_so(tmp_path):
    command = [sys.executable, "-m", "rapidtask", "train", "--out", str(tmp_path), "--distributed", "auto"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--distributed auto: found no cluster in the environment's variables" in done.stderr
    assert "Traceback" not in done.stderr


LISTEN = """
import socket, sys
from rapidtask.runs.distributed import connect

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
connect(f"127.0.0.1:{port},0,1")
socket.create_connection(("127.0.0.1", port), timeout=5).close()
try:
    socket.create_connection(("127.0.0.2", port), timeout=5).close()
except ConnectionRefusedError:
    print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is not this machine")
def test_the_coordinator_listens_on_its_address_only():
    done = subprocess.run([sys.executable, "-c", LISTEN], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr


def test_a_lost_process_is_one_line(tmp_path, monkeypatch, capsys):
    """Leaving as usual, JAX would wait for the lost process and then abort."""

    def lose(*_):
        raise ValueError("UNKNOWN: Gloo AllGather failed: [pair.cc:538] Read error: Connection reset by peer")

    monkeypatch.setattr(train, "split_cpu", lambda _: None)
    monkeypatch.setattr(train, "run_shown", lose)
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as exit_:
        train.Train(out=tmp_path).run()
    assert exit_.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "lost another process of the run" in line


TWO_DEVICES = """
import json, sys
import jax
from tiny_training import LEARNING, LSTM, EPN, WHOLE_ROLLOUTS, WORLD, STEPS_PER_ITERATION
from dataclasses import replace
from rapidtask.learning.trainer import Trainer

devices = jax.devices()
assert len(devices) == 2

def metrics(agent, **options):
    environment = WORLD.make()
    config = replace(LEARNING, minibatch_size=STEPS_PER_ITERATION, **WHOLE_ROLLOUTS | options)
    trainer = Trainer(environment, agent, config, total_steps=5 * STEPS_PER_ITERATION, seed=0)
    state = trainer.init(environment)
    for _ in range(5):
        state, metrics = trainer.iterate(environment, state)
        yield {name: float(value) for name, value in metrics.items()}

two = list(metrics(LSTM))
jax.devices = lambda: devices[:1]
print(json.dumps({"two": two, "one": list(metrics(LSTM))}))
"""


@pytest.mark.slow
def test_two_devices_learn_as_one_does():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES],
        capture_output=True,
        text=True,
        env={**os.environ, **flags, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert len(results["one"]) == len(results["two"]) == 5
    for one, two in zip(results["one"], results["two"], strict=True):
        assert two == pytest.approx(one, rel=ROUNDING, abs=ROUNDING)
    assert results["one"][0]["loss"] != results["one"][-1]["loss"]


TRAIN = [
    *("train", "--world.size", "2", "--world.episode-steps", "12", "--learning.num-envs", "8"),
    *("--agent.width", "16", "--agent.iterations", "1", "--run-options.checkpoint-every", "3"),
    *("--run-options.evaluate-every", "5", "--run-options.evaluation-episodes", "8"),
]
FULL_BATCH = ["--learning.minibatch-size", "104", "--learning.optimiser", "adam"]
FULL_BATCH += ["--learning.learned-share", "None", "--learning.ratio-clip", "None"]


class Trained:
    """One run of so many processes on this machine."""

    def __init__(self, folder: Path, cache: Path, processes: int, *flags: str):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        self.folder = folder
        self.processes = [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "rapidtask", *TRAIN, *flags, "--out", str(folder)),
                    *(("--distributed", f"localhost:{port},{n},{processes}") if processes > 1 else ()),
                ],
                env={**os.environ, "XDG_CACHE_HOME": str(cache), "JAX_PLATFORMS": "cpu"},
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
            )
            for n in range(processes)
        ]

    @property
    def log(self) -> list[dict]:
        records = read_log(self.folder / "log.jsonl")
        return [{k: v for k, v in record.items() if k != "seconds"} for record in records]

    def wait(self, code: int = 0) -> list[str]:
        """Wait for the end; what each process said on standard error."""
        errors = [process.communicate()[1] for process in self.processes]
        assert [process.returncode for process in self.processes] == [code] * len(errors), errors
        return errors


@pytest.mark.slow
def test_two_processes_learn_as_one_does(tmp_path):
    cache, flags = tmp_path / "cache", [*FULL_BATCH, "--steps", str(12 * 104)]
    two = Trained(tmp_path / "two", cache, 2, *flags)
    two.wait()
    one = Trained(tmp_path / "one", cache, 1, *flags)
    one.wait()
    assert len(one.log) == len(two.log) == 12
    for ours, theirs in zip(one.log, two.log, strict=True):
        assert theirs == pytest.approx(ours, rel=ROUNDING, abs=ROUNDING)
    ours, _ = read_checkpoint(one.folder / AGENT_FILE)
    theirs, _ = read_checkpoint(two.folder / AGENT_FILE)
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert theirs[name] == pytest.approx(tensor, rel=1e-3, abs=1e-3)
    newest = [list_checkpoints(run.folder / CHECKPOINTS)[0] for run in (one, two)]
    shapes = [{name: t.shape for name, t in read_checkpoint(path)[0].items()} for path in newest]
    assert shapes[0] == shapes[1]


@pytest.mark.slow
def test_two_processes_stop_together_and_go_on_bit_for_bit(tmp_path):
    """A signal to one process stops both; minibatches are shuffled, as in the fast recipe."""
    cache, flags = tmp_path / "cache", ["--learning.minibatch-size", "32", "--steps", str(60 * 104)]
    whole = Trained(tmp_path / "whole", cache, 2, *flags)
    whole.wait()
    stopped = Trained(tmp_path / "stopped", cache, 2, *flags)
    while len(stopped.log) < 4 and all(process.poll() is None for process in stopped.processes):
        time.sleep(0.01)
    stopped.processes[1].send_signal(signal.SIGTERM)
    errors = stopped.wait(128 + signal.SIGTERM)
    assert all("Go on with:" in error for error in errors)
    assert 4 <= len(stopped.log) < 60
    Trained(stopped.folder, cache, 2, *flags, "--resume").wait()
    assert stopped.log == whole.log
    assert (stopped.folder / AGENT_FILE).read_bytes() == (whole.folder / AGENT_FILE).read_bytes()
