"""Options of worlds that somebody else's environment of Gymnasium makes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from rapidtask.envs.environment import EnvironmentSpec, WorldOptions
from rapidtask.errors import InputError
from rapidtask.lives.life import LifeOptions, describe, find_function
from rapidtask.options import Count, Range
from rapidtask.worlds.world import MOST_STATES


@dataclass(frozen=True)
class GymnasiumWorlds(WorldOptions):
    """An environment of Gymnasium with discrete actions, whose observations tell states apart.

    An episode here is a life in one of its worlds: `episode_steps` steps, in which its own episodes follow
    one another as tasks.
    """

    id: str = ""
    """Id of the environment, whose worlds are the seeds of its `reset`; or MODULE:FUNCTION, which makes the
    environment of a seed."""
    goal: str | None = None
    """MODULE:FUNCTION that tells the goal of the current task from the environment; by default the entry
    `desired_goal` or `goal` of its observations."""
    oracle: str | None = None
    """MODULE:FUNCTION that tells the best action from the environment, to score agents against; by default
    none."""
    reward: Literal["tasks", "environment"] = "tasks"
    """1 for each task that is completed, as in the other domains, or what the environment gives."""
    num_observations: Annotated[int, Range(2, MOST_STATES)] = 64
    """Most different observations, and goals, in one life."""
    num_actions: Count | None = None
    """Number of actions; by default as the environment tells."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per_step_reward and self.reward == "environment":
            raise InputError("per_step_reward: the reward is the environment's own, give 0")
        if self.id and self.num_actions is None:
            # Written down at once: agents are then loaded without their environment.
            object.__setattr__(self, "num_actions", describe(self.life))
            if self.oracle is not None:
                find_function(self.oracle, "--world.oracle")

    @property
    def life(self) -> LifeOptions:
        """What processes that step the environment are told."""
        step_reward = None if self.reward == "environment" else self.per_step_reward
        return LifeOptions(self.id, self.goal, self.num_observations, step_reward)

    @property
    def spec(self) -> EnvironmentSpec:
        """The shape of the environment."""
        if self.num_actions is None:
            raise InputError("--world gymnasium needs --world.id: an id of Gymnasium, or MODULE:FUNCTION")
        return EnvironmentSpec(self.num_observations, self.num_actions, self.episode_steps)

    def sample(self) -> NoReturn:
        """There are no tables of such worlds."""
        raise InputError(
            "--world gymnasium: its worlds are no tables, which this needs; such agents are trained and "
            "evaluated (rapidtask train, rapidtask evaluate --checkpoint)"
        )

    def sources(self) -> dict[str, str]:
        """Versions and checksums of what the worlds are made with."""
        found = {"gymnasium": importlib.metadata.version("gymnasium")}
        for name, flag in ((self.id, "--world.id"), (self.goal, "--world.goal")):
            if name and ":" in name and "-v" not in name:
                file = Path(inspect.getfile(find_function(name, flag)))
                found[name] = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        return found
