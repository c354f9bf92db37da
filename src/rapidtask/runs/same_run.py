"""Whether a run goes on with what it was started with: options, worlds, JAX."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import jax

from rapidtask.envs.environment import WorldOptions
from rapidtask.envs.registry import DOMAINS, domain_name
from rapidtask.errors import InputError
from rapidtask.runs.config import dotted


def made_with(world: WorldOptions) -> dict[str, Any]:
    """What a run depends on beside its configuration: what its worlds are made from, and JAX."""
    sources, name = world.sources(), domain_name(world)
    if name not in DOMAINS:
        code = Path(inspect.getfile(type(world))).read_bytes()
        sources = sources | {name: hashlib.sha256(code).hexdigest()[:16]}
    return {"sources": sources, "jax": jax.__version__}


def check_same_run(ours: dict[str, Any], theirs: dict[str, Any], path: Path) -> None:
    """Refuse a checkpoint of other options or other worlds; only the number of steps may have grown."""
    ours = json.loads(json.dumps(ours))  # as the other was: lists for tuples
    made, ours_made = theirs.get("made_with"), ours["made_with"]
    leave_out = {"version": None, "made_with": None, "steps": None}
    before = dotted(theirs | leave_out)
    for name, value in dotted(ours | leave_out).items():
        if value != before.get(name):
            flag = name.replace("_", "-")
            raise InputError(f"{path}: was written with --{flag} {before.get(name)}, not {value}")
    if ours["steps"] < theirs["steps"]:
        raise InputError(f"{path}: --steps was {theirs['steps']}, and may be more but not {ours['steps']}")
    if made is None:  # before version 1 nothing was noted
        return
    before, now = made.get("sources", made.get("cities")), ours_made["sources"]
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            raise InputError(f"{path}: was trained in other worlds than those found now: {name} differs")
    if made["jax"] != ours_made["jax"]:
        print(f"rapidtask: {path}: was written with JAX {made['jax']}; results may differ", file=sys.stderr)
