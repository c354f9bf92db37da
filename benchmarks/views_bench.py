"""How fast street views are rendered, and how fast an agent learns from them.

    python benchmarks/views_bench.py

Frames per second of one process, by the clock and by the processor's time (which others on the machine do not
lengthen as much). A store is built by one process per CPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from rapidtask.agents.epn import EPNConfig
from rapidtask.cities.generated import generated_city
from rapidtask.envs.environment import Environment, EpisodeOptions
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.trainer import Trainer
from rapidtask.views.renderer import RenderedFrames
from rapidtask.worlds.streets import sample_pool
from rapidtask.worlds.world import WorldPool

NUM_VIEWS = 150
REPEATS = 3


def frames_per_second(run: Callable[[], object], num_frames: int) -> str:
    """The best of several runs, by the clock and by processor time, in words."""
    clocks, processor = [], []
    for _ in range(REPEATS):
        start, started = time.perf_counter(), time.process_time()
        run()
        clocks.append(time.perf_counter() - start)
        processor.append(time.process_time() - started)
    by_clock, by_processor = num_frames / min(clocks), num_frames / min(processor)
    return f"{by_clock:7.1f} frames per second ({by_processor:.1f} per second of processor time)"


def pixel_training_rate(num_envs: int = 4, episode_steps: int = 50) -> float:
    """Environment steps per second of training an EPN on pixels: acting, embedding and updates."""
    city = generated_city("seinebank")
    frames = np.random.default_rng(0).integers(0, 256, (64, 84, 84, 3), np.uint8)
    pool = sample_pool([city], 16, 0)
    # Any frames will do: the time does not depend on what is on them.
    ids = np.where(
        pool.places.tail >= 0, (pool.places.tail + np.arange(pool.places.tail.shape[1])) % len(frames), -1
    )
    tables = WorldPool(pool.worlds, True, jnp.asarray(frames), jnp.asarray(ids, jnp.int32))
    environment = Environment(tables, EpisodeOptions(episode_steps=episode_steps))
    learning = LearningConfig(num_envs=num_envs, minibatch_size=num_envs * (episode_steps + 1))
    trainer = Trainer(environment, EPNConfig(), learning, total_steps=10**6, seed=0)
    state = trainer.init(environment)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        state, metrics = trainer.iterate(environment, state)
        jax.block_until_ready(metrics)
        times.append(time.perf_counter() - start)
    # The first compiles.
    return trainer.steps_per_iteration / min(times[1:])


def main() -> None:
    """Measure and print."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{os.cpu_count()} CPUs, numpy {np.__version__}, load {load:.1f}; one process each")
    for name in ("seinebank", "gridport"):
        source = RenderedFrames(generated_city(name))
        start = time.process_time()
        source.scene  # noqa: B018 (built when first looked at)
        built = time.process_time() - start
        chosen = np.linspace(0, len(source.city.neighbours) - 1, NUM_VIEWS).astype(int)
        source.make(chosen[:2])
        rate = frames_per_second(lambda source=source, chosen=chosen: source.make(chosen), NUM_VIEWS)
        print(f"rendered, {name:10}: {rate}; scene built in {built:.1f} s")
    print(f"pixel training, EPN, 4 environments of 50 steps: {pixel_training_rate():.1f} steps per second")


if __name__ == "__main__":
    main()
