import json
import os
import re
import shlex
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rapidtask.cli import main
from rapidtask.commands.parsing import parse
from rapidtask.errors import InputError
from rapidtask.learning.config import FAST
from rapidtask.learning.trainer import Trainer
from rapidtask.runs.agent_files import AGENT_FILE, CHECKPOINTS, load_agent
from rapidtask.runs.checkpoint import checkpoint_path, list_checkpoints, named_arrays
from rapidtask.runs.logs import read_log
from rapidtask.runs.provenance import training_command
from rapidtask.runs.run import run
from tiny_training import OPTIONS, tiny_run

ITERATIONS = 7
CONFIG = tiny_run(ITERATIONS)


@pytest.fixture(scope="module")
def compile_once():
    """Runs with the same options share a trainer, which has no state: only the first waits for the compiler.

    (A resumed run with a trainer of its own is in test_training_worlds.py.)
    """
    made = {}

    def make(environment, agent, learning, **rest):
        key = (agent, learning, *rest.values())
        return made.get(key) or made.setdefault(key, Trainer(environment, agent, learning, **rest))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rapidtask.runs.run.Trainer", make)
        yield


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


def test_a_run_that_is_stopped_then_crashes_and_is_damaged_goes_on_bit_for_bit(
    uninterrupted, tmp_path, capsys
):
    class Crash(Exception):
        pass

    def stop(progress):
        if progress.iteration == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    def crash(progress):
        if progress.iteration == 5:
            raise Crash

    result = run(CONFIG, tmp_path, OPTIONS, show=stop)
    assert result.stopped_by == signal.SIGTERM
    assert result.checkpoint == checkpoint_path(tmp_path / CHECKPOINTS, 3)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with pytest.raises(InputError, match="holds a run already; resume it with --resume"):
        run(CONFIG, tmp_path, OPTIONS)
    with pytest.raises(InputError, match="written with --seed 0, not 1"):
        run(replace(CONFIG, seed=1), tmp_path, OPTIONS, resume=True)
    with pytest.raises(Crash):
        run(CONFIG, tmp_path, OPTIONS, show=crash, resume=True)
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"iteration": 6, "ste')  # cut short by the crash
    damaged = checkpoint_path(tmp_path / CHECKPOINTS, 4)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    # A run resumed from before a damaged checkpoint keeps what it writes, and mends the damaged one.
    assert run(CONFIG, tmp_path, replace(OPTIONS, keep=1), resume=True).stopped_by is None
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
    longer = ["--world.episode-steps", "20", "--policy", "oracle"]
    results = evaluate(capsys, "--checkpoint", str(uninterrupted), "--greedy", *longer)
    assert [result["policy"] for result in results["policies"]] == [
        f"epn ({uninterrupted.name}, greedy)",
        "oracle",
    ]
    assert {result["world"]["episode_steps"] for result in results["policies"]} == {20}


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


def fine_tune(source: Path, folder: Path, *flags: str) -> Any:
    return parse(["train", "--init-from", str(source), "--out", str(folder), *flags])


def test_a_run_starts_from_an_agent(uninterrupted, tmp_path):
    command = fine_tune(uninterrupted, tmp_path, "--seed", "3")
    assert (command.world, command.agent, command.learning) == (CONFIG.world, CONFIG.agent, FAST)
    assert (
        parse([*shlex.split(training_command(command.config()))[1:], "--out", "x"]).config()
        == command.config()
    )
    config = replace(command.config(), learning=CONFIG.learning, steps=CONFIG.steps, seed=CONFIG.seed)

    def stop(progress):
        os.kill(os.getpid(), signal.SIGTERM)

    run(config, tmp_path, OPTIONS, start_from=command.initial_agent(), show=stop)
    theirs = dict(named_arrays(load_agent(uninterrupted)[0]))
    first = dict(named_arrays(load_agent(checkpoint_path(tmp_path / CHECKPOINTS, 0))[0]))
    assert all(np.array_equal(theirs[name], first[name]) for name in theirs)
    assert json.loads((tmp_path / "config.json").read_text())["init_from"] == str(uninterrupted)
    # The run goes on without the agent that it started from.
    resumed = parse(["train", "--resume", "--out", str(tmp_path)])
    assert resumed.config() == config
    assert resumed.initial_agent() is None
    assert checkpoint_path(tmp_path / CHECKPOINTS, 1).exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--agent.width 32", "--agent.width 32: the agent of --init-from has 16"),
        ("--agent lstm", "--agent lstm: the agent of --init-from has epn"),
        ("--world.size 3", "this world has 5 and 9; --new-symbols lets it act there"),
        ("--world streetlearn", "was made for 5 actions and 4 observations; this world has 3 and 60"),
    ],
)
def test_an_agent_to_start_from_that_does_not_fit_is_refused(uninterrupted, tmp_path, flags, said):
    with pytest.raises(InputError, match=re.escape(said)):
        fine_tune(uninterrupted, tmp_path / "new", *flags.split()).initial_agent()


def test_an_agent_starts_from_a_smaller_world_or_by_its_name(uninterrupted, tmp_path):
    larger = fine_tune(uninterrupted, tmp_path, "--world.size", "3", "--new-symbols")
    assert larger.initial_agent().encoder().table.shape[0] == 9
    assert "--new-symbols" in training_command(larger.config())
    named = fine_tune(Path("epn-memory-planning"), tmp_path)
    assert named.config().init_from == "epn-memory-planning"
    assert named.initial_agent().config == named.agent
