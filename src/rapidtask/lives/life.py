"""A life in one world of Gymnasium: a fixed number of steps, in which one task follows another.

What Gymnasium calls an episode is a task here: where it ends, the next one begins in the same world, in the
same step, and its first observation is what the last action is seen to lead to. Observations and goals become
ids: in each life new ones, in the order in which they are first seen, so that nothing can be known by heart.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from rapidtask.errors import InputError
from rapidtask.lives.keys import REACHED, check_actions, check_observations, goal_entry, key_of, place_of

SHOWN = np.dtype([("observation", "i4"), ("goal", "i4"), ("reward", "f4"), ("completed", "?")])
"""What one step of a life shows: ids of observation and goal, the reward, and whether it completed a task."""

SUCCESS = ("is_success", "success", "completed")
"""What environments call a completed task in their `info`."""


@dataclass(frozen=True)
class LifeOptions:
    """Which environment, and how it is lived in."""

    environment: str
    """An id of Gymnasium, whose seeds are the worlds; or MODULE:FUNCTION, which makes the world of a seed."""
    goal: str | None
    """MODULE:FUNCTION that tells the current task's goal from the environment, if observations do not."""
    num_observations: int
    """Most ids in a life."""
    step_reward: float | None = 0.0
    """Reward of a step that completes no task, one that does having 1; None for the environment's own."""


def find_function(name: str, flag: str) -> Callable[..., Any]:
    """A function by `module:name`, of a module in the current folder or wherever Python finds it."""
    module, colon, function = name.partition(":")
    if not colon:
        raise InputError(f"{flag} {name}: expected MODULE:FUNCTION")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:  # whatever a module of the user's may raise
        raise InputError(f"{flag} {name}: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise InputError(f"{flag} {name}: is no function")
    return found


class Life:
    """One environment, life after life."""

    def __init__(self, options: LifeOptions) -> None:
        self._options, self._env, self._makes_worlds = options, None, ":" in options.environment
        self._goal = None if options.goal is None else find_function(options.goal, "--world.goal")
        self._make = self._maker()
        self._entry: str | None = None
        self._checked = False

    @property
    def env(self) -> gym.Env:
        """The environment that is lived in."""
        assert self._env is not None, "no life has begun"
        return self._env

    def start(self, seed: int) -> np.void:
        """Begin a life in the world of a seed."""
        if self._makes_worlds or self._env is None:
            self.close()
            try:
                self._env = self._make(seed)
            except Exception as error:  # whatever somebody's environment may raise
                name = f"--world.id {self._options.environment}"
                raise InputError(f"{name}: {type(error).__name__}: {error}") from error
            self._check()
        self._seed, self._ids = seed, {}
        # An order of ids that no other life has.
        self._free = np.random.default_rng(seed).permutation(self._options.num_observations).tolist()
        observation, _ = self.env.reset(seed=seed)
        shown = self._shown(observation, 0.0, False)
        shown["reward"] = 0.0
        return shown

    def step(self, action: int) -> np.void:
        """Take an action; where a task ends, the next one begins."""
        first = getattr(self.env.action_space, "start", 0)
        observation, reward, terminated, truncated, info = self.env.step(int(action) + int(first))
        completed = self._completed(observation, float(reward), terminated, info)
        if terminated or truncated:
            # The worlds of an id are its seeds; of those that a function made, the next task is drawn.
            observation, _ = self.env.reset(seed=None if self._makes_worlds else self._seed)
        return self._shown(observation, float(reward), completed)

    def close(self) -> None:
        """Let go of the environment."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _maker(self) -> Callable[[int], gym.Env]:
        name = self._options.environment
        if self._makes_worlds and "-v" not in name:
            return find_function(name, "--world.id")
        # As in `gymnasium.make`, MODULE:ID imports the module that registers the id.
        self._makes_worlds = False
        return lambda seed: gym.make(name, max_episode_steps=-1)

    def _check(self) -> None:
        if self._checked:
            return
        name = f"--world.id {self._options.environment}"
        if not isinstance(self.env, gym.Env):
            raise InputError(f"{name}: makes {type(self.env).__name__}, not an environment of Gymnasium")
        check_actions(self.env.action_space, name)
        check_observations(self.env.observation_space, f"{name}: its observation")
        self._entry = goal_entry(self.env.observation_space)
        if self._entry is None and self._goal is None:
            raise InputError(
                f"{name}: its observations {self.env.observation_space} have no entry desired_goal or goal; "
                "name a function of the environment that tells the goal: --world.goal MODULE:FUNCTION"
            )
        self._checked = True

    def _completed(self, observation: Any, reward: float, terminated: bool, info: dict[str, Any]) -> bool:
        for name in SUCCESS:
            if name in info:
                return bool(info[name])
        if self._entry is not None and REACHED in observation:
            return key_of(observation[REACHED]) == key_of(observation[self._entry])
        return terminated and reward > 0

    def _shown(self, observation: Any, reward: float, completed: bool) -> np.void:
        goal = observation[self._entry] if self._goal is None else self._goal(self.env)
        if self._options.step_reward is not None:
            reward = 1.0 if completed else self._options.step_reward
        place, wanted = self._id(place_of(observation, self._entry)), self._id(goal)
        return np.array([(place, wanted, reward, completed)], SHOWN)[0]

    def _id(self, observation: Any) -> int:
        key = key_of(observation)
        if key not in self._ids:
            if not self._free:
                raise InputError(
                    f"--world.num-observations is {self._options.num_observations}: a life in the world of "
                    f"seed {self._seed} has more different observations"
                )
            self._ids[key] = self._free.pop()
        return self._ids[key]


class Lives:
    """Several environments of this process, in step with each other."""

    def __init__(self, options: LifeOptions, count: int) -> None:
        self.lives = [Life(options) for _ in range(count)]

    def start(self, seeds: Sequence[int]) -> np.ndarray:
        """Begin a life in each, `[B]`."""
        return np.array([life.start(seed) for life, seed in zip(self.lives, seeds, strict=True)], SHOWN)

    def step(self, actions: Sequence[int]) -> np.ndarray:
        """Take an action in each, `[B]`."""
        return np.array([life.step(action) for life, action in zip(self.lives, actions, strict=True)], SHOWN)

    def close(self) -> None:
        """Let go of the environments."""
        for life in self.lives:
            life.close()


def describe(options: LifeOptions) -> int:
    """How many actions an environment has; one that cannot be lived in is refused."""
    life = Life(options)
    life.start(0)
    actions = check_actions(life.env.action_space, options.environment)
    life.close()
    return actions
