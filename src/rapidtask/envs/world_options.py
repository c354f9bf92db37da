"""What the options of every domain have in common: they make its pool of worlds and its environment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, Self

from rapidtask.envs.environment import Environment, EnvironmentSpec, EpisodeOptions
from rapidtask.worlds.world import WorldPool


@dataclass(frozen=True)
class WorldOptions(ABC):
    """Options of a domain: those of its episodes, and those of its worlds, which a subclass adds.

    They are flat, because each is a flag of the command line and a keyword argument of Gymnasium's `make`.
    """

    episode_steps: int = 100
    """Steps per episode."""
    per_step_reward: float = 0.0
    """Reward of every step that completes no task."""
    time_limit: Literal["termination", "truncation"] = "termination"
    """Whether the step limit ends the world (discount 0, as released) or only the recording (discount 1)."""

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
