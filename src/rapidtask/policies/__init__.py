"""Reference policies, from random to oracle: the lines that learned agents are drawn against."""

from __future__ import annotations

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
    rules = environment.rules
    knows = (rules, environment.num_observations)
    is_torus = rules.torus_size is not None
    match name:
        case "random":
            return Random(*knows)
        case "random-walk":
            return RandomWalk(*knows)
        case "within-task":
            if is_torus:
                return TorusExplorer(*knows, forgets=True)
            return EdgePlanner(*knows, inverses=True, forgets=True)
        case "edges":
            return EdgePlanner(*knows)
        case "edges-inverse":
            return EdgePlanner(*knows, inverses=True)
        case "hand-coded":
            return TorusExplorer(*knows) if is_torus else EdgePlanner(*knows, inverses=True)
        case "oracle":
            return Oracle(*knows, environment.pool.worlds)
    raise InputError(f"unknown policy {name!r}; known: {', '.join(POLICIES)}")


__all__ = ["POLICIES", "Policy", "PolicyName", "make_policy"]
