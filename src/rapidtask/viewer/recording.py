"""Records one episode of a policy: where it was, what it did, and what a learned agent thought."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPN
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.envs.episode import to_numpy
from rapidtask.evaluation.play import Episodes, play
from rapidtask.policies.learned import LearnedPolicy
from rapidtask.policies.policy import Policy
from rapidtask.viewer.value_readout import ValueMap, fit_value_map

READOUT_EPISODES = 6
"""Further episodes that the read-out of the value map is fitted on; the watched one is held out."""


@dataclass(frozen=True)
class Recording:
    """One episode of one policy."""

    name: str
    """What to call the policy."""
    seed: int
    """The episode is the first of an evaluation with this seed."""
    episode: Episodes
    """What happened, without an axis of episodes."""
    probability: Float[np.ndarray, "T A"] | None = None
    """A learned agent's probabilities of the actions."""
    value: Float[np.ndarray, " T"] | None = None
    """A learned agent's baseline: the discounted reward that it expects."""
    value_map: ValueMap | None = None
    """How far from the goal a planner's rows put each place, where the agent has such rows."""
    agent: Agent | None = None
    """The learned agent itself."""


def record_episode(
    environment: Environment,
    policy: Policy,
    *,
    name: str,
    seed: int = 0,
    thinker: Agent | None = None,
    played: int = 1,
) -> Recording:
    """Play the first episode of an evaluation with this seed, and keep it.

    The probabilities of a learned agent, and its value map, are computed afterwards from what it was shown:
    of the policy's own agent, or of a `thinker` that looks on. As many episodes as an evaluation has `played`
    need no other program.
    """
    agent = policy.agent if thinker is None and isinstance(policy, LearnedPolicy) else thinker
    # What an agent of pixels thinks is not asked: its table differs from world to world.
    if agent is None or isinstance(agent.encoder, PixelEncoder):
        return Recording(name, seed, play(environment, policy, played, seed).take(0), agent=agent)
    plans = isinstance(agent, EPN)
    needed = 1 + READOUT_EPISODES if plans else 1
    episodes = play(environment, policy, max(needed, played), seed).take(slice(needed))
    shown = jax.tree.map(lambda leaf: leaf[:-1], episodes.timesteps)
    probability, value = to_numpy(think(agent, jax.tree.map(lambda leaf: leaf[:, :1], shown)))
    value_map = fit_value_map(agent, shown, environment, np.asarray(episodes.symbols[0])) if plans else None
    return Recording(name, seed, episodes.take(0), probability, value, value_map, agent)


@eqx.filter_jit
def think(agent: Agent, timesteps: TimeStep) -> tuple[Float[Array, "T A"], Float[Array, " T"]]:
    """Probabilities of the actions and baseline at each timestep `[T, 1]` of an episode."""
    output, _ = agent.unroll(agent.initial_state(1), timesteps, agent.embed())
    return jax.nn.softmax(output.logits[:, 0], axis=-1), output.value[:, 0]
