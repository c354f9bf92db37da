"""A whole sweep: propose, run, record, until all trials are done or a signal comes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rapidtask.learning.checkpoint import write_atomically
from rapidtask.learning.logs import read_log
from rapidtask.learning.run import RunOptions, collect_signals
from rapidtask.learning.run_config import RunConfig, run_config_from_json
from rapidtask.sweeps.search import SearchName, propose
from rapidtask.sweeps.space import Options, search_space, with_options
from rapidtask.sweeps.table import SweepTable, Trial
from rapidtask.sweeps.workers import STDERR_FILE, TRIAL_FILE, Finished, Workers

MAX_RESTARTS = 3
"""Times that a trial whose process was killed starts again before it counts as failed."""


@dataclass(frozen=True)
class SweepOptions:
    """What a sweep's results depend on, beside the configuration that its trials start from."""

    search: SearchName = "random"
    """At random, or Bayesian (needs Optuna)."""
    seed: int = 0
    """Seed of the search."""


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended."""

    table: SweepTable
    stopped_by: int | None
    """Signal that ended it early, if one did."""


def run_sweep(
    config: RunConfig,
    folder: Path,
    options: SweepOptions,
    run_options: RunOptions,
    workers: Workers,
    *,
    num_trials: int,
    side_by_side: int,
    show: Callable[[SweepTable, Trial], None] = lambda table, trial: None,
) -> SweepResult:
    """Run the trials that are not in the table yet; those begun before go on from their checkpoints."""
    # A trial does not depend on how often it is saved.
    episodes = run_options.evaluation_episodes
    described = {**config.to_json(), "evaluation_episodes": episodes, "sweep": asdict(options)}
    del described["version"]
    table = SweepTable(folder, _flat(described))
    known = {trial.trial for trial in table.trials}
    waiting = [number for number in range(num_trials) if number not in known]
    running: dict[int, Options] = {}
    restarts: Counter[int] = Counter()
    with collect_signals() as signals:
        while (waiting or running) and not signals:
            while waiting and len(running) < side_by_side:
                number = waiting.pop(0)
                running[number] = _prepare(config, folder, options, run_options, number, table)
                workers.start(number, trial_folder(folder, number))
            for finished in workers.finished():
                number = finished.trial
                killed = finished.exit_code > 128 or finished.exit_code < 0
                if killed and restarts[number] < MAX_RESTARTS:
                    # From outside, for want of memory perhaps: it goes on from its checkpoint.
                    restarts[number] += 1
                    workers.start(number, trial_folder(folder, number))
                    continue
                trial = _result(folder, finished, running.pop(number))
                table.append(trial)
                show(table, trial)
        workers.stop()
    if table.best is not None:
        best = with_options(config, table.best.options)
        write_atomically(folder / "best.json", (json.dumps(best.to_json(), indent=2) + "\n").encode())
    return SweepResult(table, signals[0] if signals else None)


def _flat(data: dict, prefix: str = "") -> dict:
    """Nested options by their dotted names."""
    flat = {}
    for name, value in data.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def trial_folder(folder: Path, trial: int) -> Path:
    """Where a trial's run is kept."""
    return folder / "trials" / f"{trial:04d}"


def _prepare(
    config: RunConfig,
    folder: Path,
    options: SweepOptions,
    run_options: RunOptions,
    number: int,
    table: SweepTable,
) -> Options:
    """Write what a trial is to do, unless it was begun before; the point that it tries."""
    path = trial_folder(folder, number) / TRIAL_FILE
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))["options"]
    finished = [(trial.options, trial.score) for trial in table.trials if trial.score is not None]
    point = propose(options.search, search_space(config), options.seed, number, finished)
    trial = with_options(config, point)
    assert run_config_from_json(trial.to_json()) == trial
    spec = {"options": point, "config": trial.to_json(), "run_options": asdict(run_options)}
    write_atomically(path, (json.dumps(spec, indent=2) + "\n").encode())
    return point


def _result(folder: Path, finished: Finished, point: Options) -> Trial:
    run = trial_folder(folder, finished.trial)
    records = read_log(run / "log.jsonl")
    last = records[-1] if records else {"steps": 0, "seconds": 0.0}
    score = share = error = None
    if finished.exit_code == 0:
        score = last["evaluation_goals_per_episode"]
        share = last["evaluation_oracle_share_last_third"]
        share = share if isinstance(share, float) else None
    else:
        lines = (run / STDERR_FILE).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        error = lines[-1] if lines else f"exit code {finished.exit_code}"
    return Trial(finished.trial, point, score, share, last["steps"], last["seconds"], error)
