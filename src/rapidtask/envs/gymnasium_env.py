"""Gymnasium adapters: one environment as `gymnasium.Env`, a batch as `gymnasium.vector.VectorEnv`.

Importing rapidtask registers the ids:

    import gymnasium, rapidtask
    env = gymnasium.make("rapidtask/MemoryPlanning-v0", size=4, render_mode="rgb_array")
    env = gymnasium.make("rapidtask/OneShotStreetLearn-v0", city="held-out", rules="paper")
    envs = gymnasium.make_vec("rapidtask/MemoryPlanning-v0", num_envs=64, episode_steps=100)

- observation: `position` and `goal`, int32 one-hots of length V (`[B, V]` in the batch); uint8 frames
  `[84, 84, 3]` in street worlds with the option `frames`.
- with the argument `show_previous=True` also what recurrent agents are given: `previous_action`, a one-hot
  of length A (zeros at the start of an episode), and `previous_reward`, a float32 of shape `[1]`.
- action: `Discrete(A)`; in the game up, down, left, right, collect; in streets forward, left, right (and
  collect by the release's rules).
- reward: 1 for a completed task, else the option `per_step_reward`.
- end: after `episode_steps` steps; `terminated` or `truncated` as the option `time_limit` says.
- info: `completed`, whether the step completed a task.
- seeds: `reset(seed=s)` starts from `jax.random.key(s)` (s + i in environment i of a batch); later resets
  follow from it, the same in one environment and in a batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from multiprocessing import get_context
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import PRNGKeyArray

from rapidtask.envs.environment import Environment
from rapidtask.envs.episode import RunningEpisodes, observation_format
from rapidtask.envs.registry import make_environment
from rapidtask.errors import InputError

Observation = dict[str, Any]
"""`position` and `goal`, int32 one-hots `[*B, V]` or uint8 frames `[*B, 84, 84, 3]`, and the rest."""

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}


class RapidTaskVectorEnv(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """B environments stepped as one batch on the device, in one compiled call.

    An environment whose episode has ended ignores its next action and returns the first observation of its
    next episode with reward 0: Gymnasium's `AutoresetMode.NEXT_STEP`.
    """

    metadata: ClassVar[dict[str, Any]] = {**METADATA, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, environment: Environment, num_envs: int = 1, render_mode: str | None = None, show_previous=False
    ) -> None:
        """Wrap `num_envs` copies of an environment; `render_mode` is None, "ansi" or "rgb_array"."""
        if num_envs < 1:
            raise InputError(f"num_envs is {num_envs}, expected at least 1")
        if render_mode is not None:
            known = METADATA["render_modes"]
            if render_mode not in known:
                raise InputError(f"render_mode is {render_mode!r}, expected one of {known} or None")
            # Here, because most environments are never drawn.
            from rapidtask.draw import check_drawable

            check_drawable(environment.rules, environment.pool.places)
        self.environment = environment
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.show_previous = show_previous
        shape, dtype, high = observation_format(environment)
        shown: dict[str, gym.Space] = {
            name: spaces.Box(0, high, shape, dtype) for name in ("position", "goal")
        }
        if show_previous:
            rewards = (0.0, 1.0, environment.episode.per_step_reward)
            shown["previous_action"] = spaces.Box(0, 1, (environment.num_actions,), np.int32)
            shown["previous_reward"] = spaces.Box(min(rewards), max(rewards), (1,), np.float32)
        self.single_observation_space = spaces.Dict(shown)
        self.single_action_space = spaces.Discrete(environment.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        # A batch that is never drawn should not pay for a loop over it.
        self.episodes = RunningEpisodes(environment, num_envs, drawn=render_mode is not None)

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode in every environment; a whole number s seeds environment i with s + i."""
        if options:
            names = ", ".join(map(repr, options))
            raise InputError(f"options: reset knows none, so {names} would do nothing")
        if isinstance(seed, Sequence):
            seeds = list(seed)
        else:
            super().reset(seed=seed)
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise InputError(f"seed has {len(seeds)} entries for {self.num_envs} environments")
        if self.episodes.states is None:
            seeds = [int(self.np_random.integers(2**32)) if seed is None else seed for seed in seeds]
        self.episodes.start(seeds)
        return self._shown()

    def reset_to(self, keys: PRNGKeyArray) -> tuple[Observation, dict[str, Any]]:
        """Start the episode of a JAX key in every environment, such as one that was played elsewhere."""
        self.episodes.start_with(keys)
        return self._shown()

    def step(
        self, actions: np.ndarray
    ) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one action in each environment, `[B]`."""
        if self.episodes.states is None:
            raise ResetNeeded("call reset: no episode has begun")
        timestep = self.episodes.step(actions)
        observation, info = self._shown()
        # The discount tells which of the two ends a last timestep is.
        terminal = np.asarray(timestep.discount) == 0
        terminated, truncated = timestep.last & terminal, timestep.last & ~terminal
        return observation, np.asarray(timestep.reward, np.float64), terminated, truncated, info  # pyright: ignore

    def render(self) -> tuple[Any, ...] | None:
        """One drawing per environment."""
        if self.render_mode is None:
            return None
        if self.episodes.states is None:
            raise ResetNeeded("call reset before render: there is no episode to draw")
        from rapidtask.draw import render_ansi, render_rgb

        draw = render_ansi if self.render_mode == "ansi" else render_rgb
        return tuple(draw(self.episodes.scene(i)) for i in range(self.num_envs))

    def _shown(self) -> tuple[Observation, dict[str, Any]]:
        timestep, observation = self.episodes.timestep, self.episodes.observe()
        assert timestep is not None
        completed = np.array(timestep.completed)
        if self.show_previous:
            taken = np.eye(self.environment.num_actions, dtype=np.int32)[timestep.action]
            observation["previous_action"] = np.where(timestep.first[:, None], 0, taken)
            observation["previous_reward"] = np.array(timestep.reward)[:, None]
        # Gymnasium's convention: `_name` tells which environments have the information `name`.
        info = {"completed": completed, "_completed": np.ones(self.num_envs, bool)}
        return observation, info


class RapidTaskEnv(gym.Env[Observation, np.int64]):
    """One environment: a batch of one, whose next episode waits for `reset`."""

    metadata: ClassVar[dict[str, Any]] = METADATA

    def __init__(
        self, environment: Environment, render_mode: str | None = None, *, show_previous: bool = False
    ) -> None:
        """Wrap an environment; `render_mode` is None, "ansi" or "rgb_array"."""
        self.environment = environment
        self.render_mode = render_mode
        self.batch = RapidTaskVectorEnv(environment, 1, render_mode, show_previous=show_previous)
        self.observation_space = self.batch.single_observation_space
        self.action_space = self.batch.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode in a new world."""
        super().reset(seed=seed)
        observation, _ = self.batch.reset(seed=[seed], options=options)
        return {name: row[0] for name, row in observation.items()}, {"completed": False}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        if self.batch.episodes.over:
            raise ResetNeeded("call reset: no episode has begun, or the last one is over")
        observation, *numbers, info = self.batch.step(np.array([action]))
        reward, terminated, truncated = (array.item() for array in numbers)
        shown = {name: row[0] for name, row in observation.items()}
        return shown, reward, terminated, truncated, {"completed": info["completed"].item()}

    def render(self) -> str | np.ndarray | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The situation as text or as a picture `[H, W, 3]`, as the render mode says."""
        drawings = self.batch.render()
        if drawings is None:
            gym.logger.warn('render() draws nothing without a render_mode: "ansi" or "rgb_array"')
            return None
        return drawings[0]


def make_env(
    world: str, render_mode: str | None = None, *, show_previous: bool = False, **options: Any
) -> RapidTaskEnv:
    """What `gymnasium.make` calls: the environment of a domain, with the fields of its options."""
    refuse_fork()
    return RapidTaskEnv(make_environment(world, **options), render_mode, show_previous=show_previous)


def refuse_fork() -> None:
    """Refuse what forks next, as JAX would hang: an AsyncVectorEnv that makes a first environment here."""
    # Its options are not passed on.
    frame = inspect.currentframe()
    while frame is not None:
        envs, frame = frame.f_locals.get("self"), frame.f_back
        if isinstance(envs, AsyncVectorEnv) and get_context(envs.context).get_start_method() == "fork":
            raise InputError(
                'vectorization_mode is "async", whose processes are forked, and JAX hangs in those: leave it '
                'out, or add vector_kwargs={"context": "spawn"}'
            )


def make_vector_env(
    world: str, num_envs: int = 1, render_mode: str | None = None, show_previous=False, **options: Any
) -> RapidTaskVectorEnv:
    """What `gymnasium.make_vec` calls: a batch, each environment in a world of its own."""
    return RapidTaskVectorEnv(make_environment(world, **options), num_envs, render_mode, show_previous)
