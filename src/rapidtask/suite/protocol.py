"""Agents of other libraries: what they fulfil to be scored, how they are found, and how they play.

`make_agent(spec)` returns an agent for worlds of a shape (`EnvironmentSpec`), or None where it cannot serve
them. The agent is an object of two methods, for B episodes side by side; no class need be derived from.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from jaxtyping import Bool

from rapidtask.envs.environment import Environment, EnvironmentSpec
from rapidtask.envs.gymnasium_env import RapidTaskVectorEnv
from rapidtask.errors import InputError
from rapidtask.evaluation.play import environment_keys, episode_keys


class SuiteAgent(Protocol):
    """What acts in B episodes at once."""

    def reset(self, num_episodes: int) -> Any:
        """Forget everything: B episodes begin."""

    def act(self, observation: dict[str, np.ndarray]) -> Any:
        """The actions `[B]`, whole numbers, at an observation.

        `position` and `goal` are int32 one-hots `[B, V]`, or uint8 frames `[B, 84, 84, 3]`;
        `previous_action` is a one-hot `[B, A]`, zeros at first; `previous_reward` is a float32 `[B, 1]`.
        """


MakeAgent = Callable[[EnvironmentSpec], Any]
"""Makes a `SuiteAgent`, or None; what a user's function really returns is checked when it is called."""


def find_maker(name: str) -> MakeAgent:
    """The function of `MODULE:FUNCTION` or `FILE.py:FUNCTION`; of the current folder, or installed."""
    place, _, function = name.rpartition(":")
    try:
        found = getattr(_import(place), function)
    except Exception as error:  # whatever a module of the user's may raise
        what = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        raise InputError(f"agent {name}: {what}{_one_line(error)}") from error
    if not callable(found):
        raise InputError(f"agent {name}: {function} is a {type(found).__name__}, expected a function")
    return found


def make_suite_agent(maker: MakeAgent, spec: EnvironmentSpec) -> tuple[SuiteAgent | None, str]:
    """An agent for a shape of worlds; or None, and the reason why there is none."""
    try:
        agent = maker(spec)
    except Exception as error:  # the agent's way to say no
        return None, f"make_agent: {type(error).__name__}: {_one_line(error)}"
    if agent is None:
        return None, "make_agent returned None"
    for method in ("reset", "act"):
        if not callable(getattr(agent, method, None)):
            raise InputError(f"make_agent returned a {type(agent).__name__}, which has no method {method}")
    return agent, ""


def play_agent(
    environment: Environment, agent: SuiteAgent, num_episodes: int, seed: int
) -> tuple[Bool[np.ndarray, "T E"], float]:
    """Whether each step completed a task, in the very episodes of `evaluation.play`; seconds of one `act`.

    The first call of `act`, in which some compile, is left out of the time.
    """
    envs = RapidTaskVectorEnv(environment, num_episodes, show_previous=True)
    observation, _ = envs.reset_to(environment_keys(episode_keys(seed, num_episodes)))
    agent.reset(num_episodes)
    completed, seconds = [], []
    for _ in range(environment.episode.episode_steps):
        began = time.perf_counter()
        actions = agent.act(observation)
        seconds.append(time.perf_counter() - began)
        actions = check_actions(actions, num_episodes, environment.num_actions)
        observation, _, _, _, info = envs.step(actions)
        completed.append(info["completed"])
    return np.stack(completed), float(np.mean(seconds[1:] or seconds))


def check_actions(actions: Any, num_episodes: int, num_actions: int) -> np.ndarray:
    """The actions as an array; what is none of B whole numbers in range is named."""
    expected = f"expected {num_episodes} whole numbers in 0..{num_actions - 1}"
    try:
        array = np.asarray(actions)
    except ValueError:  # ragged
        raise InputError(f"act returned a {type(actions).__name__}, {expected}") from None
    if array.shape != (num_episodes,) or array.dtype.kind not in "iu":
        raise InputError(f"act returned {array.dtype} of shape {array.shape}, {expected}")
    if (wrong := array[(array < 0) | (array >= num_actions)]).size:
        raise InputError(f"act returned the action {wrong[0]}, {expected}")
    return array


def _import(place: str) -> ModuleType:
    if not place.endswith(".py"):
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        return importlib.import_module(place)
    path = Path(place)
    if not path.is_file():
        raise InputError(f"{place}: no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Known by its name before it runs, as an import would have it: dataclasses and pickles look there.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
