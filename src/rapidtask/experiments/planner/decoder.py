"""Decoders: the policy network, trained anew to tell the distance to the goal from the planner's summary."""

from __future__ import annotations

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy.random import Generator, default_rng

from rapidtask.agents.epn import EPN
from rapidtask.agents.layers import Linear, Mlp, to_device
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep
from rapidtask.experiments.planner.situations import Situations

DECODED = (1, 2, 3, 4, 5, 6, 8, 12, 16)
"""Planner iterations after which distances are decoded: the paper's six, and more."""
BATCH = 64
"""Situations planned at a time."""
SLOTS = 48
"""Memories are planned over in the smallest multiple of this that holds them: few programs to compile."""
MINIBATCH = 256
LEARNING_RATE = 3e-3
CURVE_POINTS = 60
"""Points of a training curve, each the mean of the updates since the one before."""


class Inputs(eqx.Module):
    """What decoders read in K situations, on the host: no gradient goes back to the planner."""

    summary: Float[np.ndarray, "I K D"]
    """The max-pooled readout after each iteration."""
    places: Float[np.ndarray, "K 2E"]
    """Embeddings of the current state and of the goal, side by side."""
    match: Float[np.ndarray, " K"]
    """How alike the two are, 1 for the same; 0 everywhere if the policy network is not told."""
    distance: Int[np.ndarray, " K"]
    """Fewest moves to the goal: what is to be decoded."""

    def scaled(self, mean: Float[np.ndarray, "I 1 D"], scale: Float[np.ndarray, "I 1 D"]) -> Inputs:
        """The same with other summaries."""
        return replace(self, summary=(self.summary - mean) / scale)


@eqx.filter_jit
def plan_and_summarise(agent: EPN, memory: Memory, timestep: TimeStep) -> Float[Array, "I B D"]:
    """The summary that the policy network would be given, had the planner stopped after an iteration."""
    embeddings = agent.embed()
    plan = agent.plan(memory, timestep, embeddings, DECODED[-1])
    after = plan.beliefs[np.array(DECODED)]
    return jax.lax.map(lambda b: agent.read(b, plan.memory, timestep, embeddings), after)


def decoder_inputs(agent: EPN, situations: Situations) -> Inputs:
    """Plan in every situation; memories of like size together."""
    slots = -(-situations.num_rows // SLOTS) * SLOTS
    summary = np.zeros((len(DECODED), len(situations), agent.config.width), np.float32)
    for num_slots in np.unique(slots):
        members = np.flatnonzero(slots == num_slots)
        for start in range(0, len(members), BATCH):
            index = members[start : start + BATCH]
            # The last batch is filled up: one program per number of slots.
            batch = situations.take(np.resize(index, BATCH))
            planned = plan_and_summarise(agent, batch.memories(int(num_slots)), batch.timesteps())
            summary[:, index] = np.asarray(planned)[:, : len(index)]
    embeddings = agent.embed()
    here, goal = jax.device_put((situations.ids(situations.here), situations.ids(situations.goal)))
    told = 0.0 if agent.policy_match is None else 1.0
    places = np.concatenate([embeddings.look_up(here), embeddings.look_up(goal)], axis=1)
    return Inputs(summary, places, told * np.asarray(embeddings.similarity(here, goal)), situations.distance)


class Decoder(eqx.Module):
    """The layers of the EPN's policy network, with a classifier in place of the logits of actions."""

    policy: Mlp
    policy_match: Float[Array, " D"]
    """What the first layer gains if the state is the goal, as in the policy network."""
    classes: Linear

    def __init__(self, width: int, places: int, num_classes: int, rng: Generator):
        self.policy = Mlp((width + places, width, width), rng)
        self.policy_match = to_device(np.ones(width))
        self.classes = Linear(width, num_classes, rng, scale=0.1)

    def __call__(self, inputs: Inputs) -> Float[Array, "K C"]:
        """Logits of the distances 0, 1, 2, …, the last class for all further ones, after one iteration."""
        first, second = self.policy.layers
        hidden = first(jnp.concatenate([inputs.summary, inputs.places], axis=1))
        hidden = jax.nn.relu(hidden + inputs.match[:, None] * self.policy_match)
        return self.classes(jax.nn.relu(second(hidden)))


@dataclass(frozen=True, eq=False)
class Decoders:
    """Decoders of every iteration and seed, and how their training went."""

    decoders: Decoder
    """All of them: every array has leading axes of iterations and seeds, `[I, R, …]`."""
    scale: tuple[Float[np.ndarray, "I 1 D"], Float[np.ndarray, "I 1 D"]]
    """Mean and standard deviation that they see summaries at."""
    update: Int[np.ndarray, " P"]
    """Updates after which the curve has points."""
    loss: Float[np.ndarray, "I R P"]
    """Mean cross-entropy of the minibatches up to there."""


def train_decoders(inputs: Inputs, num_classes: int, *, seed: int, num_seeds: int, updates: int) -> Decoders:
    """Train decoders of all iterations and seeds side by side.

    Seeds differ in their first weights and in the order of situations; decoders of one seed start alike at
    every iteration, and learn from the same situations.
    """
    sizes = (inputs.summary.shape[-1], inputs.places.shape[-1], num_classes)
    seed_keys = jax.random.split(jax.random.key(seed), num_seeds)
    first = [Decoder(*sizes, default_rng([seed, number])) for number in range(num_seeds)]
    alike = lambda *leaves: jnp.stack([jnp.stack(leaves)] * len(inputs.summary))  # noqa: E731
    decoders = jax.tree.map(alike, *first)
    scale = inputs.summary.mean(1, keepdims=True), inputs.summary.std(1, keepdims=True) + 1e-6
    shown = replace(inputs.scaled(*scale), distance=np.minimum(inputs.distance, num_classes - 1))
    losses, decoders = _train(decoders, shown, seed_keys, updates)
    each = max(1, updates // CURVE_POINTS)
    kept = np.asarray(losses)[: updates // each * each]
    curve = kept.reshape(-1, each, *kept.shape[1:]).mean(axis=1)
    return Decoders(decoders, scale, each * np.arange(1, len(curve) + 1), np.moveaxis(curve, 0, -1))


PER_ITERATION = Inputs(0, None, None, None)  # pyright: ignore[reportArgumentType]
"""Axis of iterations."""


@eqx.filter_jit
def _train(
    decoders: Decoder, inputs: Inputs, seed_keys: PRNGKeyArray, updates: int
) -> tuple[Float[Array, "U I R"], Decoder]:
    """Adam with a learning rate that falls to 0; returns the losses of all updates, and the decoders."""
    optimiser = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, updates))

    def loss(decoder: Decoder, batch: Inputs):
        return optax.softmax_cross_entropy_with_integer_labels(decoder(batch), batch.distance).mean()

    each_seed = jax.vmap(eqx.filter_value_and_grad(loss))
    each_iteration = jax.vmap(each_seed, in_axes=(0, PER_ITERATION))

    def update(carry, step):
        decoders, state = carry
        keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(seed_keys, step)
        index = jax.vmap(lambda key: jax.random.randint(key, (MINIBATCH,), 0, len(inputs.match)))(keys)
        one_for_all = (inputs.places[index], inputs.match[index], inputs.distance[index])  # [R, B]
        losses, gradient = each_iteration(decoders, Inputs(inputs.summary[:, index], *one_for_all))
        updates, state = optimiser.update(gradient, state)
        return (eqx.apply_updates(decoders, updates), state), losses

    start = (decoders, optimiser.init(decoders))  # pyright: ignore[reportArgumentType]
    (trained, _), losses = jax.lax.scan(update, start, jnp.arange(updates))
    return losses, trained


def decode(decoders: Decoders, inputs: Inputs) -> Float[np.ndarray, "I R K C"]:
    """Log-likelihood of each distance according to every decoder."""
    read = jax.vmap(lambda decoder, inputs: jax.nn.log_softmax(decoder(inputs)), in_axes=(0, None))
    each_iteration = eqx.filter_jit(jax.vmap(read, in_axes=(0, PER_ITERATION)))
    return np.asarray(each_iteration(decoders.decoders, inputs.scaled(*decoders.scale)))
