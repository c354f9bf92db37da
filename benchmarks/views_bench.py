"""How fast street views are made: rendered from the streets, and cropped from panoramas.

    python benchmarks/views_bench.py

Frames per second of one process, by the clock and by the processor's time (which others on the machine do not
lengthen as much). A store is built by one process per CPU.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable

import numpy as np
from PIL import Image

from rapidtask.cities.generated import generate_city
from rapidtask.views.panoramas import crop_view
from rapidtask.views.sources import RenderedFrames

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


def panorama_file() -> bytes:
    """A panorama of the dataset's size as a JPEG: smooth, with some grain."""
    generator = np.random.default_rng(0)
    across = np.linspace(0, 2 * np.pi, 1664)
    image = 128 + 60 * np.sin(across)[None, :, None] + generator.normal(0, 15, (832, 1664, 3))
    buffer = io.BytesIO()
    Image.fromarray(np.clip(image, 0, 255).astype(np.uint8)).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def crop_all(file: bytes, num_views: int) -> None:
    """Decode a panorama once for every three views, as at a junction, and crop."""
    for i in range(num_views):
        if i % 3 == 0:
            panorama = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
        crop_view(panorama, 0.1 * i)


def main() -> None:
    """Measure and print."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{os.cpu_count()} CPUs, numpy {np.__version__}, load {load:.1f}; one process each")
    for name in ("seinebank", "gridport"):
        source = RenderedFrames(generate_city(name))
        start = time.process_time()
        source.scene  # noqa: B018 (built when first looked at)
        built = time.process_time() - start
        chosen = np.linspace(0, len(source.city.neighbours) - 1, NUM_VIEWS).astype(int)
        source.make(chosen[:2])
        rate = frames_per_second(lambda source=source, chosen=chosen: source.make(chosen), NUM_VIEWS)
        print(f"rendered, {name:10}: {rate}; scene built in {built:.1f} s")
    file = panorama_file()
    rate = frames_per_second(lambda: crop_all(file, 60), 60)
    print(f"cropped, 1664x832 JPEG: {rate}")


if __name__ == "__main__":
    main()
