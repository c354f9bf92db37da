"""What tells observations of Gymnasium apart: their bytes; and which part of an observation is the goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from rapidtask.errors import InputError

GOALS = ("desired_goal", "goal")
"""Entries of an observation that are its task's goal."""
REACHED = "achieved_goal"
"""The entry that an observation has in common with its goal once that is reached."""
WHOLE = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Box)
"""Spaces of whole numbers."""


def key_of(observation: Any) -> bytes:
    """Equal for equal observations, and for no others of the same space."""
    if isinstance(observation, Mapping):
        parts = [f"{name}=".encode() + key_of(observation[name]) for name in sorted(observation)]
        return b";".join(parts)
    if isinstance(observation, str):
        return observation.encode()
    if isinstance(observation, tuple):
        return b";".join(key_of(part) for part in observation)
    array = np.asarray(observation)
    # Python's whole numbers and NumPy's of any size are the same state.
    return array.astype(np.int64).tobytes() if array.dtype.kind in "iub" else array.tobytes()


def goal_entry(space: Space) -> str | None:
    """Name of the entry that holds the goal, if observations of the space have one."""
    names = space.spaces if isinstance(space, spaces.Dict) else ()
    return next((name for name in GOALS if name in names), None)


def place_of(observation: Any, goal: str | None) -> Any:
    """The part of an observation that says where the agent is: all that is not about the goal."""
    if goal is None:
        return observation
    rest = {name: part for name, part in observation.items() if name not in (goal, REACHED)}
    # One entry stands for itself, so that the goal, which is such an entry, can be equal to it.
    return next(iter(rest.values())) if len(rest) == 1 else rest


def check_observations(space: Space, where: str) -> None:
    """Refuse observations that do not tell states apart by being equal."""
    if isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            check_observations(part, f"{where}[{name!r}]")
    elif isinstance(space, spaces.Tuple):
        for number, part in enumerate(space.spaces):
            check_observations(part, f"{where}[{number}]")
    elif isinstance(space, spaces.Box) and np.dtype(space.dtype).kind not in "iub":
        raise InputError(
            f"{where} is {space}: numbers that are not whole seldom repeat, so states could not be told "
            "apart; round them in a wrapper"
        )
    elif not isinstance(space, WHOLE) and not isinstance(space.sample(), str):
        raise InputError(
            f"{where} is {space}: expected Discrete, MultiDiscrete, MultiBinary, text, a Box of whole "
            "numbers, or a Dict or Tuple of such"
        )


def check_actions(space: Space, where: str) -> int:
    """How many actions there are; other than discrete ones are refused."""
    if not isinstance(space, spaces.Discrete):
        raise InputError(f"{where} has actions {space}: agents choose one of several, so expected Discrete")
    return int(space.n)
