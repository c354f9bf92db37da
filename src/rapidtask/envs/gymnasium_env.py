"""Gymnasium adapters: one environment as `gymnasium.Env`, a batch as `gymnasium.vector.VectorEnv`.

Importing rapidtask registers the ids:

    import gymnasium, rapidtask
    env = gymnasium.make("rapidtask/MemoryPlanning-v0", size=4, render_mode="rgb_array")
    env = gymnasium.make("rapidtask/OneShotStreetLearn-v0", city="held-out", rules="paper")
    envs = gymnasium.make_vec("rapidtask/MemoryPlanning-v0", num_envs=64, episode_steps=100)

- observation: `position` and `goal`, int32 one-hots of length V (`[B, V]` in the batch); uint8 frames
  `[84, 84, 3]` in street worlds with the option `frames`.
- action: `Discrete(A)`; in the game up, down, left, right, collect; in streets forward, left, right (and
  collect by the release's rules).
- reward: 1 for a completed task, else the option `per_step_reward`.
- end: after `episode_steps` steps; `terminated` or `truncated` as the option `time_limit` says.
- info: `completed`, whether the step completed a task.
- seeds: `reset(seed=s)` starts from `jax.random.key(s)` (s + i in environment i of a batch); later resets
  follow from it, the same in one environment and in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rapidtask.envs.environment import Environment, EnvState, TimeStep
from rapidtask.envs.episode import (
    Episode,
    extend_trail,
    make_scene,
    observe,
    seed_bits,
    start_batch,
    step_batch,
    to_numpy,
)
from rapidtask.envs.registry import make_environment
from rapidtask.errors import InputError

if TYPE_CHECKING:
    from rapidtask.draw import Scene

Observation = dict[str, Any]
"""`position` and `goal`, int32 one-hots `[*B, V]` or uint8 frames `[*B, 84, 84, 3]`."""

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}


def observation_space(environment: Environment) -> spaces.Dict:
    """Space of one environment's observations: two int32 one-hots of length V, or two uint8 frames."""
    high, shape, dtype = 1, (environment.num_observations,), np.int32
    if environment.pool.frames is not None:
        high, shape, dtype = 255, environment.pool.frames.shape[1:], np.uint8
    return spaces.Dict({name: spaces.Box(0, high, shape, dtype) for name in ("position", "goal")})


class RapidTaskEnv(gym.Env[Observation, np.int64]):
    """One environment. Each step is one compiled call."""

    metadata: ClassVar[dict[str, Any]] = METADATA

    def __init__(self, environment: Environment, render_mode: str | None = None) -> None:
        """Wrap an environment; `render_mode` is None, "ansi" or "rgb_array"."""
        _check_render_mode(environment, render_mode)
        self.environment = environment
        self.render_mode = render_mode
        self.observation_space = observation_space(environment)
        self.action_space = spaces.Discrete(environment.num_actions)
        self._episode = Episode(environment)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode in a new world."""
        _refuse_options(options)
        super().reset(seed=seed)
        if seed is None and self._episode.state is None:
            seed = int(self.np_random.integers(2**32))
        timestep = self._episode.start(seed)
        return self._observe(timestep), {"completed": False}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        if self._episode.over:
            raise ResetNeeded("call reset: no episode has begun, or the last one is over")
        if not self.action_space.contains(action):
            limit = self.environment.num_actions - 1
            raise InputError(f"action is {action!r}, expected a whole number in 0..{limit}")
        timestep = self._episode.step(int(action))
        terminated, truncated = _ends(timestep)
        return (
            self._observe(timestep),
            float(timestep.reward),
            bool(terminated),
            bool(truncated),
            {"completed": bool(timestep.completed)},
        )

    def render(self) -> str | np.ndarray | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The situation as text or as a picture `[H, W, 3]`, as the render mode says."""
        if self.render_mode is None:
            gym.logger.warn('render() draws nothing without a render_mode: "ansi" or "rgb_array"')
            return None
        if self._episode.state is None:
            raise ResetNeeded("call reset before render: there is no episode to draw")
        return _draw(self.render_mode, self._episode.scene())

    def _observe(self, timestep: TimeStep) -> Observation:
        assert self._episode.state is not None
        return observe(self.environment, self._episode.state, timestep)


class RapidTaskVectorEnv(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """B environments stepped as one batch on the device, in one compiled call.

    An environment whose episode has ended ignores its next action and returns the first observation of its
    next episode with reward 0: Gymnasium's `AutoresetMode.NEXT_STEP`.
    """

    metadata: ClassVar[dict[str, Any]] = {**METADATA, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, environment: Environment, num_envs: int = 1, render_mode: str | None = None) -> None:
        """Wrap `num_envs` copies of an environment; `render_mode` is None, "ansi" or "rgb_array"."""
        if num_envs < 1:
            raise InputError(f"num_envs is {num_envs}, expected at least 1")
        _check_render_mode(environment, render_mode)
        self.environment = environment
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space = observation_space(environment)
        self.single_action_space = spaces.Discrete(environment.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._states: EnvState | None = None
        # Only drawings need these; a batch that is never drawn should not pay for a loop over it.
        self._trails: list[list[int]] = [[] for _ in range(num_envs)]
        self._goals = np.zeros(num_envs, int)

    def reset(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode in every environment; a whole number s seeds environment i with s + i."""
        _refuse_options(options)
        if isinstance(seed, Sequence):
            seeds = list(seed)
        else:
            super().reset(seed=seed)
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise InputError(f"seed has {len(seeds)} entries for {self.num_envs} environments")
        if self._states is None:
            seeds = [int(self.np_random.integers(2**32)) if seed is None else seed for seed in seeds]
        bits = np.array([seed_bits(seed or 0) for seed in seeds])
        seeded = np.array([seed is not None for seed in seeds])
        self._states, timestep = start_batch(self.environment, self._states, bits, seeded)
        return self._observe(to_numpy(timestep))

    def step(
        self, actions: np.ndarray
    ) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one action in each environment, `[B]`."""
        if self._states is None:
            raise ResetNeeded("call reset: no episode has begun")
        actions, limit = np.asarray(actions), self.environment.num_actions
        whole = actions.shape == (self.num_envs,) and actions.dtype.kind in "iu"
        if not whole or actions.min() < 0 or actions.max() >= limit:
            raise InputError(
                f"actions are {actions!r}, expected {self.num_envs} whole numbers in 0..{limit - 1}"
            )
        self._states, timestep = step_batch(self.environment, self._states, actions.astype(np.int32))
        timestep = to_numpy(timestep)
        observation, info = self._observe(timestep)
        terminated, truncated = _ends(timestep)
        return observation, np.asarray(timestep.reward, np.float64), terminated, truncated, info

    def render(self) -> tuple[Any, ...] | None:
        """One drawing per environment."""
        if self.render_mode is None:
            return None
        if self._states is None:
            raise ResetNeeded("call reset before render: there is no episode to draw")
        states = (jax.tree.map(lambda leaf, i=i: leaf[i], self._states) for i in range(self.num_envs))
        return tuple(
            _draw(self.render_mode, make_scene(self.environment, state, trail, goals))
            for state, trail, goals in zip(states, self._trails, self._goals.tolist(), strict=True)
        )

    def _observe(self, timestep: TimeStep) -> tuple[Observation, dict[str, Any]]:
        if self.render_mode is not None:
            self._follow(timestep)
        # Gymnasium's convention: `_name` tells which environments have the information `name`.
        info = {"completed": np.array(timestep.completed), "_completed": np.ones(self.num_envs, bool)}
        assert self._states is not None
        return observe(self.environment, self._states, timestep), info

    def _follow(self, timestep: TimeStep) -> None:
        """Keep the trails and scores that the drawings show."""
        assert self._states is not None
        self._goals = np.where(timestep.first, 0, self._goals + timestep.completed)
        for i, place in enumerate(np.asarray(self._states.state).tolist()):
            begins = bool(timestep.first[i] or timestep.completed[i])
            self._trails[i] = extend_trail(self._trails[i], place, begins)


def make_env(world: str, render_mode: str | None = None, **options: Any) -> RapidTaskEnv:
    """What `gymnasium.make` calls: the environment of a domain, with the fields of its options."""
    return RapidTaskEnv(make_environment(world, **options), render_mode)


def make_vector_env(
    world: str, num_envs: int = 1, render_mode: str | None = None, **options: Any
) -> RapidTaskVectorEnv:
    """What `gymnasium.make_vec` calls: a batch, each environment in a world of its own."""
    return RapidTaskVectorEnv(make_environment(world, **options), num_envs, render_mode)


def _ends(timestep: TimeStep) -> tuple[np.ndarray, np.ndarray]:
    """Terminated and truncated: the discount tells which of the two a last timestep is."""
    last, terminal = np.asarray(timestep.last), np.asarray(timestep.discount) == 0
    return last & terminal, last & ~terminal


def _refuse_options(options: dict[str, Any] | None) -> None:
    if options:
        raise InputError(f"options: reset knows none, so {', '.join(map(repr, options))} would do nothing")


def _draw(mode: str, scene: Scene) -> str | np.ndarray:
    # Here, because most environments are never drawn.
    from rapidtask.draw import render_ansi, render_rgb

    return render_ansi(scene) if mode == "ansi" else render_rgb(scene)


def _check_render_mode(environment: Environment, render_mode: str | None) -> None:
    if render_mode is None:
        return
    if render_mode not in METADATA["render_modes"]:
        raise InputError(
            f"render_mode is {render_mode!r}, expected one of {METADATA['render_modes']} or None"
        )
    from rapidtask.draw import check_drawable

    check_drawable(environment.rules, environment.pool.places)
