"""What a new user waits for: wall and processor seconds of the first commands, beside an earlier version.

    python benchmarks/first_hour.py [--compare NAME=PYTHON:SRC ...]

Each command runs in a process of its own, with a cache of compiled programs that is empty (cold) and then
the same again (warm). PYTHON is an interpreter that has what the version in folder SRC needs.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rapidtask.runs.provenance import describe_commit, describe_machine, today

HERE = Path(__file__).resolve().parent
EVALUATE = ("evaluate", "--world", "memory-planning", "--episodes", "100")
COMMANDS: dict[str, tuple[str, ...]] = {
    "--help": ("--help",),
    "evaluate --policy oracle": (*EVALUATE, "--policy", "oracle"),
    "evaluate --pretrained epn-memory-planning": (*EVALUATE, "--pretrained", "epn-memory-planning"),
    "train --world memory-planning, first line": ("train", "--world", "memory-planning"),
    "train --world streetlearn, first line": ("train", "--world", "streetlearn"),
}


def measure(python: str, source: str, arguments: tuple[str, ...], cache: Path) -> tuple[float, float]:
    """Wall and processor seconds of a command; a training is over when its log has a line."""
    # The cache is where each version keeps it by default.
    variables = os.environ | {"PYTHONPATH": source, "XDG_CACHE_HOME": str(cache)}
    for name in ("JAX_COMPILATION_CACHE_DIR", "RAPIDTASK_CITIES", "XLA_FLAGS"):
        variables.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run" / "log.jsonl"
        out = ("--out", str(log.parent)) if arguments[0] == "train" else ()
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        process = subprocess.Popen(
            [python, "-m", "rapidtask", *arguments, *out],
            env=variables,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        was_running = process.poll() is None
        process.kill()
        _, errors = process.communicate()
        if not was_running and process.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {errors.strip().splitlines()[-1]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print; a row is printed as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--compare", nargs="*", default=[], metavar="NAME=PYTHON:SRC")
    versions = {describe_commit(): (sys.executable, str(HERE.parent / "src"))}
    for text in parser.parse_args().compare:
        name, _, where = text.partition("=")
        python, _, source = where.partition(":")
        versions[name] = (python, source)
    table = Table(title=f"{describe_machine()}, {today()}", title_justify="left", box=None)
    for heading in ("command", *(f"{name}, {kind} s" for name in versions for kind in ("wall", "processor"))):
        table.add_column(heading, justify="right" if table.columns else "left")
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory() as caches:
        for command, arguments in COMMANDS.items():
            for warmth in ("",) if command == "--help" else (", cold", ", warm"):
                cells: list[str] = []
                for number, (name, (python, source)) in enumerate(versions.items()):
                    cache = Path(caches) / f"{number}-{list(COMMANDS).index(command)}"
                    try:
                        seconds = measure(python, source, arguments, cache)
                        cells += [f"{s:.1f}" for s in seconds]
                    except RuntimeError as error:
                        progress.print(f"{name}: {error}")
                        cells += ["fails", "fails"]
                table.add_row(f"{command}{warmth}", *cells)
                progress.print(f"{command}{warmth}", *cells)
    load = f"load {os.getloadavg()[0]:.1f}"
    Console(width=200).print(table, load)


if __name__ == "__main__":
    main()
