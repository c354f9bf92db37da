"""Training speed: steps per second of a full iteration, against PyTorch with the paper's memory.

One-Shot StreetLearn has no peer; its row tells what a step costs beside one of the Memory&Planning Game.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from rapidtask.envs import make_environment
from rapidtask.learning.config import FAST, LearningConfig, epn_for
from rapidtask.learning.rollout import collect
from rapidtask.learning.trainer import Trainer
from rapidtask.runs.distributed import split_cpu

HERE = Path(__file__).resolve().parent
PEER_ENVIRONMENT = HERE.parent / ".venv-torch"
REPEATS = 4
EVERY_STEP = "rapidtask, every step"
"""Our row that does the peer's work: it learns from all steps of a rollout."""


def matmul_peak() -> float:
    """Floating-point operations per second of a large matrix product."""
    a = jnp.ones((2048, 2048))
    product = jax.jit(jnp.matmul)
    product(a, a).block_until_ready()
    return 2 * 2048**3 / best_seconds(lambda: product(a, a))


def best_seconds(function) -> float:
    """Least time of a few calls."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - began)
    return min(times)


def measure_ours(domain: str, config: LearningConfig) -> dict[str, float]:
    """Seconds of acting and of a whole iteration of a fresh agent."""
    split_cpu(config.cpu_devices)
    environment = make_environment(domain)
    trainer = Trainer(environment, epn_for("fast", domain), config, total_steps=10**6, seed=0)
    state = trainer.init(environment)
    act = eqx.filter_jit(
        lambda state: collect(environment, state.learner.agent, state.actors, trainer.num_steps)
    )
    began = time.perf_counter()
    jax.block_until_ready(act(state))
    acting = best_seconds(lambda: act(state))
    times = []
    state, _ = trainer.iterate(environment, state)
    compiled = time.perf_counter() - began
    for _ in range(REPEATS):
        began = time.perf_counter()
        state, _ = jax.block_until_ready(trainer.iterate(environment, state))
        times.append(time.perf_counter() - began)
    whole = min(times)
    steps = FAST.num_envs * environment.episode.episode_steps
    return {
        "steps_per_second": steps / whole,
        "acting": acting,
        "learning": whole - acting,
        "compile": compiled,
    }


def measure_peer(*flags: str) -> dict[str, float]:
    """The PyTorch peer, in its own environment."""
    python = PEER_ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", PEER_ENVIRONMENT], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "torch==2.13.0", "numpy"]
        subprocess.run(install, check=True)
    # Muon multiplies in bfloat16, for which PyTorch would use AMX tiles, which some virtual machines forbid.
    variables = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
    command = [python, HERE / "torch_peer" / "peer.py", *flags]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=variables)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure and print."""
    rows = {
        EVERY_STEP: measure_ours("memory-planning", replace(FAST, learned_share=1.0)),
        "rapidtask, recipe fast": measure_ours("memory-planning", FAST),
        "… on StreetLearn": measure_ours("streetlearn", FAST),
    }
    rows["PyTorch eager, 100 slots"] = measure_peer()
    try:
        rows["PyTorch compiled, 100 slots"] = measure_peer("--compile")
    except subprocess.CalledProcessError as error:
        Console().print(f"PyTorch compiled failed: {error.stderr.strip().splitlines()[-1]}")
    peer = max(row["steps_per_second"] for name, row in rows.items() if name.startswith("PyTorch"))
    table = Table(
        title="Training, EPN, Memory&Planning 4x4, 64 environments, minibatch 256", title_justify="left"
    )
    for heading in ("", "steps/s", "acting s", "learning s", "ratio to the faster peer"):
        table.add_column(heading, justify="right")
    for name, row in rows.items():
        numbers = (f"{row['steps_per_second']:,.0f}", f"{row['acting']:.2f}", f"{row['learning']:.2f}")
        table.add_row(name, *numbers, f"{row['steps_per_second'] / peer:.2f}")
    Console().print(table)
    Console().print(
        f"Compilation of ours: {rows[EVERY_STEP]['compile']:.0f} s; "
        f"matrix-multiply peak {matmul_peak() / 1e9:.0f} GFLOP/s"
    )


if __name__ == "__main__":
    main()
