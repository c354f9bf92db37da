"""Small agents with large weights, and recordings of them, for the tests of the viewer."""

from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import numpy as np

from rapidtask.agents.epn import EPN, EPNConfig
from rapidtask.envs.environment import Environment
from rapidtask.envs.registry import MemoryPlanning, WorldOptions
from rapidtask.policies import make_policy
from rapidtask.policies.learned import make_learned_policy
from rapidtask.viewer import Recording, record_episode

RESIDUAL = EPNConfig(
    width=12,
    num_heads=3,
    iterations=2,
    block="residual",
    comparisons="attention",
    state_in_rows=True,
    symbols="fixed",
)
"""Much like the fast recipe: unique memory, written after planning."""
PAPER = EPNConfig(width=8, num_heads=2, iterations=2, memory="all", recent_rows=5, plan_with_newest=True)
"""All that the other is not: the paper's block, learned symbols, every step a row, the most recent plan."""

NEIGHBOURS = EPNConfig(
    width=8,
    num_heads=4,
    iterations=3,
    block="recall",
    memory="set",
    comparisons="neighbours",
    symbols="none",
)
"""Rows that see their neighbours alone, and places that are only compared."""
VALUES = replace(NEIGHBOURS, iterations=1, goal_as_successor=True, value_channels=3)
"""… with values that are passed on along moves."""


def opinionated(config: EPNConfig, environment: Environment, seed: int = 0) -> EPN:
    """An agent whose weights are all random and large enough that every one of them matters."""
    shapes = eqx.filter_eval_shape(config.make, environment.spec, 0)
    generator = np.random.default_rng(seed)

    def fill(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        spread = 1.5 / np.sqrt(leaf.shape[0]) if len(leaf.shape) > 1 else 0.5
        return jax.device_put(generator.normal(0, spread, leaf.shape).astype(leaf.dtype))

    agent = jax.tree.map(fill, shapes)
    return eqx.tree_at(lambda a: a.logits.weight, agent, 3 * agent.logits.weight)


@cache
def recorded(steps: int, config: EPNConfig, size: int = 3) -> tuple[Environment, list[Recording]]:
    """A grid, a recording of an agent in it, and one of the oracle."""
    environment = MemoryPlanning(size=size, episode_steps=steps).make()
    policy = make_learned_policy(opinionated(config, environment), environment)
    oracle = make_policy("oracle", environment)
    return environment, [
        record_episode(environment, policy, name="agent", seed=3),
        record_episode(environment, oracle, name="oracle", seed=3),
    ]


@cache
def walked(world: WorldOptions, config: EPNConfig) -> tuple[Environment, list[Recording]]:
    """A random walk that an agent looks on (quicker to compile than an agent that acts), and the oracle."""
    environment = world.make()
    walk, oracle = make_policy("random-walk", environment), make_policy("oracle", environment)
    agent = opinionated(config, environment)
    return environment, [
        record_episode(environment, walk, name="agent", seed=3, thinker=agent),
        record_episode(environment, oracle, name="oracle", seed=3),
    ]
