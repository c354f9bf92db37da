import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

from rapidtask.cli import main
from rapidtask.errors import InputError
from rapidtask.runs.agent_files import AGENT_FILE, CHECKPOINTS
from rapidtask.runs.checkpoint import checkpoint_path, list_checkpoints
from rapidtask.runs.logs import read_log
from rapidtask.runs.run import run
from tiny_training import OPTIONS, tiny_run

ITERATIONS = 7
CONFIG = tiny_run(ITERATIONS)


@pytest.fixture(scope="module")
def compile_once(tmp_path_factory):
    """Every run of this module is the same program: only the first one waits for the compiler."""
    options = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("xla")),
        "jax_persistent_cache_min_compile_time_secs": 0.1,
    }
    before = {name: getattr(jax.config, name) for name in options}
    for name, value in options.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.fixture(scope="module")
def uninterrupted(compile_once, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert run(CONFIG, folder, OPTIONS).stopped_by is None
    return folder


def timeless(folder: Path) -> list[dict]:
    """The log without how long it took."""
    return [{k: v for k, v in record.items() if k != "seconds"} for record in read_log(folder / "log.jsonl")]


def assert_same_run(folder: Path, other: Path):
    assert timeless(folder) == timeless(other)
    assert (folder / AGENT_FILE).read_bytes() == (other / AGENT_FILE).read_bytes()
    newest, other_newest = (list_checkpoints(f / CHECKPOINTS)[0] for f in (folder, other))
    assert newest.name == other_newest.name
    assert newest.read_bytes() == other_newest.read_bytes()


def test_the_log_has_every_iteration_and_the_evaluations(uninterrupted):
    records = read_log(uninterrupted / "log.jsonl")
    assert [record["iteration"] for record in records] == list(range(1, ITERATIONS + 1))
    assert [r["iteration"] for r in records if "evaluation_goals_per_episode" in r] == [3, 6, 7]
    assert [path.name for path in list_checkpoints(uninterrupted / CHECKPOINTS)] == [
        f"checkpoint-0000000{n}.safetensors" for n in (7, 6, 4)
    ]


def test_a_run_stopped_by_a_signal_goes_on_bit_for_bit(uninterrupted, tmp_path):
    def stop(progress):
        if progress.iteration == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    result = run(CONFIG, tmp_path, OPTIONS, show=stop)
    assert result.stopped_by == signal.SIGTERM
    assert result.checkpoint == checkpoint_path(tmp_path / CHECKPOINTS, 3)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with pytest.raises(InputError, match="holds a run already; resume it with --resume"):
        run(CONFIG, tmp_path, OPTIONS)
    with pytest.raises(InputError, match="written with --seed 0, not 1"):
        run(replace(CONFIG, seed=1), tmp_path, OPTIONS, resume=True)
    assert run(CONFIG, tmp_path, OPTIONS, resume=True).stopped_by is None
    assert_same_run(tmp_path, uninterrupted)


def test_a_crash_and_a_damaged_checkpoint_lose_no_more_than_the_work_since(uninterrupted, tmp_path, capsys):
    class Crash(Exception):
        pass

    def crash(progress):
        if progress.iteration == 5:
            raise Crash

    with pytest.raises(Crash):
        run(CONFIG, tmp_path, OPTIONS, show=crash)
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"iteration": 6, "ste')  # cut short by the crash
    damaged = checkpoint_path(tmp_path / CHECKPOINTS, 4)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    # A run resumed from before a damaged checkpoint keeps what it writes, and mends the damaged one.
    run(CONFIG, tmp_path, replace(OPTIONS, keep=1), resume=True)
    assert f"passing over {damaged}" in capsys.readouterr().err
    assert_same_run(tmp_path, uninterrupted)
    assert len(list_checkpoints(tmp_path / CHECKPOINTS)) == 1
    # A run that is finished has nothing left to do.
    run(CONFIG, tmp_path, OPTIONS, resume=True)
    assert_same_run(tmp_path, uninterrupted)


def evaluate(capsys, *arguments: str) -> dict:
    main(["evaluate", *arguments, "--episodes", "8", "--json"])
    return json.loads(capsys.readouterr().out)


def test_the_trained_agent_is_evaluated_in_its_own_world(uninterrupted, capsys):
    from_run = evaluate(capsys, "--checkpoint", str(uninterrupted))
    assert from_run["policy"] == f"epn ({uninterrupted.name})"
    assert (from_run["world"]["size"], from_run["world"]["episode_steps"]) == (2, 12)
    from_file = evaluate(capsys, f"--checkpoint={uninterrupted / AGENT_FILE}")
    assert from_file == from_run
    results = evaluate(capsys, "--checkpoint", str(uninterrupted), "--greedy", "--policy", "oracle")
    assert [result["policy"] for result in results["policies"]] == [
        f"epn ({uninterrupted.name}, greedy)",
        "oracle",
    ]
    longer = evaluate(capsys, "--checkpoint", str(uninterrupted), "--world.episode-steps", "20")
    assert longer["world"]["episode_steps"] == 20


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "--checkpoint {run} --world.size 3",
            "made for 5 actions and 4 observations; this world has 5 and 9",
        ),
        ("--checkpoint {run}/log.jsonl", "log.jsonl: damaged, not a whole checkpoint"),
        ("--checkpoint {run}/nothing", "nothing: there is no such checkpoint"),
        ("--checkpoint {run}/..", "..: holds no whole checkpoint"),
        ("--greedy", "--greedy is about a trained agent; it needs a --checkpoint"),
    ],
)
def test_what_cannot_be_evaluated_is_named(uninterrupted, capsys, arguments, said):
    with pytest.raises(SystemExit) as exit_:
        main(["evaluate", *arguments.format(run=uninterrupted).split()])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


TRAIN = [
    *("train", "--world.size", "2", "--world.episode-steps", "12"),
    *("--learning.num-envs", "8", "--learning.minibatch-size", "32", "--agent.width", "16"),
    *("--agent.iterations", "1", "--run-options.checkpoint-every", "1", "--run-options.evaluate-every", "10"),
    *("--run-options.evaluation-episodes", "8"),
]


def start_training(folder: Path, cache: Path, iterations: int, *flags: str) -> subprocess.Popen:
    arguments = [*TRAIN, "--out", str(folder), "--steps", str(iterations * 8 * 13), *flags]
    return subprocess.Popen(
        [sys.executable, "-m", "rapidtask", *arguments],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def wait_for_records(process: subprocess.Popen, folder: Path, number: int) -> None:
    while process.poll() is None and len(read_log(folder / "log.jsonl")) < number:
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_many_times_a_run_ends_as_if_it_had_not_been(tmp_path):
    iterations, kills = 150, 10
    cache, whole, killed = (tmp_path / name for name in ("cache", "whole", "killed"))
    process = start_training(whole, cache, iterations)
    assert process.communicate()[0] is None
    assert process.returncode == 0
    chance = random.Random(1)
    for kill in range(kills):
        process = start_training(killed, cache, iterations, "--resume")
        # Once before it has done anything, otherwise after a few iterations and at any point of the next.
        if kill:
            target = len(read_log(killed / "log.jsonl")) + chance.randrange(1, 12)
            wait_for_records(process, killed, target)
        time.sleep(chance.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        assert "passing over" not in errors
    assert 0 < len(read_log(killed / "log.jsonl")) < iterations
    process = start_training(killed, cache, iterations, "--resume")
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "passing over" not in errors
    assert_same_run(killed, whole)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_write_a_checkpoint_and_say_how_to_go_on(tmp_path, number):
    folder = tmp_path / "run"
    process = start_training(folder, tmp_path / "cache", 100_000)
    wait_for_records(process, folder, 2)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 128 + number, errors
    newest = list_checkpoints(folder / CHECKPOINTS)[0]
    assert newest == checkpoint_path(folder / CHECKPOINTS, len(read_log(folder / "log.jsonl")))
    assert f"Checkpoint: {newest}" in errors
    assert f"rapidtask {' '.join(TRAIN)} --out {folder} --steps" in errors
    assert errors.rstrip().endswith("--resume")
