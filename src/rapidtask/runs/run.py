"""A whole run: iterations, evaluation at intervals, checkpoints, logs, and stopping at any time."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, Sharding
from jaxtyping import Array

from rapidtask.agents.agent import Agent
from rapidtask.errors import InputError
from rapidtask.evaluation.scores import Scores
from rapidtask.files import lock_folder, write_atomically
from rapidtask.learning.trainer import Trainer, TrainState
from rapidtask.options import Count, CountOrZero, check_options
from rapidtask.runs.agent_files import AGENT_FILE, CHECKPOINTS, CONFIG_FILE, save_agent
from rapidtask.runs.checkpoint import (
    Tree,
    checkpoint_path,
    is_key,
    keep_latest,
    list_checkpoints,
    named_arrays,
    read_latest,
    restore,
    save_checkpoint,
    without_key,
)
from rapidtask.runs.config import RunConfig
from rapidtask.runs.logs import RunLog
from rapidtask.runs.programs import forget_programs
from rapidtask.runs.provenance import describe_commit, describe_machine
from rapidtask.runs.same_run import check_same_run, made_with
from rapidtask.runs.signals import collect_signals
from rapidtask.runs.worlds import open_worlds

MAX_BAD_ITERATIONS = 3
"""Iterations in a row without one finite update after which a run ends."""


class DivergedError(InputError):
    """Training gave no finite update for several iterations."""


@dataclass(frozen=True)
class RunOptions:
    """What a run does beside learning; its results do not depend on it."""

    checkpoint_every: Count = 10
    """Iterations between checkpoints."""
    keep: Count = 3
    """Checkpoints to keep."""
    evaluate_every: CountOrZero = 10
    """Iterations between evaluations on held-out worlds; 0 for none but the last."""
    evaluation_episodes: Count = 200
    """Episodes per evaluation."""
    workers: CountOrZero = 2
    """With --world gymnasium, processes that step environments; 0 for none but the learner's."""
    ray: str | None = None
    """With --world gymnasium, address of a cluster of Ray whose actors step environments, in place of
    processes; "local" starts one here."""

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Progress:
    """What a run shows after each iteration."""

    iteration: int
    first_iteration: int
    """Where this process began."""
    trainer: Trainer
    seconds: float
    """Of the whole run so far, compilation left out."""
    seconds_here: float
    """Of this process."""
    goals_per_episode: float
    scores: Scores | None
    """The newest evaluation."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    stopped_by: int | None
    """Signal that ended it early, if one did."""
    scores: Scores | None
    checkpoint: Path


def run(
    config: RunConfig,
    folder: Path,
    options: RunOptions,
    *,
    resume: bool = False,
    start_from: Agent | None = None,
    begin: Callable[[], None] = lambda: None,
    show: Callable[[Progress], None] = lambda progress: None,
) -> RunResult:
    """Train, from the start or from the newest whole checkpoint, until the configured steps or a signal.

    SIGINT and SIGTERM end the run after the iteration under way, with a checkpoint. One process at a time
    may write into the folder. `begin` is called before the first iteration, which is compiled. Weights to
    `start_from` are the run's first checkpoint: whoever resumes it does not need them again.
    """
    if not resume and list_checkpoints(folder / CHECKPOINTS):
        raise InputError(f"{folder} holds a run already; resume it with --resume, or choose another --out")
    try:
        with collect_signals() as signals, open_worlds(config, options.workers, options.ray) as worlds:
            trainer: Any = worlds.make_trainer()
            # Only now: what is refused leaves no folder behind.
            with lock_folder(folder) if jax.process_index() == 0 else nullcontext():
                begin()
                return _train(config, folder, options, resume, start_from, show, signals, worlds, trainer)
    finally:
        forget_programs()


def _train(
    config: RunConfig,
    folder: Path,
    options: RunOptions,
    resume: bool,
    start_from: Agent | None,
    show: Callable[[Progress], None],
    signals: list[int],
    worlds: Any,
    trainer: Any,
) -> RunResult:
    checkpoints, leads = folder / CHECKPOINTS, jax.process_index() == 0
    state = trainer.init(worlds.environment)
    if start_from is not None:
        state = _with_weights(state, start_from, trainer)
    record_of_run = config.to_json() | {"made_with": made_with(config.world)}
    if resume:
        state = _resumed(state, trainer, record_of_run, checkpoints)
    iteration = int(fetch(state.iteration))
    log = RunLog(folder, iteration if resume else None) if leads else None
    if leads:
        described = {"commit": describe_commit(), "machine": describe_machine()}
        described |= {"evaluated_in": config.world.held_out().sources()}
        text = json.dumps(record_of_run | described, indent=2)
        write_atomically(folder / CONFIG_FILE, f"{text}\n".encode())

    scorer = worlds.make_scorer(options.evaluation_episodes)
    scores: Scores | None = None
    bad_iterations, is_good, saved, stopped_by = 0, True, None, None
    before = log.seconds if log is not None else 0.0
    first, seconds = iteration, before
    with closing(log) if log is not None else nullcontext():
        if start_from is not None and iteration == 0:
            _save(state, record_of_run, checkpoints, 0, options.keep, log)
        while iteration < trainer.num_iterations and not (stopped_by := _agreed(signals)):
            began = time.perf_counter()
            state = worlds.enter(state, iteration, trainer)
            state, metrics = trainer.iterate(worlds.environment, state)
            record: dict[str, Any] = {name: float(value) for name, value in sorted(metrics.items())}
            iteration += 1
            last = iteration == trainer.num_iterations
            bad_iterations = bad_iterations + 1 if record["skipped_updates"] == 1.0 else 0
            if iteration > first + 1:  # the first iteration of a process is mostly the compiler's
                seconds += time.perf_counter() - began
            if last or (options.evaluate_every and iteration % options.evaluate_every == 0):
                began, compiles = time.perf_counter(), scores is None
                agent = fetch(state.learner.agent)
                scores = scorer(agent)
                assert scores is not None
                record |= {
                    "evaluation_goals_per_episode": scores.goals_per_episode,
                    "evaluation_oracle_share_last_third": scores.oracle_share_last_third,
                }
                seconds += 0.0 if compiles else time.perf_counter() - began
            steps = iteration * trainer.steps_per_iteration
            if log is not None:
                # JSON has no NaN: a number that is not finite is written as its name.
                finite = {name: x if math.isfinite(x) else str(x) for name, x in record.items()}
                log.write({"iteration": iteration, "steps": steps, "seconds": seconds, **finite})
            if bad_iterations >= MAX_BAD_ITERATIONS:
                kept = list_checkpoints(checkpoints)
                good = f"the last good checkpoint is {kept[0]}" if kept else "there is no good checkpoint"
                raise DivergedError(f"no finite update in {bad_iterations} iterations; {good}")
            # After an iteration with updates that were not finite, the weights are not to be relied on.
            is_good = record["skipped_updates"] == 0.0
            if is_good and (last or iteration % options.checkpoint_every == 0):
                _save(state, record_of_run, checkpoints, iteration, options.keep, log)
                saved = iteration
            if leads:
                goals = record["goals_per_episode"]
                show(Progress(iteration, first, trainer, seconds, seconds - before, goals, scores))
        if is_good and saved != iteration:
            _save(state, record_of_run, checkpoints, iteration, options.keep, log)
            saved = iteration
        if leads:
            save_agent(folder / AGENT_FILE, fetch(state.learner.agent), config)
    return RunResult(stopped_by, scores, checkpoint_path(checkpoints, iteration if saved is None else saved))


def fetch(tree: Any) -> Any:
    """A tree whose arrays this process holds whole, however they are spread over processes."""
    if jax.process_count() == 1:
        return tree
    return jax.tree.map(
        lambda x: x.addressable_data(0) if eqx.is_array(x) and x.is_fully_replicated else x, tree
    )


def _resumed(state: TrainState, trainer: Trainer, ours: dict[str, Any], checkpoints: Path) -> TrainState:
    found = read_latest(checkpoints)
    _check_same_everywhere(found[-1].name if found else "", checkpoints)
    if found is None:
        return state  # Killed before its first checkpoint: the run starts over.
    tensors, theirs, path = found
    check_same_run(ours, theirs, path)
    return _place(restore(state, tensors, path), trainer.shardings(state) if trainer.mesh else None)


def _with_weights(state: TrainState, agent: Agent, trainer: Trainer) -> TrainState:
    tensors = {name: np.asarray(array) for name, array in named_arrays(agent)}
    restored = restore(state.learner.agent, tensors, Path("--init-from"))
    shardings = trainer.shardings(state).learner.agent if trainer.mesh else None
    return eqx.tree_at(lambda s: s.learner.agent, state, _place(restored, shardings))


def _place(tree: Tree, shardings: Any) -> Tree:
    """Spread arrays that every process holds whole over the devices of a run, if it has several."""
    if shardings is None:
        return tree
    dynamic, static = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.tree.map(_spread, dynamic, shardings), static)


def _spread(leaf: Array, sharding: NamedSharding) -> Array:
    """An array that every process holds whole, spread over the devices of all of them."""
    data = np.asarray(without_key(leaf))
    spread = jax.make_array_from_callback(data.shape, sharding, lambda index: data[index])
    return jax.random.wrap_key_data(spread) if is_key(leaf) else spread


def _check_same_everywhere(name: str, checkpoints: Path) -> None:
    """All processes must go on from the same checkpoint."""
    if jax.process_count() > 1:
        digest = np.frombuffer(hashlib.sha256(name.encode()).digest(), np.uint8)
        if (multihost_utils.process_allgather(digest) != digest).any():
            raise InputError(f"{checkpoints}: not the same for all processes; they must share a file system")


def _save(
    state: TrainState,
    record: dict[str, Any],
    checkpoints: Path,
    iteration: int,
    keep: int,
    log: RunLog | None,
) -> None:
    if jax.process_count() > 1:
        state = fetch(_everywhere(state, state.iteration.sharding))
    if log is not None:
        path = checkpoint_path(checkpoints, iteration)
        log.sync()  # A checkpoint on disk implies the records of all its iterations.
        save_checkpoint(path, state, record)
        keep_latest(path, keep)


@eqx.filter_jit
def _everywhere(state: TrainState, replicated: Sharding) -> TrainState:
    """The state with all of it on every device, and keys as their raw bits."""
    arrays, static = eqx.partition(state, eqx.is_array)
    bits = jax.tree.map(without_key, arrays)
    return eqx.combine(jax.lax.with_sharding_constraint(bits, replicated), static)


def _agreed(signals: list[int]) -> int | None:
    """The signal to stop for, which all processes take notice of at the same iteration."""
    number = signals[0] if signals else 0
    if jax.process_count() > 1:
        number = int(multihost_utils.process_allgather(np.int32(number)).max())
    return number or None
