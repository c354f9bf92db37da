"""Where a number comes from: machine, commit, date, and the command that a run was started with."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
import shlex
import subprocess
from pathlib import Path
from typing import Any

import rapidtask
from rapidtask.agents import AGENTS
from rapidtask.envs.registry import domain_name, find_domain
from rapidtask.learning.config import epn_for, learning_for
from rapidtask.runs.config import RunConfig, agent_name


def describe_machine() -> str:
    """Processor, usable cores and system of this machine, in one line; no host name."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


def describe_commit() -> str:
    """Short hash of the commit this code is from, or the version where it is no checkout."""
    folder = Path(rapidtask.__file__).parent
    try:
        git = ["git", "-C", str(folder)]
        # A checkout of something else may surround an installed package.
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], check=True, capture_output=True)
        done = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return f"version {rapidtask.__version__}"
    return done.stdout.decode().strip()


def today() -> str:
    """Date, as in 2026-01-31."""
    return datetime.date.today().isoformat()


def training_command(config: RunConfig) -> str:
    """The command that starts a run with this configuration: every option that is not its default."""
    recipe, domain = config.recipe, domain_name(config.world)
    name = agent_name(config.agent)
    agent = epn_for(recipe, domain) if name == "epn" else AGENTS[name]()
    world = find_domain(domain)()
    words = ["rapidtask", "train", "--world", domain, "--agent", name, "--recipe", recipe]
    words += _flags("world", config.world, world)
    words += _flags("agent", config.agent, agent)
    words += _flags("learning", config.learning, learning_for(recipe, name, domain))
    if config.init_from is not None:
        words += ["--init-from", config.init_from, *(["--new-symbols"] if config.new_symbols else [])]
    return shlex.join([*words, "--steps", str(config.steps), "--seed", str(config.seed)])


def _flags(part: str, options: Any, defaults: Any) -> list[str]:
    words: list[str] = []
    for field in dataclasses.fields(options):
        value, name = getattr(options, field.name), field.name.replace("_", "-")
        if value == getattr(defaults, field.name):
            continue
        if isinstance(value, bool):
            words.append(f"--{part}.{name}" if value else f"--{part}.no-{name}")
        else:
            words += [f"--{part}.{name}", *map(str, value if isinstance(value, tuple | list) else [value])]
    return words


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()
