"""Scores of an evaluation: what the paper reports, each mean with its standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.evaluation.play import play
from rapidtask.policies import Policy, make_policy

MIN_SHARE_REACHED = 0.9
"""The n-th goal is scored only if at least this share of the episodes reached it."""


@dataclass(frozen=True)
class Scores:
    """How well a policy did over many episodes."""

    policy: str
    goals_per_episode: float
    goals_per_episode_stderr: float
    goals_last_third: float
    """Goals per episode in the last third of the steps."""
    goals_last_third_stderr: float
    oracle_share_last_third: float
    """Goals in the last third over the oracle's on the same worlds."""
    oracle_share_last_third_stderr: float
    steps_to_nth_goal: list[float]
    """Mean steps from the (n-1)-th to the n-th goal, over the episodes that reached the n-th."""
    steps_to_nth_goal_stderr: list[float]
    episodes: int
    seed: int
    world: dict = field(default_factory=dict)
    """The world's name and options."""
    sources: dict[str, str] = field(default_factory=dict)
    """Checksums of what the worlds are made from, by name, such as cities: options do not tell all."""

    def to_json(self) -> dict:
        """The scores as one JSON object."""
        return asdict(self)


@dataclass
class Scorer:
    """Scores policies in the same worlds; the oracle, which all are held against, plays there once."""

    environment: Environment
    """Where to act."""
    episodes: int = 500
    """Episodes per policy."""
    seed: int = 0
    """Seed of the worlds."""
    world: dict = field(default_factory=dict)
    """Description of the world to keep with the scores."""
    sources: dict[str, str] = field(default_factory=dict)
    """What it is made from, to keep with them: `WorldOptions.sources`."""

    def __post_init__(self) -> None:
        if self.episodes < 1:
            raise InputError(f"episodes is {self.episodes}, expected at least 1")

    @cached_property
    def oracle(self) -> Bool[np.ndarray, "T E"]:
        """Whether each step of the oracle completed a task."""
        return self.completed(make_policy("oracle", self.environment))

    def completed(self, policy: Policy) -> Bool[np.ndarray, "T E"]:
        """Whether each step of a policy completed a task."""
        return play(self.environment, policy, self.episodes, self.seed).completed

    def __call__(self, name: str, policy: Policy) -> Scores:
        """Score a policy, which is to be reported by a name."""
        completed = self.oracle if name == "oracle" else self.completed(policy)
        about = {"seed": self.seed, "world": self.world, "sources": self.sources}
        return score(name, completed, self.oracle, **about)


def evaluate(
    environment: Environment,
    policies: Iterable[str] | Mapping[str, Policy],
    *,
    episodes: int = 500,
    seed: int = 0,
) -> Iterator[Scores]:
    """Score reference policies by name, or policies by the name to report, on the same worlds, one by one."""
    scorer = Scorer(environment, episodes, seed)
    if not isinstance(policies, Mapping):
        policies = {name: make_policy(name, environment) for name in policies}
    for name, policy in policies.items():
        yield scorer(name, policy)


def score(
    policy: str,
    completed: Bool[np.ndarray, "T E"],
    oracle_completed: Bool[np.ndarray, "T E"],
    **about: Any,
) -> Scores:
    """Score a policy's episodes against the oracle's in the same worlds; `about` are further fields."""
    last_third = last_third_goals(completed)
    steps = [mean_and_stderr(intervals) for intervals in steps_between_goals(completed)]
    return Scores(
        policy,
        *mean_and_stderr(completed.sum(axis=0)),
        *mean_and_stderr(last_third),
        *ratio_and_stderr(last_third, last_third_goals(oracle_completed)),
        [mean for mean, _ in steps],
        [stderr for _, stderr in steps],
        episodes=completed.shape[1],
        **about,
    )


def last_third_goals(completed: Bool[np.ndarray, "T E"]) -> np.ndarray:
    """Goals of each episode in the last third of its steps."""
    return completed[len(completed) - max(len(completed) // 3, 1) :].sum(axis=0)


def steps_between_goals(completed: Bool[np.ndarray, "T E"]) -> list[np.ndarray]:
    """For n = 1, 2, …: the steps from the (n-1)-th goal to the n-th, one for each episode that reached it.

    Stops where fewer than MIN_SHARE_REACHED of the episodes got so far: the quick ones would flatter it.
    """
    count = completed.cumsum(axis=0)
    intervals: list[np.ndarray] = []
    previous = np.zeros(completed.shape[1], int)
    for n in range(1, int(count[-1].max()) + 1):
        reached = count[-1] >= n
        if reached.mean() < MIN_SHARE_REACHED:
            break
        at = np.argmax(count >= n, axis=0) + 1
        intervals.append((at - previous)[reached])
        previous = at
    return intervals


def mean_and_stderr(values: Float[np.ndarray, " E"]) -> tuple[float, float]:
    """Mean and its standard error (0 for a single value)."""
    spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(spread)


def ratio_and_stderr(values: np.ndarray, reference: np.ndarray) -> tuple[float, float]:
    """Ratio of two means over the same episodes, and its standard error to first order (delta method)."""
    if not reference.mean():
        return float("nan"), float("nan")
    ratio = values.mean() / reference.mean()
    residual = (values - ratio * reference) / reference.mean()
    return float(ratio), mean_and_stderr(residual)[1]
