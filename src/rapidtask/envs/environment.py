"""The environment core: reset and step over any pool of worlds, in pure JAX.

`reset` and `step` are for one environment and are vmapped by the caller; `step_batch` steps many and starts
the next episode of each one that has ended. Each environment owns its key, so its episodes do not depend on
how many others run beside it.

Auto-reset follows dm_env and Gymnasium's vector environments: the step after a last timestep ignores its
action and returns the first timestep of the next episode. A last timestep is thus always seen, and
termination (discount 0) and truncation (discount 1) differ only by their discount.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rapidtask.options import Count, Finite, check_options
from rapidtask.worlds.world import EpisodeWorld, Rules, WorldPool


@dataclass(frozen=True)
class EpisodeOptions:
    """What an episode is, whatever its world."""

    episode_steps: Count = 100
    """Steps per episode."""
    per_step_reward: Finite = 0.0
    """Reward of every step that completes no task."""
    time_limit: Literal["termination", "truncation"] = "termination"
    """Whether the step limit ends the world (discount 0, as released) or only the recording (discount 1)."""

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class EnvironmentSpec:
    """The shape of an environment: all that an agent is made for.

    A domain's options tell it before any world is sampled or file opened.
    """

    num_observations: int
    """Size of the observation vocabulary, V."""
    num_actions: int
    """Number of actions, A."""
    episode_steps: int
    """Steps per episode."""
    pixels: bool = False
    """Whether observations are frames instead of symbols."""


class EnvState(eqx.Module):
    """The full state of one environment; agents never see it."""

    world: EpisodeWorld
    state: Int[Array, ""]
    goal: Int[Array, ""]
    steps: Int[Array, ""]
    """Steps taken in this episode."""
    key: PRNGKeyArray
    """This episode's key: step t draws from fold_in(key, t)."""


class TimeStep(eqx.Module):
    """What one step shows: all that an agent sees is here."""

    observation: Int[Array, "*B"]
    """Observation id of the current state."""
    goal: Int[Array, "*B"]
    """Observation id of the goal state."""
    action: Int[Array, "*B"]
    """The action that led here; 0 at the first timestep."""
    reward: Float[Array, "*B"]
    """1 for a completed task, else the per-step reward; 0 at the first timestep."""
    completed: Bool[Array, "*B"]
    """Whether the action completed a task (what a reward of 1 tells the agent)."""
    discount: Float[Array, "*B"]
    """0 after a termination, else 1."""
    first: Bool[Array, "*B"]
    """Whether an episode starts here: forget everything."""
    last: Bool[Array, "*B"]
    """Whether an episode ends here: the next action is ignored."""


class Environment(eqx.Module):
    """An RTS environment: a pool of worlds, and what an episode in one of them is.

    - observation: ids of the current state and of the goal state, each an int32 below `num_observations`.
    - action: int32 below `num_actions`.
    - reward: 1 when a task completes, else `per_step_reward`.
    - episode: `episode_steps` steps, then a last timestep with discount 0 (termination) or 1 (truncation).
    """

    pool: WorldPool
    episode: EpisodeOptions = eqx.field(static=True, default=EpisodeOptions())

    @property
    def rules(self) -> Rules:
        """Rules of the pool's worlds."""
        return self.pool.worlds.rules

    @property
    def num_actions(self) -> int:
        """Number of actions, A."""
        return self.rules.num_actions

    @property
    def num_observations(self) -> int:
        """Size of the observation vocabulary, V."""
        return self.pool.worlds.num_observations

    @property
    def has_frames(self) -> bool:
        """Whether observations are seen in pixels."""
        return self.pool.frames is not None

    @property
    def spec(self) -> EnvironmentSpec:
        """What agents are made for."""
        return EnvironmentSpec(
            self.num_observations, self.num_actions, self.episode.episode_steps, self.has_frames
        )

    def frames_of(self, states: EnvState) -> Int[Array, "B V"] | None:
        """The frames that each observation id stands for in B environments; None if there are no frames.

        They stay the same within an episode. `pool.look_up_frames` gives their pixels.
        """
        return jax.vmap(self.pool.frames_of)(states.world) if self.has_frames else None

    def reset(self, key: PRNGKeyArray) -> tuple[EnvState, TimeStep]:
        """Start an episode in a new world."""
        world_key, task_key, episode_key = jax.random.split(key, 3)
        world = self.pool.sample(world_key)
        start, goal = self._sample_pair(task_key, world)
        zero = jnp.zeros((), jnp.int32)
        state = EnvState(world, start, goal, zero, episode_key)
        none = jnp.zeros((), bool)
        return state, self._timestep(state, zero, jnp.zeros(()), none, first=~none, last=none)

    def step(self, state: EnvState, action: Int[Array, ""]) -> tuple[EnvState, TimeStep]:
        """Take one action. After a last timestep, call `reset` (or let `step_batch` do it)."""
        worlds, rules, world = self.pool.worlds, self.rules, state.world
        action = jnp.asarray(action, jnp.int32)
        reached = worlds.next_state[world.index, state.state, action]
        completed = reached == state.goal
        if rules.collect is not None:
            completed &= action == rules.collect

        task_key = jax.random.fold_in(state.key, state.steps)
        if rules.respawn:
            new_start, new_goal = self._sample_pair(task_key, world)
        else:
            new_start, new_goal = reached, self._sample_other(jax.random.bits(task_key), world, reached)
        steps = state.steps + 1
        state = EnvState(
            world,
            jnp.where(completed, new_start, reached),
            jnp.where(completed, new_goal, state.goal),
            steps,
            state.key,
        )
        reward = jnp.where(completed, 1.0, self.episode.per_step_reward).astype(jnp.float32)
        last = steps >= self.episode.episode_steps
        return state, self._timestep(state, action, reward, completed, first=jnp.zeros((), bool), last=last)

    def reset_batch(self, keys: PRNGKeyArray) -> tuple[EnvState, TimeStep]:
        """Start one episode per key, `[B]`."""
        return jax.vmap(self.reset)(keys)

    def next_keys(self, states: EnvState) -> PRNGKeyArray:
        """Keys of the episodes that follow those of B environments."""
        return jax.vmap(jax.random.fold_in, (0, None))(states.key, self.episode.episode_steps)

    def step_batch(self, states: EnvState, actions: Int[Array, " B"]) -> tuple[EnvState, TimeStep]:
        """Step B environments; those whose episode has ended start their next one instead."""
        ended = states.steps >= self.episode.episode_steps
        stepped = jax.vmap(self.step)(states, actions)

        def restart(stepped: tuple[EnvState, TimeStep]) -> tuple[EnvState, TimeStep]:
            choose = jax.vmap(lambda ended, *both: jax.tree.map(partial(jnp.where, ended), *both))
            return choose(ended, self.reset_batch(self.next_keys(states)), stepped)

        # Drawing worlds is the dear part; environments in step with each other pay for it once an episode.
        return jax.lax.cond(ended.any(), restart, lambda stepped: stepped, stepped)

    def _sample_pair(self, key: PRNGKeyArray, world: EpisodeWorld) -> tuple[Array, Array]:
        """Two different states, uniformly."""
        start_bits, goal_bits = jax.random.bits(key, (2,))
        num_states = self.pool.worlds.num_states[world.index]
        start = _below(start_bits, num_states)
        return start, self._sample_other(goal_bits, world, start)

    def _sample_other(self, bits: Array, world: EpisodeWorld, state: Array) -> Array:
        """A state other than the given one, uniformly."""
        other = _below(bits, self.pool.worlds.num_states[world.index] - 1)
        return other + (other >= state)

    def _timestep(self, state: EnvState, action, reward, completed, *, first, last) -> TimeStep:
        ends_here = last if self.episode.time_limit == "termination" else jnp.zeros((), bool)
        return TimeStep(
            observation=state.world.observation[state.state],
            goal=state.world.observation[state.goal],
            action=action,
            reward=reward,
            completed=completed,
            discount=jnp.where(ends_here, 0.0, 1.0).astype(jnp.float32),
            first=first,
            last=last,
        )


@dataclass(frozen=True)
class WorldOptions(EpisodeOptions, ABC):
    """Options of a domain: those of its episodes, and those of its worlds, which a subclass adds.

    They are flat, because each is a flag of the command line and a keyword argument of Gymnasium's `make`.
    """

    @property
    def episode(self) -> EpisodeOptions:
        """What an episode is."""
        return EpisodeOptions(self.episode_steps, self.per_step_reward, self.time_limit)

    @property
    @abstractmethod
    def spec(self) -> EnvironmentSpec:
        """The shape of the environment, which is not built for it."""

    @abstractmethod
    def sample(self) -> WorldPool:
        """The worlds that episodes draw from."""

    def make(self) -> Environment:
        """Build the environment."""
        return Environment(self.sample(), self.episode)

    def held_out(self) -> Self:
        """The same options for worlds that are kept for evaluation: the same worlds, where none need be."""
        return self

    def sources(self) -> dict[str, str]:
        """Checksums of what the worlds are made from, by name: a run goes on only with the same."""
        return {}


def _below(bits: Array, limit: Array) -> Array:
    """Map 32 random bits to 0..limit-1; the bias is limit / 2³², far below any measurement here."""
    return (bits % limit.astype(jnp.uint32)).astype(jnp.int32)
