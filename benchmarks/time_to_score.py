"""Minutes and steps of training until held-out worlds are solved to a score, over several seeds.

Recipe `fast`, Memory&Planning 4x4. Scores are goals per episode of sampled actions in held-out worlds;
minutes count acting, learning and the evaluations, and leave out compilation, which is printed beside them.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from rapidtask.learning.config import FAST, epn_for
from rapidtask.runs.config import RunConfig
from rapidtask.runs.distributed import split_cpu
from rapidtask.runs.logs import read_log
from rapidtask.runs.programs import use_compilation_cache
from rapidtask.runs.run import RunOptions, run

SCORES = (5.0, 10.6, 17.0, 20.0, 23.0, 25.0, 27.0)


@dataclass(frozen=True)
class TimeToScore:
    """Options of the benchmark."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """Seeds of the runs."""
    steps: int = 400_000
    """Environment steps of each run."""
    out: Path | None = None
    """Folder to keep the runs in; by default they are thrown away."""


def main(options: TimeToScore) -> None:
    """Train one run per seed and print when each score was reached."""
    use_compilation_cache()
    split_cpu(FAST.cpu_devices)
    console = Console()
    table = Table(title=f"Time to score, {os.cpu_count()} cores", title_justify="left")
    for heading in ("goals / episode", *(f"seed {seed}" for seed in options.seeds), "mean", "worst"):
        table.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory() as scratch:
        logs = [train(seed, options, options.out or Path(scratch), console) for seed in options.seeds]
    for score in SCORES:
        reached = [first_above(log, score) for log in logs]
        cells = [f"{r['seconds'] / 60:.2f} min, {r['steps'] / 1e6:.2f}M" if r else "–" for r in reached]
        minutes = [r["seconds"] / 60 for r in reached if r]
        whole = len(minutes) == len(reached)
        table.add_row(
            f"> {score}",
            *cells,
            f"{np.mean(minutes):.2f} min" if whole else "–",
            f"{max(minutes):.2f} min" if whole else "–",
        )
    console.print(table)


def train(seed: int, options: TimeToScore, folder: Path, console: Console) -> list[dict]:
    """One run; its log."""
    config = RunConfig(agent=epn_for("fast"), learning=FAST, seed=seed, steps=options.steps)
    every = RunOptions(evaluate_every=2, evaluation_episodes=100)
    began = time.perf_counter()
    if run(config, folder / f"seed-{seed}", every).stopped_by is not None:
        raise SystemExit("stopped")
    log = read_log(folder / f"seed-{seed}" / "log.jsonl")
    last = log[-1]
    compilation = time.perf_counter() - began - last["seconds"]
    console.print(
        f"seed {seed}: {last['steps']:,} steps, {last['seconds'] / 60:.1f} minutes "
        f"({last['steps'] / last['seconds']:,.0f} steps/s with evaluations; {compilation:.0f} s of start and "
        f"compilation), {last['evaluation_goals_per_episode']:.2f} goals, "
        f"{last['evaluation_oracle_share_last_third']:.1%} of the oracle in the last third"
    )
    return log


def first_above(log: list[dict], score: float) -> dict | None:
    """The first record whose evaluation is above a score."""
    return next((r for r in log if r.get("evaluation_goals_per_episode", -1.0) > score), None)


if __name__ == "__main__":
    main(tyro.cli(TimeToScore))
