import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rapidtask.cli import main
from rapidtask.commands.parsing import parse
from rapidtask.errors import InputError
from rapidtask.learning.config import PAPER
from rapidtask.runs.checkpoint import list_checkpoints
from rapidtask.runs.config import RunConfig
from tiny_training import OPTIONS, tiny_run

optuna = pytest.importorskip("optuna")
sqlalchemy = pytest.importorskip("sqlalchemy")  # which comes with it

from rapidtask.commands.sweep import table_for_people  # noqa: E402
from rapidtask.sweeps import study as sweeps  # noqa: E402
from rapidtask.sweeps.space import Interval, read_space, with_point  # noqa: E402
from rapidtask.sweeps.study import NUM_RANDOM_FIRST, RUN, Sweep, open_study, propose, run_trial, work  # noqa: E402

CONFIG = tiny_run(3)
SPACE = read_space((), CONFIG)


def test_the_space_fits_the_configuration():
    assert SPACE["learning.learning_rate"] == Interval(1e-3, 2e-2)
    assert SPACE["agent.num_heads"] == [1, 2, 4]
    assert "learning.rollout_steps" not in SPACE


def test_the_paper_s_table_is_searched_with_its_recipe():
    config = replace(CONFIG, learning=PAPER, recipe="paper")
    space = read_space((), config)
    assert space["learning.learning_rate"] == Interval(1e-5, 4e-4)
    assert space["learning.entropy"] == Interval(1e-3, 1e-2)
    assert space["learning.discount"] == [0.9, 0.95]
    assert space["learning.rollout_steps"] == [10, 20, 40]
    # Mini-batches are counted in unrolls there, and in steps here.
    assert space["learning.minibatch_unrolls"] == [32, 64, 128]
    point = {"learning.minibatch_unrolls": 128, "learning.rollout_steps": 10}
    learning = with_point(config, point).learning
    assert (learning.minibatch_size, learning.num_envs) == (1280, 128)
    assert read_space(("paper",), replace(config, recipe="fast")) == space
    muon = read_space((), replace(config, learning=replace(PAPER, optimiser="muon")))
    assert muon["learning.learning_rate"] == Interval(1e-3, 2e-2)


def test_a_space_from_flags_and_from_a_file(tmp_path):
    flags = ("learning.learning_rate=1e-4:1", "learning.optimiser=adam,muon", "agent.width=16:64")
    expected = {
        "learning.learning_rate": Interval(1e-4, 1.0),
        "learning.optimiser": ["adam", "muon"],
        "agent.width": Interval(16, 64),
    }
    assert read_space(flags, CONFIG) == expected
    file = tmp_path / "space.txt"
    file.write_text("# tried in May\n" + "  # why\n".join(flags) + "\n")
    assert read_space((str(file),), CONFIG) == expected
    more = read_space((str(file), "learning.rollout_steps=None,5"), CONFIG)
    assert more == expected | {"learning.rollout_steps": [None, 5]}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "learning.discont=0.9",
            "--space: learning.discont: neither learning nor the agent has such an option",
        ),
        ("discount=0.9", "--space: discount: neither learning"),
        ("world.size=3,4", "--space: world.size: neither learning"),
        ("learning.discount=0.9,high", "--space: learning.discount: 'high' is not what it takes (float)"),
        ("learning.num_envs=8,12.5", "--space: learning.num_envs: '12.5' is not what it takes (int)"),
        ("learning.optimiser=adm", "--space: learning.optimiser: 'adm' is not what it takes"),
        ("learning.entropy=", "--space: learning.entropy: '' is not"),
        ("learning.entropy=0.1:0.01", "--space: learning.entropy: 0.1:0.01 is no interval"),
        ("learning.entropy=0:1", "--space: learning.entropy: 0:1 is no interval"),
        ("learning.entropy=1:2:3", "--space: learning.entropy: 1:2:3 is no interval"),
        (
            "learning.normalise_advantages=False:True",
            "--space: learning.normalise_advantages: False:True is no interval",
        ),
        ("papr", "--space papr: not OPTION=VALUES, a file of them, or fast, paper"),
    ],
)
def test_a_wrong_space_is_named(tmp_path, capsys, word, message):
    with pytest.raises(InputError) as refused:
        read_space((word,), CONFIG)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    if "=" in word:
        (tmp_path / "space.txt").write_text(word)
        with pytest.raises(InputError) as refused:
            read_space((str(tmp_path / "space.txt"),), CONFIG)
        assert message.replace("--space", str(tmp_path / "space.txt")) in str(refused.value)
    assert capsys.readouterr().err == ""


def points(sweep: Sweep, numbers, finished=()) -> list[dict]:
    """What the runs of some numbers try, given points and scores of others."""
    study = optuna.create_study(direction="maximize")
    for point, score in finished:
        study.enqueue_trial(point)
        trial = study.ask()
        propose(trial, sweep, 0)
        study.tell(trial, score)
    proposed = []
    for number in numbers:
        trial = study.ask()
        proposed.append(propose(trial, sweep, number))
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return proposed


def make_sweep(folder: Path, num_trials: int = 4, **options) -> Sweep:
    settings = {"config": CONFIG, "space": SPACE, "run_options": OPTIONS} | options
    return Sweep(folder=folder, num_trials=num_trials, **settings)


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def test_random_points_cover_the_space_and_depend_on_seed_and_number_alone(tmp_path):
    sweep = make_sweep(tmp_path)
    drawn = points(sweep, range(200))
    assert points(sweep, [7], finished=[(drawn[0], 1.0)]) == [drawn[7]]
    assert points(make_sweep(tmp_path, config=replace(CONFIG, seed=1)), [7]) != [drawn[7]]
    for name, values in SPACE.items():
        found = [point[name] for point in drawn]
        if not isinstance(values, Interval):
            assert set(found) == set(values)
        else:
            assert values.low <= min(found) < 1.2 * values.low
            assert values.high / 1.2 < max(found) <= values.high
            # Uniform in the logarithm: half of the points are below the geometric mean.
            below = sum(value < (values.low * values.high) ** 0.5 for value in found)
            assert 70 < below < 130


def test_the_bayesian_search_goes_where_scores_are_high(tmp_path):
    bayes = make_sweep(tmp_path, search="bayes")
    tried = points(make_sweep(tmp_path), range(40))
    finished = [(point, -abs(point["learning.learning_rate"] - 5e-3)) for point in tried]
    proposed = points(bayes, range(40, 60), finished)
    assert proposed[:1] == points(bayes, [40], finished)
    close = sum(3e-3 < point["learning.learning_rate"] < 8e-3 for point in proposed)
    by_chance = sum(3e-3 < point["learning.learning_rate"] < 8e-3 for point in tried) / 2
    assert close > max(14, by_chance)
    first = points(bayes, range(NUM_RANDOM_FIRST))
    assert len({point["learning.learning_rate"] for point in first}) == NUM_RANDOM_FIRST


def test_a_point_becomes_a_configuration():
    point = {"learning.learning_rate": 2e-3, "learning.entropy": 0.1, "agent.num_heads": 2}
    config = with_point(CONFIG, point)
    assert (config.learning.learning_rate, config.agent.num_heads) == (2e-3, 2)
    # The schedule of the entropy's weight keeps its shape.
    ratio = CONFIG.learning.entropy_end / CONFIG.learning.entropy
    assert (config.learning.entropy, config.learning.entropy_end) == (0.1, pytest.approx(0.1 * ratio))
    assert with_point(CONFIG, {}) == CONFIG


class Killed(BaseException):
    """Ends a process as a kill does: nothing is told to the study."""


class PretendRuns:
    """Runs that end at once, with a log; the learning rate is the score."""

    def __init__(self):
        self.started: list[int] = []
        self.endings: dict[int, list] = {}
        """What happens to a run, each time that it is begun: a signal, or an exception."""
        self.evaluations: dict[int, list[float]] = {}
        """What a run is scored with on its way."""
        self.meanwhile = lambda number: None

    def __call__(self, config, folder, options, *, resume, show):
        assert resume
        number = int(folder.name)
        self.started.append(number)
        self.meanwhile(number)
        for iteration, goals in enumerate(self.evaluations.get(number, []), start=1):
            scores = SimpleNamespace(goals_per_episode=goals)
            trainer = SimpleNamespace(num_iterations=3)
            show(SimpleNamespace(iteration=iteration, trainer=trainer, scores=scores))
        ending = self.endings.get(number, [])
        how = ending.pop(0) if ending else None
        if isinstance(how, BaseException):
            raise how
        record = {"iteration": 3, "steps": 312, "seconds": 1.0, "evaluation_oracle_share_last_third": "nan"}
        record["evaluation_goals_per_episode"] = config.learning.learning_rate
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log.jsonl").write_text(json.dumps(record) + "\n")
        return SimpleNamespace(stopped_by=how)


@pytest.fixture
def runs(monkeypatch) -> PretendRuns:
    runs = PretendRuns()
    monkeypatch.setattr(sweeps, "run", runs)
    monkeypatch.setattr(sweeps, "HEARTBEAT_SECONDS", 1)
    monkeypatch.setattr(sweeps, "SILENT_SECONDS", 1)
    return runs


def rows(folder: Path) -> list[dict]:
    """The table without how long it took, best first."""
    found = csv.DictReader((folder / "sweep.csv").read_text().splitlines())
    return [{**row, "seconds": ""} for row in found]


def numbers(folder: Path) -> list[int]:
    return sorted(int(row["trial"]) for row in rows(folder))


def test_results_are_one_table_best_first(tmp_path, runs, capsys):
    assert work(make_sweep(tmp_path)) is None
    scores = [float(row["score"]) for row in rows(tmp_path)]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert scores == [float(row["learning.learning_rate"]) for row in rows(tmp_path)]
    assert {(row["state"], row["steps"], row["error"]) for row in rows(tmp_path)} == {("complete", "312", "")}
    assert "trial 3 (4 of 4): complete, 0.0" in capsys.readouterr().err


@pytest.mark.parametrize(("search", "num_trials"), [("random", 5), ("bayes", NUM_RANDOM_FIRST + 2)])
def test_a_killed_sweep_goes_on_and_runs_no_trial_twice(tmp_path, runs, search, num_trials):
    if search == "random":
        work(make_sweep(tmp_path / "whole", num_trials, search=search))
    runs.endings, runs.started = {3: [Killed()]}, []
    killed = make_sweep(tmp_path / "killed", num_trials, search=search)
    with pytest.raises(Killed):
        work(killed)
    assert numbers(killed.folder) == [0, 1, 2]
    runs.started = []
    assert work(killed) is None
    # The killed one is begun again once its heartbeat has been silent for long enough.
    assert sorted(runs.started) == list(range(3, num_trials))
    assert numbers(killed.folder) == list(range(num_trials))
    if search == "random":
        assert rows(killed.folder) == rows(tmp_path / "whole")
    before, runs.started = rows(killed.folder), []
    assert work(killed) is None
    assert (rows(killed.folder), runs.started) == (before, [])
    # More trials add to the table.
    work(replace(killed, num_trials=num_trials + 2))
    assert runs.started == [num_trials, num_trials + 1]
    assert numbers(killed.folder) == list(range(num_trials + 2))


def test_a_stopped_trial_is_taken_up_at_once_however_often(tmp_path, runs):
    sweep = make_sweep(tmp_path)
    runs.endings = {1: [signal.SIGTERM] * 6}
    for _ in range(6):
        assert work(sweep) == signal.SIGTERM
    assert numbers(tmp_path) == [0]
    assert work(sweep) is None
    assert runs.started == [0, *[1] * 7, 2, 3]
    assert [row["state"] for row in rows(tmp_path)] == ["complete"] * 4


def test_a_failed_trial_is_recorded_and_a_killed_one_is_given_up_at_last(tmp_path, runs, monkeypatch):
    monkeypatch.setattr(sweeps, "MAX_RETRIES", 1)
    sweep = make_sweep(tmp_path)
    runs.endings = {0: [InputError("why it failed")], 1: [MemoryError("no memory\nmore")], 2: [Killed()] * 9}
    for _ in range(2):
        with pytest.raises(Killed):
            work(sweep)
    assert work(sweep) is None
    assert runs.started.count(2) == 2
    states = {int(row["trial"]): (row["state"], row["score"], row["error"]) for row in rows(tmp_path)}
    assert states[0] == ("fail", "", "why it failed")
    assert states[1] == ("fail", "", "no memory")
    assert states[2] == ("fail", "", "")
    assert states[3][0] == "complete"
    assert int(rows(tmp_path)[0]["trial"]) == 3


def test_two_processes_share_a_study(tmp_path, runs):
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    here, there = (make_sweep(tmp_path / machine / "a", storage=url) for machine in ("here", "there"))

    def meanwhile(number):
        if number == 0:
            other = open_study(there)
            other.optimize(lambda trial: run_trial(trial, there), n_trials=2)

    runs.meanwhile = meanwhile
    assert work(here) is None
    assert runs.started == [0, 1, 2, 3]
    assert numbers(here.folder) == [0, 1, 2, 3]
    assert len({row["learning.learning_rate"] for row in rows(here.folder)}) == 4
    work(make_sweep(tmp_path / "alone"))
    assert rows(tmp_path / "alone") == rows(here.folder)


def test_trials_below_the_median_are_pruned(tmp_path, runs):
    good = [1.0, 2.0, 3.0]
    runs.evaluations = dict.fromkeys(range(8), good) | {6: [1.0, 0.5, 3.0], 7: [1.0, 2.0, 0.5]}
    sweep = make_sweep(tmp_path, 8, prune=True)
    work(sweep)
    states = {int(row["trial"]): row["state"] for row in rows(tmp_path)}
    # The last evaluation prunes nothing: the training has been paid for.
    assert states == dict.fromkeys(range(8), "complete") | {6: "pruned"}
    assert rows(tmp_path)[-1]["score"] == "0.5"


def test_another_sweep_in_the_same_folder_is_refused(tmp_path, runs):
    work(make_sweep(tmp_path))
    others = {
        "another seed: 0, not 1": {"config": replace(CONFIG, seed=1)},
        "another steps: 312, not 416": {"config": tiny_run(4)},
        "another learning.discount: 0.9, not 0.5": {"config": tiny_run(3, discount=0.5)},
        "another search: random, not bayes": {"search": "bayes"},
        "another prune: False, not True": {"prune": True},
        r"another space.learning.learning_rate: \[0.001, 0.02\], not None": {
            "space": {"learning.discount": [0.9]}
        },
        "another evaluation_episodes: 8, not 9": {"run_options": replace(OPTIONS, evaluation_episodes=9)},
    }
    for message, other in others.items():
        with pytest.raises(InputError, match=f"holds a sweep with {message}"):
            work(make_sweep(tmp_path, **other))
    work(make_sweep(tmp_path, run_options=replace(OPTIONS, checkpoint_every=7)))
    assert runs.started == [0, 1, 2, 3]


def test_a_storage_that_cannot_be_opened_is_named(tmp_path):
    for url, reason in {
        "somewhere": "--storage: Could not parse",
        "oracle://me:secret@host/x": "--storage: ",
        f"sqlite:///{tmp_path}/no/such.db": "--storage: ",
    }.items():
        with pytest.raises(InputError, match=reason) as refused:
            open_study(make_sweep(tmp_path / "a", storage=url))
        assert "secret" not in str(refused.value)
        assert "\n" not in str(refused.value)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "study.db").write_text("no database, " * 100)
    with pytest.raises(InputError, match=r"study\.db: "):
        open_study(make_sweep(tmp_path / "b"))


def test_processes_may_make_the_study_at_the_same_time(tmp_path, monkeypatch):
    def late(*arguments, **options):
        monkeypatch.undo()
        raise sqlalchemy.exc.IntegrityError("insert", None, Exception("another process has made the tables"))

    monkeypatch.setattr(sweeps, "RDBStorage", late)
    assert open_study(make_sweep(tmp_path)).trials == []


def test_the_table_for_people_has_every_trial():
    make = optuna.trial.create_trial
    known = {"params": {"learning.entropy": 0.02}}
    known["distributions"] = {"learning.entropy": optuna.distributions.FloatDistribution(0.01, 0.1)}
    share = "oracle_share_last_third"
    shown = table_for_people(
        "two",
        [
            make(value=3.25, user_attrs={RUN: 0, share: 0.5}, **known),
            make(state=optuna.trial.TrialState.FAIL, user_attrs={RUN: 1, share: "nan"}, **known),
        ],
    )
    assert shown.row_count == 2
    assert [list(column.cells) for column in shown.columns] == [
        *(["0", "1"], ["3.25", "fail"], ["50.0%", "–"], ["0.02", "0.02"]),
    ]


SWEEP = [
    *("sweep", "--trials", "3", "--steps", "520", "--world.size", "2", "--world.episode-steps", "12"),
    *("--learning.num-envs", "8", "--learning.minibatch-size", "32", "--learning.optimiser", "adam"),
    *("--learning.cpu-devices", "1", "--agent.width", "16", "--agent.iterations", "1"),
    *("--evaluation-episodes", "8", "--checkpoint-every", "1"),
]


def test_the_command_prints_how_to_repeat_the_best_trial(tmp_path, runs, capsys):
    main([*SWEEP, "--recipe", "paper", "--out", str(tmp_path / "a b")])
    said = capsys.readouterr().out
    assert str(tmp_path / "a b" / "sweep.csv") in said
    (command,) = (line for line in said.splitlines() if line.startswith("The same again: "))
    train = parse(shlex.split(command.removeprefix("The same again: "))[1:])
    best = rows(tmp_path / "a b")[0]
    assert train.out == tmp_path / "a b" / "best"
    assert train.learning.learning_rate == float(best["learning.learning_rate"]) == float(best["score"])
    steps = int(best["learning.minibatch_unrolls"]) * int(best["learning.rollout_steps"])
    assert train.learning.minibatch_size == steps
    config = RunConfig(train.world, train.agent, train.learning, train.recipe, train.seed, train.steps)
    assert config.agent.num_heads == int(best["agent.num_heads"])
    assert (config.steps, config.seed, config.world.size) == (520, 0, 2)


def test_the_command_names_what_is_wrong(tmp_path, runs, capsys):
    for flags, named in {
        "--trials 0": "trials is 0",
        "--space learning.discount=x": "--space: learning.discount: 'x'",
        "--storage nowhere": "--storage: ",
    }.items():
        with pytest.raises(SystemExit, match="2"):
            main([*SWEEP, "--out", str(tmp_path / "a"), *flags.split()])
        assert named in capsys.readouterr().err
    assert runs.started == []


def test_without_optuna_the_command_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "rapidtask.sweeps.study")
    monkeypatch.delattr("rapidtask.sweeps.study")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(SystemExit, match="2"):
        main([*SWEEP, "--out", str(tmp_path)])
    assert "sweeps need Optuna: pip install 'rapidtask[sweep]'" in capsys.readouterr().err


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


@pytest.fixture(scope="module")
def local_sweep(tmp_path_factory) -> tuple[Path, Path]:
    folder, cache = tmp_path_factory.mktemp("sweep") / "local", tmp_path_factory.mktemp("cache")
    said = finish(start_sweep(folder, cache, "--workers", "2"))
    assert "The same again: rapidtask train" in said
    assert str(folder / "sweep.csv") in said
    return folder, cache


@pytest.mark.slow
def test_a_sweep_of_real_runs(local_sweep):
    folder, _ = local_sweep
    assert numbers(folder) == [0, 1, 2]
    assert all(float(row["score"]) >= 0 and row["steps"] == "520" for row in rows(folder))
    assert len({row["learning.learning_rate"] for row in rows(folder)}) == 3


@pytest.mark.slow
def test_a_sweep_killed_and_stopped_ends_with_the_same_table(local_sweep, tmp_path):
    whole, cache = local_sweep
    folder = tmp_path / "killed"

    def wait_for(seen) -> None:
        while process.poll() is None and not seen():
            time.sleep(0.02)

    checkpoints = lambda trial: list_checkpoints(sweeps.trial_folder(folder, trial) / "checkpoints")  # noqa: E731
    process = start_sweep(folder, cache)
    wait_for(lambda: (folder / "sweep.csv").exists() and checkpoints(1))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert [row["trial"] for row in rows(folder) if row["state"] == "complete"] == ["0"]
    kept = sweeps.trial_folder(folder, 0).rglob("*.safetensors")
    times = {path: path.stat().st_mtime_ns for path in kept}
    process = start_sweep(folder, cache)
    wait_for(lambda: checkpoints(2))
    process.send_signal(signal.SIGTERM)
    assert "Stopped. Go on with: rapidtask sweep" in finish(process, 128 + signal.SIGTERM)
    finish(start_sweep(folder, cache))
    assert rows(folder) == rows(whole)
    assert times == {path: path.stat().st_mtime_ns for path in times}


def workers_of(process: subprocess.Popen) -> list[int]:
    """The other processes of a sweep, by their number."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    command = lambda child: Path(f"/proc/{child}/cmdline").read_bytes()  # noqa: E731
    return [int(child) for child in children if b"spawn_main" in command(child)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found as Linux tells them")
def test_a_sweep_goes_on_without_a_worker_that_was_killed(local_sweep, tmp_path):
    whole, _ = local_sweep
    folder = tmp_path / "killed"
    process = start_sweep(folder, tmp_path, "--workers", "2")
    trials = lambda: list(folder.glob("trials/*/checkpoints"))  # noqa: E731
    while process.poll() is None and len(trials()) < 2:  # Each works on one.
        time.sleep(0.02)
    (worker,) = workers_of(process)
    os.kill(worker, signal.SIGKILL)
    finish(process)
    assert rows(folder) == rows(whole)
    for agent in whole.glob("trials/*/agent.safetensors"):
        assert agent.read_bytes() == (folder / agent.relative_to(whole)).read_bytes()
