"""The loss: V-trace actor-critic."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.episodic import EpisodicAgent
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.rollout import Rollout, embed_table, log_probability_of
from rapidtask.learning.vtrace import VTrace, vtrace

Metrics = dict[str, Float[Array, ""]]
VALUE_WEIGHT = 0.5
"""Weight of the baseline's squared error."""


class Samples(eqx.Module):
    """Steps to learn from; any leading axes."""

    timestep: TimeStep
    action: Int[Array, "*B"]
    log_probability: Float[Array, "*B"]
    """Log-probability of the action when it was taken."""
    advantage: Float[Array, "*B"]
    value_target: Float[Array, "*B"]
    valid: Float[Array, "*B"]
    """0 for steps to leave out."""
    memory: Memory
    """Experienced transitions: what is acted on."""
    environment: Int[Array, "*B"]
    """Which environment of the rollout each step is from: frames are embedded per environment."""


def prepare(agent: EpisodicAgent, config: LearningConfig, rollout: Rollout) -> Samples:
    """Targets and memories `[T, B]` of a rollout by this agent, or with lag by the one before it."""
    memories, _ = agent.unroll_memory(rollout.agent_state, rollout.timesteps)
    values, log_probability = rollout.values, rollout.log_probability
    if config.lag:
        output, _ = agent.unroll(rollout.agent_state, rollout.timesteps, agent.embed())
        values, log_probability = output.value, log_probability_of(output.logits[:-1], rollout.actions)
    targets = targets_of(rollout, values, log_probability, config)
    memories, timesteps = jax.tree.map(lambda x: x[:-1], (memories, rollout.timesteps))
    return Samples(
        timesteps,
        rollout.actions,
        rollout.log_probability,
        targets.advantages,
        targets.values,
        rollout.valid,
        memories,
        jnp.broadcast_to(jnp.arange(rollout.actions.shape[1]), rollout.actions.shape),
    )


def normalise(advantages: Float[Array, "T B"], valid: Float[Array, "T B"]) -> Float[Array, "T B"]:
    """Advantages with mean 0 and standard deviation 1 over the steps that are valid."""
    count = jnp.maximum(valid.sum(), 1.0)
    centred = advantages - (advantages * valid).sum() / count
    variance = (jnp.square(centred) * valid).sum() / count
    return centred / (jnp.sqrt(variance) + 1e-3)


def targets_of(
    rollout: Rollout,
    values: Float[Array, "T1 B"],
    log_probability: Float[Array, "T B"],
    config: LearningConfig,
) -> VTrace:
    """V-trace targets `[T, B]` from the current baseline and log-probabilities of the actions taken."""
    # What follows a last timestep is another episode: no difference may flow back from there.
    ratios = rollout.valid * jnp.exp(log_probability - rollout.log_probability)
    one = partial(vtrace, lambda_=config.vtrace_lambda)
    inputs = (values[:-1], values[1:], rollout.rewards, rollout.discounts(config.discount), ratios)
    targets = jax.vmap(one, in_axes=1, out_axes=1)(*inputs)
    if not config.normalise_advantages:
        return targets
    return VTrace(targets.values, normalise(targets.advantages, rollout.valid))


def sample_loss(
    agent: EpisodicAgent,
    samples: Samples,
    views: Embeddings | None,
    config: LearningConfig,
    entropy_weight: Float[Array, ""],
) -> tuple[Float[Array, ""], Metrics]:
    """Loss of independent samples `[B]` whose targets are already known.

    Args:
        agent: what is to be changed.
        samples: the steps.
        views: in pixel worlds, the embedded frames of every environment.
        config: options of learning.
        entropy_weight: weight of the policy's entropy.
    """
    embeddings = agent.embed() if views is None else views.of_environments(samples.environment)
    output = agent.act(samples.memory, samples.timestep, embeddings)
    log_probability = log_probability_of(output.logits, samples.action)
    ratio = jnp.exp(log_probability - samples.log_probability)
    ratio = jax.lax.stop_gradient(ratio)
    weighted = jnp.minimum(1.0, ratio) * samples.advantage
    if config.ratio_clip is not None:
        weighted = jnp.where(moved_enough(ratio, samples.advantage, config.ratio_clip), 0.0, weighted)
    return actor_critic_loss(
        output, log_probability, weighted, samples.value_target, samples.valid, config, entropy_weight
    )


def moved_enough(ratio: Float[Array, "*B"], advantage: Float[Array, "*B"], clip: float) -> Bool[Array, "*B"]:
    """Whether an action's probability has already moved by the clip in its advantage's direction.

    Leaving such steps out of the policy gradient is PPO's clipped objective (Schulman et al. 2017).
    """
    return jnp.where(advantage > 0, ratio > 1 + clip, ratio < 1 - clip)


def sequence_loss(
    agent: Agent,
    rollout: Rollout,
    environment: Environment | None,
    config: LearningConfig,
    entropy_weight: Float[Array, ""],
) -> tuple[Float[Array, ""], Metrics]:
    """Loss of whole rollouts `[T, B]`, V-trace included."""
    embeddings = embed_table(agent, environment, rollout.frame_ids)
    output, _ = agent.unroll(rollout.agent_state, rollout.timesteps, embeddings)
    acted = jax.tree.map(lambda x: x[:-1], output)
    log_probability = log_probability_of(acted.logits, rollout.actions)
    ratio = jnp.exp(jax.lax.stop_gradient(log_probability) - rollout.log_probability)
    targets = targets_of(rollout, output.value, jax.lax.stop_gradient(log_probability), config)
    weighted = jnp.minimum(1.0, ratio) * targets.advantages
    return actor_critic_loss(
        acted, log_probability, weighted, targets.values, rollout.valid, config, entropy_weight
    )


def actor_critic_loss(
    output: AgentOutput,
    log_probability: Float[Array, "*B"],
    advantage: Float[Array, "*B"],
    value_target: Float[Array, "*B"],
    valid: Float[Array, "*B"],
    config: LearningConfig,
    entropy_weight: Float[Array, ""],
) -> tuple[Float[Array, ""], Metrics]:
    """Policy gradient, baseline error and entropy, averaged over the steps that are valid."""
    mean = lambda x: jnp.sum(x * valid) / jnp.maximum(jnp.sum(valid), 1.0)  # noqa: E731
    log_all = jax.nn.log_softmax(output.logits)
    entropy = mean(-jnp.sum(jnp.exp(log_all) * log_all, axis=-1))
    policy = -mean(log_probability * advantage)
    value = mean(0.5 * jnp.square(value_target - output.value))
    auxiliary = mean(output.auxiliary_loss)
    loss = policy + VALUE_WEIGHT * value - entropy_weight * entropy + auxiliary
    return loss, {
        "policy_loss": policy,
        "value_loss": value,
        "entropy": entropy,
        "auxiliary_loss": auxiliary,
        "loss": loss,
    }
