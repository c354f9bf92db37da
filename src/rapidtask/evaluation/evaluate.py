"""Evaluates policies by name in an environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import numpy as np

from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.evaluation.episodes import run_episodes
from rapidtask.evaluation.scores import Scores, score
from rapidtask.policies import Policy, make_policy


def evaluate(
    environment: Environment,
    policies: Iterable[str] | Mapping[str, Policy],
    *,
    episodes: int = 500,
    seed: int = 0,
    world: dict | None = None,
) -> Iterator[Scores]:
    """Score each policy on the same worlds, one after another.

    Args:
        environment: where to act.
        policies: names of reference policies, or policies by the name to report.
        episodes: episodes per policy.
        seed: seed of the worlds.
        world: description of the world to keep with the scores.
    """
    if episodes < 1:
        raise InputError(f"episodes is {episodes}, expected at least 1")
    if not isinstance(policies, Mapping):
        policies = {name: make_policy(name, environment) for name in policies}

    @cache
    def oracle() -> np.ndarray:
        return run_episodes(environment, make_policy("oracle", environment), episodes, seed)

    for name, policy in policies.items():
        completed = oracle() if name == "oracle" else run_episodes(environment, policy, episodes, seed)
        yield score(name, completed, oracle(), seed=seed, world=world or {})
