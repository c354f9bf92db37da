"""One round of learning from a rollout: minibatches and parameter updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.episodic import EpisodicAgent, num_parts
from rapidtask.agents.memory import Memory, in_fewest_slots
from rapidtask.agents.vision import ResidualEncoder
from rapidtask.envs.environment import Environment
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.losses import Metrics, Samples, prepare, sample_loss, sequence_loss
from rapidtask.learning.optimisers import Groups, grouped, ungrouped
from rapidtask.learning.rollout import Rollout, embed_table

PRIORITY = 0.8
"""Power of an advantage's size in the draw of steps to learn from; 0 would draw them evenly."""


Computed = tuple[Groups, Metrics, Float[Array, ""]]
"""Of a minibatch: the grouped gradient of its mean loss, the metrics, and how many of its steps are valid."""


class LearnerState(eqx.Module):
    """What parameter updates change."""

    agent: Agent
    optimiser: Any


@dataclass(frozen=True)
class Updater:
    """Turns rollouts into parameter updates."""

    config: LearningConfig
    """Options of learning."""
    optimiser: optax.GradientTransformation
    """Turns gradients into steps."""
    axis: str | None = None
    """Name of the device axis to average gradients over, if there is one."""

    def update(
        self,
        state: LearnerState,
        rollout: Rollout,
        environment: Environment | None,
        entropy_weight: Float[Array, ""],
        key: PRNGKeyArray,
    ) -> tuple[LearnerState, Metrics]:
        """Learn from a rollout; the environment is needed for its frames, in pixel worlds."""
        if self.axis is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index(self.axis))
        learn = self._shuffled if shuffles(self.config, state.agent) else self._sequences
        return learn(state, rollout, environment, entropy_weight, key)

    def _shuffled(self, state, rollout, environment, entropy_weight, key) -> tuple[LearnerState, Metrics]:
        """Minibatches of single steps: what an episodic agent does depends on its memory alone."""
        agent = state.agent
        # Frames are embedded once a rollout: their encoder is not changed by what is learned here.
        views = None
        if rollout.frame_ids is not None:
            views = embed_table(agent, environment, rollout.frame_ids)
        samples = prepare(agent, self.config, rollout)
        samples = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), samples)
        assert self.config.learned_share is not None
        if self.config.learned_share < 1.0:
            key, draw = jax.random.split(key)
            drawn = draw_steps(draw, samples, num_learned(self.config, len(samples.action)))
            samples = jax.tree.map(lambda x: x[drawn], samples)
        order = minibatch_order(samples, self.config.minibatch_size, key)

        def compute(agent: Agent, index: Int[Array, "C S"]) -> Computed:
            assert isinstance(agent, EpisodicAgent)
            # One program for all chunks; each runs it with as few slots as its memories need.
            chunks = jax.lax.map(
                lambda i: self._chunk_gradient(
                    agent, jax.tree.map(lambda x: x[i], samples), views, entropy_weight
                ),
                index,
            )
            # A chunk counts by how many of its steps are valid; the last one may hold steps to leave out.
            valid = samples.valid[index].sum(axis=1)
            share = valid / jnp.maximum(valid.sum(), 1.0)
            return *jax.tree.map(lambda part: jnp.tensordot(share, part, 1), chunks), valid.sum()

        return self._minibatches(state, order, compute)

    def _chunk_gradient(
        self,
        agent: EpisodicAgent,
        samples: Samples,
        views: Embeddings | None,
        entropy_weight: Float[Array, ""],
    ) -> tuple[Groups, Metrics]:
        def compute(memory: Memory) -> tuple[Groups, Metrics]:
            cut = eqx.tree_at(lambda s: s.memory, samples, memory)
            loss = eqx.filter_value_and_grad(sample_loss, has_aux=True)
            (_, metrics), gradient = loss(agent, cut, views, self.config, entropy_weight)
            return grouped(gradient), metrics

        return in_fewest_slots(samples.memory, compute)

    def _sequences(self, state, rollout, environment, entropy_weight, key) -> tuple[LearnerState, Metrics]:
        """Minibatches of whole rollouts: V-trace with the current policy and baseline."""
        num_steps, num_envs = rollout.actions.shape
        envs = sequences_per_minibatch(self.config, num_envs, num_steps)
        order = jax.random.permutation(key, num_envs)[: num_envs // envs * envs].reshape(-1, envs)

        def compute(agent: Agent, index: Int[Array, " E"]) -> Computed:
            loss = eqx.filter_value_and_grad(sequence_loss, has_aux=True)
            part = select_environments(rollout, index)
            (_, metrics), gradient = loss(agent, part, environment, self.config, entropy_weight)
            return grouped(gradient), metrics, part.valid.sum()

        return self._minibatches(state, order, compute)

    def _minibatches(
        self, state: LearnerState, order: Array, compute: Callable[[Agent, Array], Computed]
    ) -> tuple[LearnerState, Metrics]:
        """One update per entry of `order`."""
        dynamic, static = eqx.partition(state, eqx.is_array)

        def minibatch(dynamic, index):
            state = eqx.combine(dynamic, static)
            state, metrics = self._step(state, *compute(state.agent, index))
            return eqx.filter(state, eqx.is_array), metrics

        dynamic, metrics = jax.lax.scan(minibatch, dynamic, order)
        return eqx.combine(dynamic, static), jax.tree.map(jnp.mean, metrics)

    def _step(
        self, state: LearnerState, gradient: Groups, metrics: Metrics, num_steps: Float[Array, ""]
    ) -> tuple[LearnerState, Metrics]:
        if self.axis is not None:
            gradient, metrics = jax.lax.pmean((gradient, metrics), self.axis)
            num_steps = jax.lax.psum(num_steps, self.axis)
        if self.config.sums_loss:
            gradient = jax.tree.map(lambda mean: num_steps * mean, gradient)
        parameters, static = eqx.partition(state.agent, eqx.is_inexact_array)
        updates, optimiser = self.optimiser.update(gradient, state.optimiser, grouped(parameters))
        norm = optax.tree.norm(gradient)
        # A loss, gradient or step that is not finite must not reach the weights.
        finite = jnp.isfinite(metrics["loss"]) & jnp.isfinite(norm) & jnp.isfinite(optax.tree.norm(updates))
        new, old = (updates, optimiser), (jax.tree.map(jnp.zeros_like, updates), state.optimiser)
        updates, optimiser = jax.tree.map(lambda new, old: jnp.where(finite, new, old), new, old)
        parameters = eqx.apply_updates(parameters, ungrouped(updates, parameters))
        metrics = metrics | {"gradient_norm": norm, "skipped_updates": 1.0 - finite}
        return LearnerState(eqx.combine(parameters, static), optimiser), metrics


def shuffles(config: LearningConfig, agent: Agent) -> bool:
    """Whether minibatches are drawn from single steps."""
    # A network that sees is trained on the frames of few environments, then, and all their steps.
    trains_on_frames = isinstance(agent.encoder, ResidualEncoder)
    return config.learned_share is not None and isinstance(agent, EpisodicAgent) and not trains_on_frames


def num_updates(config: LearningConfig, agent: Agent, num_envs: int, num_steps: int) -> int:
    """Parameter updates made from one rollout of so many environments and steps."""
    if shuffles(config, agent):
        num_samples = num_learned(config, num_envs * num_steps)
        return num_samples // min(config.minibatch_size, num_samples)
    return num_envs // sequences_per_minibatch(config, num_envs, num_steps)


def sequences_per_minibatch(config: LearningConfig, num_envs: int, num_steps: int) -> int:
    """Environments whose whole rollouts make a minibatch."""
    return max(1, min(num_envs, config.minibatch_size // num_steps))


def num_learned(config: LearningConfig, num_samples: int) -> int:
    """How many of a rollout's steps are learned from, at least a minibatch."""
    share = 1.0 if config.learned_share is None else config.learned_share
    return min(num_samples, max(int(share * num_samples), config.minibatch_size))


def draw_steps(key: PRNGKeyArray, samples: Samples, num_drawn: int) -> Int[Array, " D"]:
    """Indices of different steps, each drawn in proportion to a power of its advantage's size.

    Most steps of a rollout went as expected and teach little, and a step's gradient is what costs time. As in
    prioritised replay (Schaul et al. 2016), without its importance weights: learning goes well without.
    """
    weight = PRIORITY * jnp.log(jnp.abs(samples.advantage) + 1e-2)
    # The largest of log-weights with Gumbel noise are a draw without replacement.
    noisy = weight + jax.random.gumbel(key, weight.shape)
    return jax.lax.top_k(jnp.where(samples.valid > 0, noisy, -jnp.inf), num_drawn)[1]


def minibatch_order(samples: Samples, minibatch_size: int, key: PRNGKeyArray) -> Int[Array, "M C S"]:
    """Indices of samples: random minibatches, each sorted into chunks by how many slots they need.

    Sorting the samples by size and dealing them out like cards gives every minibatch the same mix of sizes;
    within it, the chunks of small memories are cheap. Samples to leave out come last and are dropped.
    """
    num_samples = samples.action.shape[0]
    minibatch_size = min(minibatch_size, num_samples)
    num_minibatches = num_samples // minibatch_size
    num_chunks = num_parts(minibatch_size)
    last = 2.0 * samples.memory.origin.shape[-1]
    size = samples.memory.size + jax.random.uniform(key, (num_samples,))
    ranks = jnp.argsort(jnp.where(samples.valid > 0, size, last))
    dealt = ranks[: num_minibatches * minibatch_size].reshape(num_chunks, -1, num_minibatches)
    return jnp.moveaxis(dealt, -1, 0)


def select_environments(rollout: Rollout, index: Int[Array, " E"]) -> Rollout:
    """The rollout of some of the environments."""
    # These have the environments as their first axis; in all others it is the second.
    of_environments = lambda r: (r.agent_state, r.frame_ids)  # noqa: E731
    chosen = jax.tree.map(lambda x: x[index], of_environments(rollout))
    is_none = lambda x: x is None  # noqa: E731
    rest = eqx.tree_at(of_environments, rollout, (None, None), is_leaf=is_none)
    part = jax.tree.map(lambda x: x[:, index], rest)
    return eqx.tree_at(of_environments, part, chosen, is_leaf=is_none)
