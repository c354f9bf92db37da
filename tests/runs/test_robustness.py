"""What must not lose a run: two processes, a full disk, damaged files, other options, impatient users."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import pytest

from fake_runs import untrained
from rapidtask.cli import main
from rapidtask.commands import train
from rapidtask.commands.parsing import parse
from rapidtask.errors import InputError
from rapidtask.files import lock_folder, write_atomically
from rapidtask.runs.agent_files import load_agent, save_agent
from rapidtask.runs.checkpoint import list_checkpoints
from rapidtask.runs.logs import RunLog, read_log
from rapidtask.runs.run import RunOptions, RunResult, run
from rapidtask.runs.same_run import check_same_run
from rapidtask.runs.signals import collect_signals
from tiny_training import OPTIONS, tiny_run


def test_a_second_run_in_the_same_folder_is_refused(tmp_path):
    with lock_folder(tmp_path), pytest.raises(InputError, match="another process is writing there"):
        run(tiny_run(), tmp_path, OPTIONS)


def test_what_a_crash_left_half_written_is_removed(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / ".checkpoint-00000001.safetensors.77.partial").write_bytes(b"half")
    with lock_folder(tmp_path):
        assert not list((tmp_path / "checkpoints").iterdir())


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder") as error:
        write_atomically(tmp_path / "folder", b"data")
    assert error.value.filename == str(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full, of Linux")
def test_a_full_disk_delays_the_log_and_loses_nothing(tmp_path, capsys):
    log = RunLog(tmp_path, None)
    file = log._file
    log._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    log.write({"iteration": 1})
    assert "No space left on device" in capsys.readouterr().err
    with pytest.raises(OSError, match=r"log\.jsonl"):
        log.sync()
    log._file.close()
    log._file = file
    log.write({"iteration": 2})
    log.close()
    assert read_log(log.path) == [{"iteration": 1}, {"iteration": 2}]


def test_damaged_lines_of_a_log_are_passed_over(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"iteration": 1}\n\xff{"iter\n[3]\n{"iteration": 4}\n{"itera')
    assert read_log(path) == [{"iteration": 1}, {"iteration": 4}]


def test_a_copy_with_another_name_is_not_the_newest_checkpoint(tmp_path):
    for name in ("checkpoint-best", "checkpoint-00000007", "checkpoint-00000012"):
        (tmp_path / f"{name}.safetensors").touch()
    assert [path.stem for path in list_checkpoints(tmp_path)] == [
        "checkpoint-00000012",
        "checkpoint-00000007",
    ]


@pytest.mark.parametrize("options", [{"keep": 0}, {"checkpoint_every": 0}, {"evaluation_episodes": 0}])
def test_options_that_would_lose_the_run_are_refused_before_it(options):
    with pytest.raises(InputError, match="expected at least 1"):
        RunOptions(**options)


@pytest.mark.parametrize("options", [{"steps": 0}, {"steps": -1}, {"seed": 2**63}, {"seed": -1}])
def test_runs_of_nothing_are_refused(options):
    with pytest.raises(InputError):
        replace(tiny_run(), **options)


def noted(**changes) -> dict:
    made_with = {"sources": {"seinebank": "12ab"}, "jax": "0.9"}
    return replace(tiny_run(), **changes).to_json() | {"made_with": made_with}


def test_another_option_is_named_on_resume(tmp_path):
    theirs = noted()
    check_same_run(noted(), theirs, tmp_path)
    other = noted(learning=replace(tiny_run().learning, discount=0.5))
    with pytest.raises(InputError, match=r"was written with --learning.discount 0.9, not 0.5"):
        check_same_run(other, theirs, tmp_path)


def test_a_run_may_be_made_longer_but_not_shorter(tmp_path):
    steps = tiny_run().steps
    check_same_run(noted(steps=2 * steps), noted(), tmp_path)
    with pytest.raises(InputError, match="--steps was"):
        check_same_run(noted(), noted(steps=2 * steps), tmp_path)


@pytest.mark.parametrize("cities", [{}, {"seinebank": "99ff"}, {"seinebank": "12ab", "gridport": "1"}])
def test_other_streets_are_refused_on_resume(tmp_path, cities):
    ours = noted()
    ours["made_with"] = {"sources": cities, "jax": "0.9"}
    with pytest.raises(InputError, match=r"other worlds than those found now: (seinebank|gridport) differs"):
        check_same_run(ours, noted(), tmp_path)


def test_another_jax_is_warned_of(tmp_path, capsys):
    ours = noted()
    ours["made_with"] = ours["made_with"] | {"jax": "1.0"}
    check_same_run(ours, noted(), tmp_path)
    assert "written with JAX 0.9" in capsys.readouterr().err


def test_resume_takes_the_options_from_the_folder(tmp_path):
    config = replace(tiny_run(7), seed=5)
    (tmp_path / "config.json").write_text(json.dumps(config.to_json()))
    command = parse(["train", "--resume", "--out", str(tmp_path)])
    assert command.config() == config
    longer = parse(["train", f"--out={tmp_path}", "--resume", "--steps", "9999"])
    assert longer.config() == replace(config, steps=9999)


def test_resume_says_if_there_is_nothing_to_go_on_from(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(train, "split_cpu", lambda _: None)
    monkeypatch.setattr(train, "run_shown", lambda *_: RunResult(None, None, tmp_path))
    train.Train(out=tmp_path / "typo", resume=True).run()
    assert "no checkpoint in" in capsys.readouterr().err
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "checkpoint-00000001.safetensors").touch()
    train.Train(out=tmp_path, resume=True).run()
    assert not capsys.readouterr().err


def test_a_first_signal_is_answered_at_once(capfd):
    with collect_signals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until = time.monotonic() + 5
        while not signals and time.monotonic() < wait_until:
            time.sleep(0.01)
        assert signals == [signal.SIGTERM]
    assert "Stopping after this iteration" in capfd.readouterr().err


def test_a_second_signal_ends_even_a_process_that_does_not_listen():
    # A pause in C, as long as the compiler's: no handler of Python's runs meanwhile.
    program = (
        "import ctypes, os, signal, threading, time\n"
        "from rapidtask.runs.signals import collect_signals\n"
        "def interrupt():\n"
        "    for _ in range(2):\n"
        "        time.sleep(0.3)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "with collect_signals():\n"
        "    threading.Thread(target=interrupt, daemon=True).start()\n"
        "    end = time.monotonic() + 60\n"
        "    while time.monotonic() < end:\n"
        "        ctypes.CDLL(None).sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert done.returncode == 128 + signal.SIGINT
    assert "Stopped at once" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["train", "--out", "{file}"], ["train", "--out", "{file}/run"], ["demo", "--out", "{file}"]]
)
def test_an_impossible_folder_is_one_line(tmp_path, capsys, arguments):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SystemExit) as exit_:
        main([argument.format(file=file) for argument in arguments])
    assert exit_.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("rapidtask: error: ")
    assert str(file) in said


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    config = tiny_run()
    agent = untrained(config)
    broken = eqx.tree_at(lambda a: a.value.bias, agent, jnp.full_like(agent.value.bias, jnp.nan))
    save_agent(tmp_path / "agent.safetensors", broken, config)
    with pytest.raises(InputError, match=r"tensor 'value.bias' holds numbers that are not finite"):
        load_agent(tmp_path / "agent.safetensors")
