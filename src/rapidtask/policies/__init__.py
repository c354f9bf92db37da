"""Reference policies, from random to oracle: the lines that learned agents are drawn against."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.policies.edges import EdgePlanner
from rapidtask.policies.policy import Policy
from rapidtask.policies.simple import Oracle, Random, RandomWalk
from rapidtask.policies.torus import TorusExplorer

PolicyName = Literal["random", "random-walk", "within-task", "edges", "edges-inverse", "hand-coded", "oracle"]
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
"""Names of the reference policies, weakest first."""


def make_policy(name: str, environment: Environment) -> Policy:
    """Build a reference policy for an environment.

    Where the world is no torus, the two policies that know its geometry explore and plan over edges and
    their inverses instead.
    """
    if name not in POLICIES:
        raise InputError(f"unknown policy {name!r}; known: {', '.join(POLICIES)}")
    edges_inverse = partial(EdgePlanner, inverses=True)
    explorer = edges_inverse if environment.rules.torus_size is None else TorusExplorer
    policies: dict[PolicyName, Callable[..., Policy]] = {
        "random": Random,
        "random-walk": RandomWalk,
        "within-task": partial(explorer, forgets=True),
        "edges": EdgePlanner,
        "edges-inverse": edges_inverse,
        "hand-coded": explorer,
        "oracle": partial(Oracle, worlds=environment.pool.worlds),
    }
    return policies[name](environment.rules, environment.num_observations)


__all__ = ["POLICIES", "Policy", "PolicyName", "make_policy"]
