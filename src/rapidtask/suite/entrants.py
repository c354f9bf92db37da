"""Who can be scored: agents of the protocol, trained agents of this package, and reference policies.

Those of this package play in compiled loops (`evaluation.play`); all meet the same episodes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import jax
import numpy as np
from jaxtyping import Bool

from rapidtask.agents.agent import Agent
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.evaluation.play import play
from rapidtask.policies import POLICIES, Policy, make_policy
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained.load import find_agent, fit_agent
from rapidtask.runs.agent_files import agent_file, load_agent
from rapidtask.runs.config import RunConfig
from rapidtask.suite.protocol import MakeAgent, find_maker, make_suite_agent, play_agent

BLIND = ("random", "oracle")
"""Reference policies that look at nothing, and so may act where places are seen in views."""


class CannotServe(Exception):
    """The entrant has no agent for a task; the message says why."""


class Entrant(Protocol):
    """Who plays episodes of any task."""

    def play(
        self, environment: Environment, episodes: int, seed: int
    ) -> tuple[Bool[np.ndarray, "T E"], float]:
        """Whether each step completed a task, and seconds of a step of all episodes; or CannotServe."""
        ...


@dataclass(frozen=True)
class ProtocolEntrant:
    """Agents that a function of the user's makes."""

    maker: MakeAgent

    def play(
        self, environment: Environment, episodes: int, seed: int
    ) -> tuple[Bool[np.ndarray, "T E"], float]:
        """See `Entrant`."""
        agent, reason = make_suite_agent(self.maker, environment.spec)
        if agent is None:
            raise CannotServe(reason)
        return play_agent(environment, agent, episodes, seed)


@dataclass(frozen=True)
class PolicyEntrant:
    """A reference policy."""

    name: str

    def play(
        self, environment: Environment, episodes: int, seed: int
    ) -> tuple[Bool[np.ndarray, "T E"], float]:
        """See `Entrant`."""
        if environment.has_frames and self.name not in BLIND:
            raise CannotServe(f"the policy {self.name} looks at symbols, not at pixels")
        return play_compiled(environment, make_policy(self.name, environment), episodes, seed)


@dataclass(frozen=True)
class TrainedEntrant:
    """A trained agent of this package; it draws its actions, as in training."""

    agent: Agent
    config: RunConfig

    def play(
        self, environment: Environment, episodes: int, seed: int
    ) -> tuple[Bool[np.ndarray, "T E"], float]:
        """See `Entrant`. Fixed symbols grow with the world, and the memory with the episode."""
        if environment.has_frames and not isinstance(self.agent.encoder, PixelEncoder):
            raise CannotServe("the agent looks at symbols, not at pixels")
        try:
            agent, _ = fit_agent(self.agent, self.config, environment, new_symbols=True)
            policy = make_learned_policy(agent, environment)
        except InputError as error:
            raise CannotServe(str(error)) from error
        return play_compiled(environment, policy, episodes, seed)


def find_entrant(name: str) -> Entrant:
    """`policy:NAME`, `MODULE:FUNCTION`, a shipped agent by its name, or a trained one by file or folder."""
    kind, colon, rest = name.rpartition(":")
    if kind == "policy":
        if rest not in POLICIES:
            raise InputError(f"unknown policy {rest!r}; known: {', '.join(POLICIES)}")
        return PolicyEntrant(rest)
    if colon:
        return ProtocolEntrant(find_maker(name))
    try:
        return TrainedEntrant(*load_agent(agent_file(find_agent(name))))
    except InputError as error:
        raise InputError(f"agent {name}: {error}; your own is MODULE:FUNCTION") from None


def play_compiled(
    environment: Environment, policy: Policy, episodes: int, seed: int
) -> tuple[Bool[np.ndarray, "T E"], float]:
    """Play, and play again for the time of a step: the first time compiles."""
    completed = play(environment, policy, episodes, seed).completed
    began = time.perf_counter()
    jax.block_until_ready(play(environment, policy, episodes, seed).timesteps.completed)
    return completed, (time.perf_counter() - began) / environment.episode.episode_steps
