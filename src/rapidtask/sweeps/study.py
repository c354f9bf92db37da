"""A sweep as an Optuna study: its trials are runs, and any number of processes work on it side by side."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.pruners import MedianPruner, NopPruner
from optuna.samplers import RandomSampler, TPESampler
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from rapidtask.errors import InputError
from rapidtask.runs.config import RunConfig, dotted
from rapidtask.runs.distributed import split_cpu
from rapidtask.runs.logs import read_log
from rapidtask.runs.programs import use_compilation_cache
from rapidtask.runs.run import Progress, RunOptions, run
from rapidtask.runs.signals import collect_signals
from rapidtask.sweeps.space import Interval, Space, with_point

HEARTBEAT_SECONDS = 5
SILENT_SECONDS = 30
"""Seconds without a heartbeat after which a trial's process counts as dead, and the trial is tried again."""
MAX_RETRIES = 3
NUM_RANDOM_FIRST = 8
"""Trials at random before the Bayesian search trusts its model."""
NUM_REPORTS = 10
"""Evaluations during a trial, by which trials are compared if they may be pruned."""
RUN = "run"
"""Attribute of an Optuna trial: the number of its run, which a trial that tries it again has too."""
LOGGED = {
    "oracle_share_last_third": "evaluation_oracle_share_last_third",
    "steps": "steps",
    "seconds": "seconds",
}
"""Attributes of a trial, and the names that they have in the run's log."""
TABLE_FILE = "sweep.csv"
ORDER = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING, TrialState.WAITING)


@dataclass(frozen=True)
class Sweep:
    """What is searched, how, and where it is kept."""

    config: RunConfig
    """What the trials have in common."""
    space: Space
    folder: Path
    """Of the runs and their table and, without a storage elsewhere, of the study."""
    num_trials: int
    run_options: RunOptions
    search: str = "random"
    """`random`, or `bayes` for a tree-structured Parzen estimator (Bergstra et al. 2011)."""
    prune: bool = False
    """End trials early that do worse than the median of earlier trials did after as many steps."""
    storage: str | None = None
    """URL of a database that several machines share; there the study has the folder's name."""


class Stopped(KeyboardInterrupt):
    """A signal, its argument, has stopped a trial; of all exceptions only this kind ends Optuna's loop."""


def open_study(sweep: Sweep, tries: int = 3) -> optuna.Study:
    """The sweep's study, new or as it was left.

    Raises:
        InputError: if the database cannot be opened, or holds another sweep.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sweep.folder.mkdir(parents=True, exist_ok=True)
    path = sweep.folder / "study.db"
    try:
        with warnings.catch_warnings(action="ignore", category=ExperimentalWarning):
            storage = RDBStorage(
                sweep.storage or f"sqlite:///{path}",
                heartbeat_interval=HEARTBEAT_SECONDS,
                grace_period=SILENT_SECONDS,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(MAX_RETRIES),
            )
        study = optuna.create_study(
            storage=storage,
            study_name=sweep.folder.resolve().name if sweep.storage else "sweep",
            direction="maximize",
            pruner=MedianPruner() if sweep.prune else NopPruner(),
            load_if_exists=True,
        )
    except (SQLAlchemyError, StorageInternalError, ImportError) as error:
        if isinstance(error, DBAPIError) and tries > 1:
            time.sleep(1)  # Another process may be making the tables of a new database.
            return open_study(sweep, tries - 1)
        reason = str(error.__cause__ or error).splitlines()[0]
        raise InputError(f"{'--storage' if sweep.storage else path}: {reason}") from None
    theirs, ours = study.user_attrs.get("sweep"), _describe(sweep)
    if theirs is None:
        study.set_user_attr("sweep", ours)
    elif different := [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]:
        values = f"{theirs.get(different[0])}, not {ours.get(different[0])}"
        raise InputError(
            f"{sweep.folder} holds a sweep with another {different[0]}: {values}; choose another --out"
        )
    return study


def _describe(sweep: Sweep) -> dict[str, Any]:
    """All that a sweep's results depend on, by dotted names, as it comes back from JSON."""
    how = {"search": sweep.search, "prune": sweep.prune, "space": sweep.space}
    how["evaluation_episodes"] = sweep.run_options.evaluation_episodes
    flat = dotted(sweep.config.to_json() | how)
    del flat["version"]
    return json.loads(json.dumps(flat))


def work(sweep: Sweep) -> int | None:
    """Run trials until the sweep has all of them, or a signal comes, which is returned."""
    use_compilation_cache()
    split_cpu(sweep.config.learning.cpu_devices)
    study = open_study(sweep)

    def finished(study: optuna.Study, trial: FrozenTrial) -> None:
        jax.clear_caches()  # The next trial has programs of its own.
        trials = write_table(study, sweep.folder)
        done = sum(trial.state.is_finished() for trial in trials)
        how = trial.user_attrs.get("error") or f"{trial.value:.2f} goals per episode"
        say = (
            f"trial {trial.user_attrs[RUN]} ({done} of {sweep.num_trials}): {trial.state.name.lower()}, {how}"
        )
        print(say, file=sys.stderr)

    with collect_signals() as signals:
        while not signals:
            states = [trial.state for trial in sweep_trials(study)]
            if len(states) < sweep.num_trials or TrialState.WAITING in states:
                try:
                    study.optimize(lambda t: run_trial(t, sweep), 1, catch=Exception, callbacks=[finished])
                except Stopped as stop:
                    return stop.args[0]
            elif TrialState.RUNNING in states:
                # In another process: wait for its end, whichever that is.
                time.sleep(0.5)
                with warnings.catch_warnings(action="ignore", category=ExperimentalWarning):
                    fail_stale_trials(study)
            else:
                write_table(study, sweep.folder)
                return None
    return signals[0]


def run_trial(trial: optuna.Trial, sweep: Sweep) -> float:
    """Train at a point of the space; the score is goals per episode on held-out worlds at the end."""
    if RUN not in trial.user_attrs:
        # Optuna's own numbers also count the trials that try a run again.
        earlier = trial.study.get_trials(deepcopy=False)[: trial.number]
        trial.set_user_attr(RUN, len({t.user_attrs.get(RUN, -1 - t.number) for t in earlier}))
    number = trial.user_attrs[RUN]
    point = propose(trial, sweep, number)
    folder = trial_folder(sweep.folder, number)
    try:
        stopped_by = _train(trial, sweep, with_point(sweep.config, point), folder)
    except Exception as error:
        if not isinstance(error, optuna.TrialPruned):
            trial.set_user_attr("error", (str(error) or repr(error)).splitlines()[0])
        raise
    finally:
        record = (read_log(folder / "log.jsonl") or [{}])[-1]
        for name, logged in LOGGED.items():
            trial.set_user_attr(name, record.get(logged))
    if stopped_by is not None:
        # It goes on from its checkpoint, in the process that takes it up.
        trial.study.enqueue_trial(point, user_attrs={RUN: number})
        raise Stopped(stopped_by)
    return record["evaluation_goals_per_episode"]


def propose(trial: optuna.Trial, sweep: Sweep, number: int) -> dict[str, Any]:
    """The point of the space that a run tries."""
    # Each run has a seed of its own: two processes must not draw the same point, and a sweep that was stopped
    # goes on with those that it would have drawn.
    seed = (sweep.config.seed * 100_003 + number) % 2**32
    bayes = TPESampler(n_startup_trials=NUM_RANDOM_FIRST, constant_liar=True, seed=seed)
    trial.study.sampler = bayes if sweep.search == "bayes" else RandomSampler(seed)

    def draw(name: str, values: Interval | list) -> Any:
        if not isinstance(values, Interval):
            return trial.suggest_categorical(name, values)
        suggest: Any = trial.suggest_int if isinstance(values.low, int) else trial.suggest_float
        return suggest(name, *values, log=True)

    return {name: draw(name, values) for name, values in sweep.space.items()}


def _train(trial: optuna.Trial, sweep: Sweep, config: RunConfig, folder: Path) -> int | None:
    """Run, reporting evaluations to the pruner; the signal that stopped the run, if one did."""
    rollout = config.learning.rollout_steps or config.world.spec.episode_steps + 1
    every = max(1, config.steps // (config.learning.num_envs * rollout) // NUM_REPORTS)

    def report(progress: Progress) -> None:
        if sweep.prune and progress.scores and progress.iteration % every == 0:
            trial.report(progress.scores.goals_per_episode, progress.iteration // every)
            if progress.iteration < progress.trainer.num_iterations and trial.should_prune():
                raise optuna.TrialPruned

    options = replace(sweep.run_options, evaluate_every=every if sweep.prune else 0)
    return run(config, folder, options, resume=True, show=report).stopped_by


def trial_folder(folder: Path, number: int) -> Path:
    """Where a trial's run is kept."""
    return folder / "trials" / f"{number:04d}"


def sweep_trials(study: optuna.Study) -> list[FrozenTrial]:
    """The newest trial of each run, best first."""
    trials = study.get_trials(deepcopy=False)
    newest = {trial.user_attrs[RUN]: trial for trial in trials if RUN in trial.user_attrs}
    return sorted(newest.values(), key=lambda t: (ORDER.index(t.state), -(t.value or 0), t.user_attrs[RUN]))


def write_table(study: optuna.Study, folder: Path) -> list[FrozenTrial]:
    """Write the sweep's trials as a table, and return them; other processes may do so at the same time."""
    trials = sweep_trials(study)
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    columns = ["trial", "state", "score", *LOGGED, *names, "error"]
    partial = folder / f".{TABLE_FILE}.{os.getpid()}"
    with partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for trial in trials:
            known = {"trial": trial.user_attrs[RUN], "state": trial.state.name.lower(), "score": trial.value}
            writer.writerow(trial.user_attrs | trial.params | known)
    partial.replace(folder / TABLE_FILE)
    return trials
