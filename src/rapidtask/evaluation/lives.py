"""Lives in environments of Gymnasium: one loop for training and for scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent
from rapidtask.envs.environment import TimeStep
from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.errors import InputError
from rapidtask.evaluation.scores import Scores, score
from rapidtask.lives.life import Life, find_function
from rapidtask.lives.workers import WorkerLostError, Workers

HELD_OUT = 2**30
"""Worlds of training have smaller seeds, worlds of evaluations this and larger ones."""

MAX_LOST = 5
"""Processes that may be lost in one rollout before it is given up: they would be lost again."""


def world_seeds(seed: int, life: int, num_envs: int, *, held_out: bool) -> list[int]:
    """Seeds of the worlds of one life in each of B environments."""
    drawn = np.random.SeedSequence([seed, life, held_out]).generate_state(num_envs, np.uint32)
    return ((drawn % HELD_OUT) + HELD_OUT * held_out).tolist()


def live(
    workers: Workers,
    seeds: list[int],
    world: GymnasiumWorlds,
    choose: Callable[[TimeStep], np.ndarray],
) -> Iterator[TimeStep]:
    """One life in the world of each seed, timestep `[B]` by timestep; the last one is not acted on."""
    none = np.zeros(len(seeds), bool)
    shown, actions = workers.start(seeds), np.zeros(len(seeds), np.int32)
    for step in range(world.episode_steps + 1):
        last = step == world.episode_steps
        ends = last and world.time_limit == "termination"
        timestep: Any = TimeStep(
            observation=shown["observation"],  # pyright: ignore[reportArgumentType]
            goal=shown["goal"],  # pyright: ignore[reportArgumentType]
            action=actions,  # pyright: ignore[reportArgumentType]
            reward=shown["reward"],  # pyright: ignore[reportArgumentType]
            completed=shown["completed"],  # pyright: ignore[reportArgumentType]
            discount=np.full(len(seeds), 1.0 - ends, np.float32),  # pyright: ignore[reportArgumentType]
            first=none | (step == 0),  # pyright: ignore[reportArgumentType]
            last=none | last,  # pyright: ignore[reportArgumentType]
        )
        yield timestep
        if not last:
            actions = np.asarray(choose(timestep), np.int32)
            shown = workers.step(actions)


def live_through(workers: Workers, attempt: Callable[[], Any]) -> Any:
    """What an attempt at whole lives gives; it is made again where a process was lost on the way."""
    for _ in range(MAX_LOST):
        try:
            return attempt()
        except WorkerLostError as error:
            lost = error
    raise InputError(f"--world gymnasium: {MAX_LOST} processes in a row were lost in one rollout: {lost}")


class Decision(eqx.Module):
    """What an agent does at a timestep `[B]`."""

    action: Int[Array, " B"]
    log_probability: Float[Array, " B"]
    value: Float[Array, " B"]


@eqx.filter_jit
def decide(
    agent: Agent, state: Any, timestep: TimeStep, key: PRNGKeyArray, *, greedy: bool = False
) -> tuple[Decision, Any]:
    """Let an agent act in B environments; and what it remembers then."""
    output, state = agent.step(state, timestep, agent.embed())
    drawn = jax.random.categorical(key, output.logits)
    action = (jnp.argmax(output.logits, axis=-1) if greedy else drawn).astype(jnp.int32)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(output.logits), action[:, None], axis=-1)[:, 0]
    return Decision(action, chosen, output.value), state


class ActingAgent:
    """An agent that acts in B lives, and keeps its decisions."""

    def __init__(self, agent: Agent, num_envs: int, key: PRNGKeyArray, *, greedy: bool = False) -> None:
        self.agent, self.start = agent, agent.initial_state(num_envs)
        self.decisions: list[Decision] = []
        self._state, self._key, self._greedy = self.start, key, greedy

    def __call__(self, timestep: TimeStep) -> np.ndarray:
        """The actions at a timestep."""
        key = jax.random.fold_in(self._key, len(self.decisions))
        decision, self._state = decide(self.agent, self._state, timestep, key, greedy=self._greedy)
        self.decisions.append(decision)
        return np.asarray(decision.action)


@dataclass
class LivesScorer:
    """Scores agents in worlds of an environment of Gymnasium that none was trained in."""

    world: GymnasiumWorlds
    """The environment."""
    episodes: int = 200
    """Lives to score, side by side."""
    seed: int = 0
    """Seed of the worlds."""
    num_workers: int = 0
    """Processes that step the environments."""
    about: dict[str, Any] = field(default_factory=dict)
    """Further fields of the scores."""

    @cached_property
    def seeds(self) -> list[int]:
        """The worlds of the lives."""
        return world_seeds(self.seed, 0, self.episodes, held_out=True)

    @cached_property
    def oracle(self) -> np.ndarray:
        """Whether each step of the scripted oracle completed a task, `[T, E]`; none if there is no oracle."""
        completed = np.zeros((self.world.episode_steps, self.episodes), bool)
        if self.world.oracle is not None:
            choose, life = find_function(self.world.oracle, "--world.oracle"), Life(self.world.life)
            for episode, seed in enumerate(self.seeds):
                life.start(seed)
                for step in range(self.world.episode_steps):
                    completed[step, episode] = life.step(choose(life.env))["completed"]
            life.close()
        return completed

    def score_agent(self, name: str, agent: Agent, *, greedy: bool = False) -> Scores:
        """Score a trained agent."""
        key = jax.random.key(self.seed)
        return self._score(name, lambda: ActingAgent(agent, self.episodes, key, greedy=greedy))

    def score_policy(self, name: str) -> Scores:
        """Score a reference policy: random, or the scripted oracle."""
        if name == "oracle":
            return score(name, self.oracle, self.oracle, seed=self.seed, **self.about)
        if name != "random":
            raise InputError(
                f"--policy {name}: needs tables of the world; with --world gymnasium random, oracle"
            )
        return self._score(name, self._choose_at_random)

    def _choose_at_random(self) -> Callable[[TimeStep], np.ndarray]:
        generator, count = np.random.default_rng(self.seed), self.world.spec.num_actions
        return lambda timestep: generator.integers(count, size=self.episodes)

    def _score(self, name: str, make_choose: Callable[[], Callable[[TimeStep], np.ndarray]]) -> Scores:
        with Workers(self.world.life, self.episodes, self.num_workers) as workers:
            attempt = lambda: [t.completed for t in live(workers, self.seeds, self.world, make_choose())]  # noqa: E731
            completed = np.stack(live_through(workers, attempt))[1:]
        return score(name, completed, self.oracle, seed=self.seed, **self.about)
