import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rapidtask.errors import InputError
from rapidtask.learning.checkpoint import list_checkpoints
from rapidtask.learning.config import PAPER
from rapidtask.learning.run_config import run_config_from_json
from rapidtask.sweeps.search import NUM_RANDOM_FIRST, propose
from rapidtask.sweeps.space import Choice, Interval, search_space, with_options
from rapidtask.sweeps.sweep import MAX_RESTARTS, SweepOptions, run_sweep, trial_folder
from rapidtask.sweeps.table import SweepTable, Trial
from rapidtask.sweeps.workers import Finished
from tiny_training import OPTIONS, tiny_run

CONFIG = tiny_run(3)
SPACE = search_space(CONFIG)


def test_the_space_fits_the_configuration():
    assert SPACE["learning.learning_rate"] == Interval(1e-3, 2e-2)
    assert SPACE["agent.num_heads"] == Choice((1, 2, 4))
    assert "learning.rollout_steps" not in SPACE


def test_the_paper_s_table_is_searched_with_its_recipe():
    config = replace(CONFIG, learning=PAPER, recipe="paper")
    space = search_space(config)
    assert space["learning.learning_rate"] == Interval(1e-5, 4e-4)
    assert space["learning.entropy"] == Interval(1e-3, 1e-2)
    assert space["learning.rollout_steps"] == Choice((10, 20, 40))
    # Mini-batches are counted in unrolls there, and in steps here.
    point = {"learning.minibatch_size": 128, "learning.rollout_steps": 10}
    learning = with_options(config, point).learning
    assert (learning.minibatch_size, learning.num_envs) == (1280, 128)
    muon = search_space(replace(config, learning=replace(PAPER, optimiser="muon")))
    assert muon["learning.learning_rate"] == Interval(1e-3, 2e-2)


def test_random_points_cover_the_space_and_depend_on_the_trial_alone():
    points = [propose("random", SPACE, 0, trial, []) for trial in range(200)]
    assert points[7] == propose("random", SPACE, 0, 7, [(points[0], 1.0)])
    assert points[7] != propose("random", SPACE, 1, 7, [])
    for name, values in SPACE.items():
        drawn = [point[name] for point in points]
        if isinstance(values, Choice):
            assert set(drawn) == set(values.values)
        else:
            assert values.low <= min(drawn) < 1.2 * values.low
            assert values.high / 1.2 < max(drawn) <= values.high
            # Uniform in the logarithm: half of the points are below the geometric mean.
            below = sum(value < (values.low * values.high) ** 0.5 for value in drawn)
            assert 70 < below < 130


def test_the_bayesian_search_goes_where_scores_are_high():
    pytest.importorskip("optuna")
    tried = [propose("random", SPACE, 0, trial, []) for trial in range(40)]
    finished = [(point, -abs(point["learning.learning_rate"] - 5e-3)) for point in tried]
    proposed = [propose("bayes", SPACE, 0, trial, finished) for trial in range(40, 60)]
    assert proposed[0] == propose("bayes", SPACE, 0, 40, finished)
    close = sum(3e-3 < point["learning.learning_rate"] < 8e-3 for point in proposed)
    by_chance = sum(3e-3 < point["learning.learning_rate"] < 8e-3 for point in tried) / 2
    assert close > max(14, by_chance)
    first = [propose("bayes", SPACE, 0, trial, []) for trial in range(NUM_RANDOM_FIRST)]
    assert len({point["learning.learning_rate"] for point in first}) == NUM_RANDOM_FIRST


def test_a_point_becomes_a_configuration():
    point = {"learning.learning_rate": 2e-3, "learning.entropy": 0.1, "agent.num_heads": 2}
    config = with_options(CONFIG, point)
    assert (config.learning.learning_rate, config.agent.num_heads) == (2e-3, 2)
    # The schedule of the entropy's weight keeps its shape.
    ratio = CONFIG.learning.entropy_end / CONFIG.learning.entropy
    assert (config.learning.entropy, config.learning.entropy_end) == (0.1, pytest.approx(0.1 * ratio))
    assert with_options(CONFIG, {}) == CONFIG


class PretendWorkers:
    """Trials that end at once, with a log; the learning rate is the score."""

    def __init__(self, exit_codes: dict[int, list[int]] | None = None, dies_after: int | None = None):
        self.started: list[int] = []
        self.stopped = False
        self._exit_codes = exit_codes or {}
        self._ended: list[tuple[int, Path]] = []
        self._dies_after = dies_after

    def start(self, trial: int, folder: Path) -> None:
        if self._dies_after == len(self.started):
            raise KeyboardInterrupt
        self.started.append(trial)
        self._ended.append((trial, folder))

    def finished(self):
        trial, folder = self._ended.pop(0)
        codes = self._exit_codes.get(trial, [])
        code = codes.pop(0) if codes else 0
        score = json.loads((folder / "trial.json").read_text())["options"]["learning.learning_rate"]
        record = {"iteration": 3, "steps": 312, "seconds": 1.0, "evaluation_goals_per_episode": score}
        line = json.dumps(record | {"evaluation_oracle_share_last_third": "nan"}) + "\n"
        (folder / "log.jsonl").write_text(line)
        (folder / "stderr.txt").write_text("first line\nwhy it failed\n" if code else "")
        yield Finished(trial, code)

    def stop(self) -> None:
        self.stopped = True


def pretend(folder: Path, workers: PretendWorkers, num_trials: int = 4, **options) -> SweepTable:
    config = options.pop("config", CONFIG)
    result = run_sweep(
        config,
        folder,
        SweepOptions(**options),
        OPTIONS,
        workers,
        num_trials=num_trials,
        side_by_side=2,
    )
    assert workers.stopped
    return result.table


def test_results_are_one_table_with_the_best_configuration(tmp_path):
    table = pretend(tmp_path, PretendWorkers())
    ranked = list(csv.DictReader((tmp_path / "sweep.csv").read_text().splitlines()))
    scores = [float(row["score"]) for row in ranked]
    assert len(ranked) == 4
    assert scores == sorted(scores, reverse=True)
    assert scores == [float(row["learning.learning_rate"]) for row in ranked]
    best = run_config_from_json(json.loads((tmp_path / "best.json").read_text()))
    assert table.best is not None
    assert best.learning.learning_rate == table.best.score == scores[0]
    spec = json.loads((trial_folder(tmp_path, table.best.trial) / "trial.json").read_text())
    assert run_config_from_json(spec["config"]) == best


@pytest.mark.parametrize("search", ["random", "bayes"])
def test_a_killed_sweep_goes_on_and_runs_no_trial_twice(tmp_path, search):
    if search == "bayes":
        pytest.importorskip("optuna")
    whole = pretend(tmp_path / "whole", PretendWorkers(), 12, search=search)
    killed = tmp_path / "killed"
    first = PretendWorkers(dies_after=5)
    with pytest.raises(KeyboardInterrupt):
        pretend(killed, first, 12, search=search)
    done = [row["trial"] for row in rows(killed)]
    assert 0 < len(done) < 6
    with (killed / "trials.jsonl").open("a") as file:
        file.write('{"trial": 9, "opt')  # cut short by the kill
    second = PretendWorkers()
    table = pretend(killed, second, 12, search=search)
    assert not set(second.started) & set(done)
    assert sorted(trial.trial for trial in table.trials) == list(range(12))
    if search == "random":
        assert table.ranked == whole.ranked
    third = PretendWorkers()
    assert pretend(killed, third, 12, search=search).ranked == table.ranked
    assert third.started == []
    # More trials add to the table.
    fourth = PretendWorkers()
    assert len(pretend(killed, fourth, 14, search=search).trials) == 14
    assert fourth.started == [12, 13]


def test_another_configuration_in_the_same_folder_is_refused(tmp_path):
    pretend(tmp_path, PretendWorkers())
    with pytest.raises(InputError, match=r"holds a sweep with another sweep.seed: 0, not 1"):
        pretend(tmp_path, PretendWorkers(), seed=1)
    with pytest.raises(InputError, match="another steps: 312, not 416"):
        pretend(tmp_path, PretendWorkers(), config=tiny_run(4))


def test_a_failed_trial_is_recorded_and_a_killed_one_starts_again(tmp_path):
    workers = PretendWorkers({0: [2], 1: [-9, 137], 2: [-9] * 10})
    table = pretend(tmp_path, workers)
    trials = {trial.trial: trial for trial in table.trials}
    assert (trials[0].score, trials[0].error) == (None, "why it failed")
    assert trials[1].score is not None
    assert workers.started.count(1) == 3
    assert trials[2].error == "why it failed"
    assert workers.started.count(2) == 1 + MAX_RESTARTS
    assert table.ranked[-2:] == [trials[0], trials[2]]


def test_the_table_for_people_has_every_trial(tmp_path):
    table = SweepTable(tmp_path, {})
    table.append(Trial(0, {"learning.entropy": 0.02}, 3.25, 0.5, 100, 1.0))
    table.append(Trial(1, {"learning.entropy": 0.01}, None, None, 0, 0.0, "no memory"))
    shown = table.for_people()
    assert shown.row_count == 2
    assert [list(column.cells) for column in shown.columns] == [
        *(["0", "1"], ["3.25", "failed"], ["50.0%", "–"], ["0.02", "0.01"]),
    ]


SWEEP = [
    *("sweep", "--trials", "3", "--steps", "520", "--world.size", "2", "--world.episode-steps", "12"),
    *("--learning.num-envs", "8", "--learning.minibatch-size", "32", "--learning.optimiser", "adam"),
    *("--agent.width", "16", "--agent.iterations", "1", "--evaluation-episodes", "8"),
    *("--checkpoint-every", "1"),
]


def start_sweep(folder: Path, cache: Path, *flags: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "rapidtask", *SWEEP, "--out", str(folder), *flags],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen, code: int = 0) -> str:
    output, errors = process.communicate()
    assert process.returncode == code, errors
    return output + errors


def rows(folder: Path) -> list[dict]:
    """The table without how long it took, by trial."""
    found = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    return sorted(({**row, "seconds": 0.0} for row in found), key=lambda row: row["trial"])


@pytest.fixture(scope="module")
def local_sweep(tmp_path_factory) -> tuple[Path, Path]:
    folder, cache = tmp_path_factory.mktemp("sweep") / "local", tmp_path_factory.mktemp("cache")
    said = finish(start_sweep(folder, cache, "--workers", "2"))
    assert "Best: {" in said
    assert str(folder / "sweep.csv") in said
    return folder, cache


@pytest.mark.slow
def test_a_sweep_of_real_runs(local_sweep):
    folder, _ = local_sweep
    assert [row["trial"] for row in rows(folder)] == [0, 1, 2]
    assert all(row["score"] >= 0 and row["steps"] == 520 for row in rows(folder))
    assert len({row["options"]["learning.learning_rate"] for row in rows(folder)}) == 3


@pytest.mark.slow
def test_a_sweep_killed_and_stopped_ends_with_the_same_table(local_sweep, tmp_path):
    whole, cache = local_sweep
    folder = tmp_path / "killed"

    def wait_for(seen) -> None:
        while process.poll() is None and not seen():
            time.sleep(0.02)

    checkpoints = lambda trial: list_checkpoints(trial_folder(folder, trial) / "checkpoints")  # noqa: E731
    process = start_sweep(folder, cache)
    wait_for(lambda: (folder / "trials.jsonl").exists() and rows(folder) and checkpoints(1))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    finished = {row["trial"] for row in rows(folder)}
    assert finished == {0}
    times = {path: path.stat().st_mtime_ns for path in trial_folder(folder, 0).rglob("*.safetensors")}
    process = start_sweep(folder, cache)
    wait_for(lambda: len(rows(folder)) == 2)
    process.send_signal(signal.SIGTERM)
    assert "Stopped. Go on with: rapidtask sweep" in finish(process, 128 + signal.SIGTERM)
    finish(start_sweep(folder, cache))
    assert rows(folder) == rows(whole)
    assert times == {path: path.stat().st_mtime_ns for path in times}


@pytest.mark.slow
def test_local_ray_gives_the_same_table(local_sweep, tmp_path):
    pytest.importorskip("ray")
    whole, cache = local_sweep
    folder = tmp_path / "ray"
    finish(start_sweep(folder, cache, "--ray", "local", "--workers", "2", "--cpus-per-trial", "0.5"))
    assert rows(folder) == rows(whole)
