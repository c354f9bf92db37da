"""All benchmarks, one after the other: `make bench`.

    python benchmarks/run_all.py [name ...]

A benchmark that fails is reported at the end, after the others have run.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

from rich.console import Console

BENCHMARKS = {
    "environment_bench": "environment steps per second",
    "vector_bench": "make_vec's steps per second beside SyncVectorEnv",
    "planner_bench": "the planner's speed, and the cost of a step in long episodes",
    "rows_bench": "what a plan costs against the rows of memory",
    "long_life_bench": "a life of 100,000 steps in a town",
    "reach_probe": "how many moves ahead plans are right",
    "steps_probe": "where an agent's steps go, and which are wasted",
    "agents_bench": "what a step of each agent costs",
    "actors_bench": "training through Gymnasium, with and without lag",
    "street_bench": "street worlds and steps per second",
    "views_bench": "street views rendered and cropped per second",
    "training_bench": "training iterations, against PyTorch",
}
"""Modules of this folder whose `main()` takes no arguments; others are run by hand, and named at the end."""


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; returns the number that failed or are missing."""
    console = Console()
    if unknown := set(names) - set(BENCHMARKS):
        console.print(f"no such benchmark: {', '.join(sorted(unknown))}; known: {', '.join(BENCHMARKS)}")
        return len(unknown)
    failed = []
    for name in names or BENCHMARKS:
        console.rule(f"{name}: {BENCHMARKS[name]}", align="left")
        if not Path(__file__).with_name(f"{name}.py").exists():
            console.print(f"benchmarks/{name}.py is missing")
            failed.append(name)
            continue
        try:
            importlib.import_module(name).main()
        except Exception:
            traceback.print_exc()
            failed.append(name)
    others = {path.stem for path in Path(__file__).parent.glob("*.py")} - {*BENCHMARKS, "run_all", "timing"}
    if others:
        console.print(f"not run here: {', '.join(sorted(others))}")
    if failed:
        console.print(f"failed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
