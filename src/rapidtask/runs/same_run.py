"""Whether a run goes on with what it was started with: options, streets, JAX."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax

from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.runs.config import dotted


def made_with(environment: Environment) -> dict[str, Any]:
    """What a run depends on beside its configuration: the streets of its cities, and JAX."""
    places = getattr(environment.pool, "places", None)
    cities = {city.name: city.checksum for city in places.cities} if places is not None else {}
    return {"cities": cities, "jax": jax.__version__}


def check_same_run(ours: dict[str, Any], theirs: dict[str, Any], path: Path) -> None:
    """Refuse a checkpoint of other options or other streets; only the number of steps may have grown."""
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
    for city in sorted({*made["cities"], *ours_made["cities"]}):
        if made["cities"].get(city) != ours_made["cities"].get(city):
            raise InputError(f"{path}: was trained in other streets than those found now: {city}")
    if made["jax"] != ours_made["jax"]:
        print(f"rapidtask: {path}: was written with JAX {made['jax']}; results may differ", file=sys.stderr)
