"""The loss: V-trace actor-critic, and the value-map loss where it is used."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rapidtask.agents.agent import Agent, AgentOutput
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory, empty_memory, remember
from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.labels import PrivilegedLabels, label
from rapidtask.learning.rollout import Rollout, embed_table, log_probability_of
from rapidtask.learning.value_map import ValueMapHeads
from rapidtask.learning.vtrace import VTrace, vtrace

Metrics = dict[str, Float[Array, ""]]


class Learned(eqx.Module):
    """Everything that gradients change."""

    agent: Agent
    heads: ValueMapHeads | None
    """Heads of the value-map loss, if it is used; dropped from the trained agent."""


class Samples(eqx.Module):
    """Steps to learn from; any leading axes."""

    timestep: TimeStep
    action: Int[Array, "*B"]
    log_probability: Float[Array, "*B"]
    """Log-probability of the action when it was taken."""
    advantage: Float[Array, "*B"]
    value_target: Float[Array, "*B"]
    happened: Float[Array, "*B"]
    """0 for steps to leave out."""
    memory: Memory | None
    """Experienced transitions: what the EPN plans over, and what the labels were computed from."""
    labels: PrivilegedLabels | None
    environment: Int[Array, "*B"]
    """Which environment of the rollout each step is from: frames are embedded per environment."""
    read_after: Int[Array, "*B"] | None = None
    """Planner iterations after which the EPN acts, if not after all of them."""


class Weights(eqx.Module):
    """Weights of the loss's parts that change during training."""

    entropy: Float[Array, ""]
    advice: Float[Array, ""]


def prepare(
    agent: Agent,
    environment: Environment,
    config: LearningConfig,
    rollout: Rollout,
    embeddings: Embeddings,
    *,
    on_policy: bool,
) -> Samples:
    """Targets, memories and labels `[T, B]` of a rollout.

    Args:
        agent: the agent with its current weights.
        environment: gives the rules that labels are inferred with.
        config: options of learning.
        rollout: what to learn from.
        embeddings: the embedded observation tables of its environments.
        on_policy: whether the weights are still those that acted; else V-trace corrects for the change.
    """
    assert isinstance(agent, EPN)
    memories, _ = agent.recall_all(rollout.agent_state, rollout.timesteps)
    values, log_probability = rollout.values, rollout.log_probability
    if not on_policy:
        output = jax.lax.map(
            lambda step: agent.act(step[0], step[1], embeddings, bucketed=True), (memories, rollout.timesteps)
        )
        values, log_probability = output.value, log_probability_of(output.logits[:-1], rollout.actions)
    targets = targets_of(rollout, values, log_probability, config)
    memories, timesteps = jax.tree.map(lambda x: x[:-1], (memories, rollout.timesteps))
    return Samples(
        timesteps,
        rollout.actions,
        rollout.log_probability,
        targets.advantages,
        targets.values,
        rollout.happened,
        memories,
        label_all(memories, timesteps, environment, config) if config.value_map_weight else None,
        jnp.broadcast_to(jnp.arange(rollout.actions.shape[1]), rollout.actions.shape),
    )


def targets_of(
    rollout: Rollout,
    values: Float[Array, "T1 B"],
    log_probability: Float[Array, "T B"],
    config: LearningConfig,
) -> VTrace:
    """V-trace targets `[T, B]` from the current baseline and log-probabilities of the actions taken."""
    # What follows a last timestep is another episode: no difference may flow back from there.
    ratios = rollout.happened * jnp.exp(log_probability - rollout.log_probability)
    one = partial(vtrace, lambda_=config.lambda_, rho_bar=config.rho_bar, c_bar=config.c_bar)
    inputs = (values[:-1], values[1:], rollout.rewards, rollout.discounts(config.discount), ratios)
    return jax.vmap(one, in_axes=1, out_axes=1)(*inputs)


def label_all(
    memories: Memory, timesteps: TimeStep, environment: Environment, config: LearningConfig
) -> PrivilegedLabels:
    """Labels `[T, B]` from the experienced transitions."""
    one = partial(
        label,
        rules=environment.rules,
        num_observations=environment.num_observations,
        geometry=config.geometry,
        ways=labels_ways(environment, config),
    )
    return jax.vmap(jax.vmap(one))(memories, timesteps)


def labels_ways(environment: Environment, config: LearningConfig) -> bool:
    """Whether labels tell of ways: they are of known paths, where no geometry tells of others."""
    return config.ways and not (config.geometry and environment.rules.torus_size is not None)


def sample_loss(
    learned: Learned, samples: Samples, views: Embeddings | None, config: LearningConfig, weights: Weights
) -> tuple[Float[Array, ""], Metrics]:
    """Loss of independent samples `[B]` whose targets are already known.

    Args:
        learned: what is to be changed.
        samples: the steps.
        views: in pixel worlds, the embedded frames of every environment.
        config: options of learning.
        weights: weights of the loss's parts.
    """
    agent = learned.agent
    assert isinstance(agent, EPN)
    assert samples.memory is not None
    embeddings = agent.embed() if views is None else views.of_environments(samples.environment)
    output = agent.act(samples.memory, samples.timestep, embeddings, read_after=samples.read_after)
    log_probability = log_probability_of(output.logits, samples.action)
    ratio = jnp.exp(log_probability - samples.log_probability)
    ratio = jax.lax.stop_gradient(ratio)
    weighted = jnp.minimum(config.rho_bar, ratio) * samples.advantage
    if config.ratio_clip is not None:
        weighted = jnp.where(moved_enough(ratio, samples.advantage, config.ratio_clip), 0.0, weighted)
    loss, metrics = actor_critic_loss(
        output, log_probability, weighted, samples.value_target, samples.happened, config, weights
    )
    if learned.heads is not None and samples.labels is not None:
        here = samples.timestep.observation
        parts = learned.heads.losses(output, here, samples.labels, samples.read_after)
        loss += config.value_map_weight * sum(parts.values())
        metrics |= {f"map_{name}": value for name, value in parts.items()}
        if samples.labels.advice is not None:
            advised = advice_loss(output.logits, samples.timestep, samples.labels.advice, samples.happened)
            loss += weights.advice * advised
            metrics |= {"advice": advised}
    return loss, metrics | {"loss": loss}


def advice_loss(
    logits: Float[Array, "*B A"],
    timestep: TimeStep,
    advice: Float[Array, "*B M"],
    happened: Float[Array, "*B"],
) -> Float[Array, ""]:
    """Cross-entropy of the policy with an edge planner's move; at the goal there is none to advise."""
    per_step = -jnp.sum(advice * jax.nn.log_softmax(logits)[..., : advice.shape[-1]], axis=-1)
    counts = happened * (timestep.observation != timestep.goal)
    return jnp.sum(per_step * counts) / jnp.maximum(jnp.sum(counts), 1.0)


def moved_enough(ratio: Float[Array, "*B"], advantage: Float[Array, "*B"], clip: float) -> Bool[Array, "*B"]:
    """Whether an action's probability has already moved by the clip in its advantage's direction.

    Leaving such steps out of the policy gradient is PPO's clipped objective (Schulman et al. 2017).
    """
    return jnp.where(advantage > 0, ratio > 1 + clip, ratio < 1 - clip)


def sequence_loss(
    learned: Learned, rollout: Rollout, environment: Environment, config: LearningConfig, weights: Weights
) -> tuple[Float[Array, ""], Metrics]:
    """Loss of whole rollouts `[T, B]`, V-trace included."""
    embeddings = embed_table(learned.agent, environment, rollout.frame_ids)
    output, _ = learned.agent.unroll(rollout.agent_state, rollout.timesteps, embeddings)
    acted = jax.tree.map(lambda x: x[:-1], output.without_rows())
    log_probability = log_probability_of(acted.logits, rollout.actions)
    ratio = jnp.exp(jax.lax.stop_gradient(log_probability) - rollout.log_probability)
    targets = targets_of(rollout, output.value, jax.lax.stop_gradient(log_probability), config)
    weighted = jnp.minimum(config.rho_bar, ratio) * targets.advantages
    loss, metrics = actor_critic_loss(
        acted, log_probability, weighted, targets.values, rollout.happened, config, weights
    )
    if learned.heads is not None and config.value_map_weight:
        timesteps = jax.tree.map(lambda x: x[:-1], rollout.timesteps)
        memories = experienced(rollout, environment)
        labels = label_all(memories, timesteps, environment, config)
        flat = lambda x: x.reshape(-1, *x.shape[2:])  # noqa: E731
        part = learned.heads.action_loss(flat(acted.features), jax.tree.map(flat, labels))
        loss += config.value_map_weight * part
        metrics |= {"map_actions": part}
        if labels.advice is not None:
            advised = advice_loss(acted.logits, timesteps, labels.advice, rollout.happened)
            loss += weights.advice * advised
            metrics |= {"advice": advised}
    return loss, metrics | {"loss": loss}


def experienced(rollout: Rollout, environment: Environment) -> Memory:
    """The transitions experienced before each step `[T, B]`, for agents that keep no such list themselves.

    Only transitions since the rollout's start are known here: recurrent agents are trained with the value-map
    loss on whole episodes.
    """
    num_slots = environment.num_observations * environment.num_actions
    memory = empty_memory(rollout.actions.shape[1], min(num_slots, environment.options.episode_steps))

    def step(memory: Memory, timestep: TimeStep) -> tuple[Memory, Memory]:
        memory = remember(memory, timestep, unique=True, arrival=True)
        return memory, memory

    return jax.lax.scan(step, memory, jax.tree.map(lambda x: x[:-1], rollout.timesteps))[1]


def actor_critic_loss(
    output: AgentOutput,
    log_probability: Float[Array, "*B"],
    advantage: Float[Array, "*B"],
    value_target: Float[Array, "*B"],
    happened: Float[Array, "*B"],
    config: LearningConfig,
    weights: Weights,
) -> tuple[Float[Array, ""], Metrics]:
    """Policy gradient, baseline error and entropy, averaged over the steps that happened."""
    mean = lambda x: jnp.sum(x * happened) / jnp.maximum(jnp.sum(happened), 1.0)  # noqa: E731
    log_all = jax.nn.log_softmax(output.logits)
    entropy = mean(-jnp.sum(jnp.exp(log_all) * log_all, axis=-1))
    policy = -mean(log_probability * advantage)
    value = mean(0.5 * jnp.square(value_target - output.value))
    auxiliary = mean(output.auxiliary_loss)
    loss = policy + config.value_weight * value - weights.entropy * entropy
    loss += config.auxiliary_weight * auxiliary
    return loss, {"policy_loss": policy, "value_loss": value, "entropy": entropy, "auxiliary_loss": auxiliary}
