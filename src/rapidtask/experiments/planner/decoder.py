"""Decoders: the policy network, trained anew to tell the distance to the goal from the planner's summary."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rapidtask.agents.epn import EPN
from rapidtask.agents.layers import Linear, Mlp
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep
from rapidtask.experiments.planner.situations import Situations

ITERATIONS = 6
"""Planner iterations that are looked at, as in the paper."""
BATCH = 64
"""Situations planned at a time."""
SLOTS = 48
"""Memories are planned over in the smallest multiple of this that holds them: few programs to compile."""
NUM_SEEDS = 3
"""Decoders of each iteration; they differ in their first weights and in the order of what they learn from."""
UPDATES = 500
MINIBATCH = 256
LEARNING_RATE = 3e-3
CURVE_POINTS = 60
"""Points of a training curve, each the mean of the updates since the one before."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What decoders read in K situations, on the host: no gradient goes back to the planner."""

    summary: Float[np.ndarray, "I K D"]
    """The max-pooled readout after each iteration."""
    here: Float[np.ndarray, "K E"]
    """Embedding of the current state."""
    goal: Float[np.ndarray, "K E"]
    """Embedding of the goal."""
    match: Float[np.ndarray, " K"]
    """How alike the two are, 1 for the same; 0 everywhere if the policy network is not told."""
    distance: Int[np.ndarray, " K"]
    """Fewest moves to the goal: what is to be decoded."""

    @property
    def places(self) -> Float[np.ndarray, "K 2E"]:
        """Both embeddings side by side."""
        return np.concatenate([self.here, self.goal], axis=1)


@eqx.filter_jit
def plan_and_summarise(agent: EPN, memory: Memory, timestep: TimeStep) -> Float[Array, "I B D"]:
    """The summary that the policy network would be given, had the planner stopped after each iteration."""
    embeddings = agent.embed()
    plan = agent.plan(memory, timestep, embeddings, ITERATIONS)
    return jax.lax.map(lambda b: agent.read(b, plan.memory, timestep, embeddings), plan.beliefs[1:])


def decoder_inputs(agent: EPN, situations: Situations) -> Inputs:
    """Plan in every situation; memories of like size together."""
    slots = -(-situations.num_rows // SLOTS) * SLOTS
    summary = np.zeros((ITERATIONS, len(situations), agent.config.width), np.float32)
    for num_slots in np.unique(slots):
        members = np.flatnonzero(slots == num_slots)
        for start in range(0, len(members), BATCH):
            index = members[start : start + BATCH]
            # The last batch is filled up: one program per number of slots.
            batch = situations.take(np.resize(index, BATCH))
            planned = plan_and_summarise(agent, batch.memories(int(num_slots)), batch.timesteps())
            summary[:, index] = np.asarray(planned)[:, : len(index)]
    embeddings = agent.embed()
    here, goal = jnp.asarray(situations.here_ids()), jnp.asarray(situations.goal_ids())
    told = 0.0 if agent.policy_match is None else 1.0
    return Inputs(
        summary,
        np.asarray(embeddings.look_up(here)),
        np.asarray(embeddings.look_up(goal)),
        told * np.asarray(embeddings.similarity(here, goal)),
        situations.distance,
    )


class Decoder(eqx.Module):
    """The layers of the EPN's policy network, with a classifier in place of the logits of actions."""

    policy: Mlp
    policy_match: Float[Array, " D"]
    """What the first layer gains if the state is the goal, as in the policy network."""
    classes: Linear

    def __init__(self, width: int, embedded: int, num_classes: int, key: PRNGKeyArray):
        policy_key, classes_key = jax.random.split(key)
        self.policy = Mlp((width + 2 * embedded, width, width), policy_key)
        self.policy_match = jnp.ones(width)
        self.classes = Linear(width, num_classes, classes_key, scale=0.1)

    def __call__(self, inputs: Float[Array, "B I"], match: Float[Array, " B"]) -> Float[Array, "B C"]:
        """Logits of the distances 0, 1, 2, …, the last class for all that are further."""
        first, second = self.policy.layers
        hidden = first(inputs) + match[:, None] * self.policy_match
        return self.classes(jax.nn.relu(second(jax.nn.relu(hidden))))


class Decoders(eqx.Module):
    """Decoders of every iteration and seed, and the scale they see summaries at."""

    decoders: Decoder
    """All of them: every array has leading axes of iterations and seeds, `[I, R, …]`."""
    mean: Float[Array, "I D"]
    scale: Float[Array, "I D"]


@dataclass(frozen=True, eq=False)
class Training:
    """Decoders, and how their training went."""

    decoders: Decoders
    update: Int[np.ndarray, " P"]
    """Updates after which the curve has points."""
    loss: Float[np.ndarray, "I R P"]
    """Mean cross-entropy of the minibatches up to there."""


def train_decoders(
    inputs: Inputs, num_classes: int, *, seed: int, num_seeds: int = NUM_SEEDS, updates: int = UPDATES
) -> Training:
    """Train decoders of all iterations and seeds side by side."""
    num_iterations, _, summary_width = inputs.summary.shape
    mean = inputs.summary.mean(axis=1)
    scale = inputs.summary.std(axis=1) + 1e-6
    make = lambda key: Decoder(summary_width, inputs.here.shape[1], num_classes, key)  # noqa: E731
    seed_keys = jax.random.split(jax.random.key(seed), num_seeds)
    # Decoders of one seed start alike at every iteration, and learn from the same situations.
    decoders = jax.vmap(lambda _: jax.vmap(make)(seed_keys))(jnp.arange(num_iterations))
    summary = (inputs.summary - mean[:, None]) / scale[:, None]
    target = np.minimum(inputs.distance, num_classes - 1)
    summary, places, match, target = jax.tree.map(jnp.asarray, (summary, inputs.places, inputs.match, target))
    losses, decoders = _train(decoders, summary, places, match, target, seed_keys, updates)
    each = max(1, updates // CURVE_POINTS)
    kept = np.asarray(losses)[: updates // each * each]
    curve = kept.reshape(-1, each, *kept.shape[1:]).mean(axis=1)
    return Training(
        Decoders(decoders, jnp.asarray(mean), jnp.asarray(scale)),
        each * np.arange(1, len(curve) + 1),
        np.moveaxis(curve, 0, -1),
    )


@eqx.filter_jit
def _train(
    decoders: Decoder,
    summary: Float[Array, "I K D"],
    places: Float[Array, "K E"],
    match: Float[Array, " K"],
    target: Int[Array, " K"],
    seed_keys: PRNGKeyArray,
    updates: int,
) -> tuple[Float[Array, "U I R"], Decoder]:
    """Adam with a learning rate that falls to 0; returns the losses of all updates, and the decoders."""
    optimiser = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, updates))

    def loss(decoder: Decoder, summary, places, match, target):
        logits = decoder(jnp.concatenate([summary, places], axis=1), match)
        return optax.softmax_cross_entropy_with_integer_labels(logits, target).mean()

    each_seed = jax.vmap(eqx.filter_value_and_grad(loss))
    each_iteration = jax.vmap(each_seed, in_axes=(0, 0, None, None, None))

    def update(carry, step):
        decoders, state = carry
        draw = lambda key: jax.random.randint(jax.random.fold_in(key, step), (MINIBATCH,), 0, len(target))  # noqa: E731
        index = jax.vmap(draw)(seed_keys)  # [R, B]
        losses, gradient = each_iteration(
            decoders, summary[:, index], places[index], match[index], target[index]
        )
        updates, state = optimiser.update(gradient, state)
        return (eqx.apply_updates(decoders, updates), state), losses

    start = (decoders, optimiser.init(decoders))  # pyright: ignore[reportArgumentType]
    (trained, _), losses = jax.lax.scan(update, start, jnp.arange(updates))
    return losses, trained


def decode(decoders: Decoders, inputs: Inputs) -> Float[np.ndarray, "I R K C"]:
    """Log-likelihood of each distance according to every decoder."""
    arrays = (jnp.asarray(x) for x in (inputs.summary, inputs.places, inputs.match))
    return np.asarray(_decode(decoders, *arrays))


@eqx.filter_jit
def _decode(decoders: Decoders, summary, places, match):
    summary = (summary - decoders.mean[:, None]) / decoders.scale[:, None]

    def one(decoder: Decoder, summary):
        return jax.nn.log_softmax(decoder(jnp.concatenate([summary, places], axis=1), match))

    each_seed = jax.vmap(one, in_axes=(0, None))
    return jax.vmap(each_seed)(decoders.decoders, summary)
