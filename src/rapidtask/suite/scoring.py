"""Scores an entrant on a suite: one JSON object that says what was scored, where, and how well it did."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import rapidtask
from rapidtask.errors import InputError
from rapidtask.evaluation.scores import Scorer, score
from rapidtask.runs.programs import forget_programs
from rapidtask.runs.provenance import describe_commit, describe_machine, today
from rapidtask.suite.entrants import CannotServe, Entrant, PolicyEntrant
from rapidtask.suite.tasks import SEED, SUITES, Task

FORMAT = "rapidtask score 1"
KEPT = (
    *("oracle_share_last_third", "oracle_share_last_third_stderr"),
    *("goals_per_episode", "goals_per_episode_stderr", "steps_to_nth_goal", "steps_to_nth_goal_stderr"),
)
"""What is kept of `Scores`."""
NUM_GOALS = 10
"""Goals whose steps are kept."""


def score_suite(
    name: str,
    entrant: Entrant,
    suite: str,
    tasks: Sequence[Task],
    tell: Callable[[str], Any] = lambda task: None,
    **about: str,
) -> dict[str, Any]:
    """The result of an entrant, reported by a name, on tasks of a suite; `tell` hears which one is next.

    `about` are further fields, such as the command. An entrant that can serve none of the tasks is refused.
    """
    began, results = time.perf_counter(), {}
    for task in tasks:
        tell(task.name)
        try:
            results[task.name] = score_task(name, entrant, task)
        except CannotServe as reason:
            results[task.name] = {"skipped": str(reason)}
        except InputError as error:
            raise InputError(f"{name}, {task.name}: {error}") from error
        forget_programs()
    if all("skipped" in result for result in results.values()):
        first, result = next(iter(results.items()))
        raise InputError(f"{name}: plays none of the tasks; {first}: {result['skipped']}")
    left_out = [task.name for task in SUITES[suite] if task.name not in results]
    return {
        "format": FORMAT,
        "suite": suite,
        "agent": name,
        **about,
        "tasks": results,
        "not_asked_for": left_out,
        "versions": {
            "rapidtask": rapidtask.__version__,
            "commit": describe_commit(),
            "jax": jax.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "machine": describe_machine(),
        "date": today(),
        "seconds": round(time.perf_counter() - began, 1),
    }


def score_task(name: str, entrant: Entrant, task: Task) -> dict[str, Any]:
    """The scores of one task, numbers with five digits; CannotServe where it is skipped."""
    environment = task.make()
    completed, seconds = entrant.play(environment, task.episodes, SEED)
    oracle = Scorer(environment, task.episodes, SEED)
    is_oracle = entrant == PolicyEntrant("oracle")
    scores = score(name, completed, completed if is_oracle else oracle.oracle, seed=SEED).to_json()
    kept = {field: _shorten(scores[field]) for field in KEPT}
    return {
        **kept,
        "milliseconds_per_step": _shorten(1000 * seconds / task.episodes),
        "episodes": task.episodes,
        "steps": environment.episode.episode_steps,
        "worlds": task.checksum,
    }


def _shorten(value: float | list[float]) -> Any:
    if isinstance(value, list):
        return [_shorten(one) for one in value[:NUM_GOALS]]
    return float(f"{value:.5g}")
