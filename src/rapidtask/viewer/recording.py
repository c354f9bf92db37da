"""Records one episode of a policy: where it was, what it did, and what a learned agent thought."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPN
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.envs.episode import to_numpy
from rapidtask.evaluation.episodes import episode_keys
from rapidtask.policies.learned import LearnedPolicy
from rapidtask.policies.policy import Policy
from rapidtask.viewer.value_readout import ValueMap, fit_value_map

READOUT_EPISODES = 6
"""Further episodes that the read-out of the value map is fitted on; the watched one is held out."""


class Run(eqx.Module):
    """Episodes `[B]` of T steps; the last timestep is followed by no action."""

    timesteps: TimeStep
    """What was shown, `[T + 1, B]`."""
    place: Int[Array, "T+1 B"]
    """State that the agent was in."""
    goal: Int[Array, "T+1 B"]
    """State that it was to reach."""
    action: Int[Array, "T B"]
    """What it did."""
    world: Int[Array, " B"]
    """Which world of the environment's pool it was in."""
    labels: Int[Array, "B S"]
    """Observation id of each state."""


@dataclass(frozen=True)
class Recording:
    """One episode of one policy."""

    name: str
    """What to call the policy."""
    seed: int
    """The episode is the first of an evaluation with this seed."""
    world: int
    """Which world of the environment's pool it was in."""
    labels: Int[np.ndarray, " S"]
    """Observation id of each state."""
    place: Int[np.ndarray, " T+1"]
    """State that the agent was in, before each step and after the last."""
    goal: Int[np.ndarray, " T+1"]
    """State that it was to reach."""
    action: Int[np.ndarray, " T"]
    """What it did."""
    completed: Bool[np.ndarray, " T"]
    """Whether that completed a task."""
    probability: Float[np.ndarray, "T A"] | None = None
    """A learned agent's probabilities of the actions."""
    value: Float[np.ndarray, " T"] | None = None
    """A learned agent's baseline: the discounted reward that it expects."""
    value_map: ValueMap | None = None
    """How far from the goal a planner's rows put each place, where the agent has such rows."""
    agent: Agent | None = None
    """The learned agent itself."""

    @property
    def goals(self) -> int:
        """Tasks completed."""
        return int(self.completed.sum())


def record_episode(
    environment: Environment, policy: Policy, *, name: str, seed: int = 0, thinker: Agent | None = None
) -> Recording:
    """Run the first episode of an evaluation with this seed, and keep it.

    The probabilities of a learned agent, and its value map, are computed afterwards from what it was shown.

    Args:
        environment: where to act.
        policy: what acts.
        name: what to call it.
        seed: seed of the evaluation.
        thinker: an agent that looks on and says what it would do; by default the policy's own.
    """
    agent = policy.agent if thinker is None and isinstance(policy, LearnedPolicy) else thinker
    # What an agent of pixels thinks is not asked: its table differs from world to world.
    thinks = agent is not None and not isinstance(agent.encoder, PixelEncoder)
    num_episodes = 1 + READOUT_EPISODES if thinks and isinstance(agent, EPN) else 1
    run = to_numpy(run_episodes(environment, policy, episode_keys(seed, num_episodes)))
    probability = value = value_map = None
    if agent is not None and thinks:
        logits, values = to_numpy(think(agent, episode_of(run.timesteps, 0)))
        probability, value = np.asarray(jax.nn.softmax(logits, axis=-1)), values
    if isinstance(agent, EPN) and thinks:
        episodes = [episode_of(run.timesteps, i) for i in range(num_episodes)]
        vocabulary = environment.num_observations
        value_map = fit_value_map(agent, episodes, environment.rules, vocabulary, run.labels[0])
    return Recording(
        name=name,
        seed=seed,
        world=int(run.world[0]),
        labels=run.labels[0],
        place=run.place[:, 0],
        goal=run.goal[:, 0],
        action=run.action[:, 0],
        completed=run.timesteps.completed[1:, 0],
        probability=probability,
        value=value,
        value_map=value_map,
        agent=agent,
    )


@eqx.filter_jit
def run_episodes(environment: Environment, policy: Policy, keys: PRNGKeyArray) -> Run:
    """One episode per key, with the keys used as in an evaluation, so that the episodes are the same."""
    env_keys, policy_keys = jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key))(keys), 1, 0)
    start, timestep = environment.reset_batch(env_keys)

    def step(carry, t):
        states, timestep, memory = carry
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(policy_keys, t)
        actions, memory = policy.step_batch(memory, timestep, step_keys, states)
        states, timestep = jax.vmap(environment.step)(states, actions)
        return (states, timestep, memory), (timestep, states.state, states.goal, actions)

    carry = (start, timestep, policy.start_batch(start, len(keys)))
    _, (*later, actions) = jax.lax.scan(step, carry, jnp.arange(environment.episode.episode_steps))
    join = lambda first, rest: jnp.concatenate([first[None], rest])  # noqa: E731
    timesteps, place, goal = jax.tree.map(join, (timestep, start.state, start.goal), tuple(later))
    return Run(timesteps, place, goal, actions, start.world.index, start.world.observation)


def episode_of(timesteps: TimeStep, index: int) -> TimeStep:
    """The timesteps `[T, 1]` of one episode that an action was chosen at."""
    return jax.tree.map(lambda leaf: leaf[:-1, index : index + 1], timesteps)


@eqx.filter_jit
def think(agent: Agent, timesteps: TimeStep) -> tuple[Float[Array, "T A"], Float[Array, " T"]]:
    """Logits and baseline at each timestep `[T, 1]` of an episode."""
    output, _ = agent.unroll(agent.initial_state(1), timesteps, agent.embed())
    return output.logits[:, 0], output.value[:, 0]
