"""The planner's value map: how far from the goal each remembered place seems, after each iteration.

An agent is never asked this in training. So a linear read-out (multinomial logistic regression) is fitted to
recorded episodes, one for each iteration: from a memory row to the distance of the place it leads to, and of
the place it starts at, over the transitions that the agent has experienced and their inverses, where the
rules make them inferable. The watched episode is not among those that it is fitted on; the share of its rows
that are read correctly is kept beside the map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory, slot_buckets
from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.envs.episode import to_numpy
from rapidtask.policies.edges import UNKNOWN, add_edges, plan
from rapidtask.worlds.world import Rules

LONGEST = 9
"""Largest distance that has a class of its own, if the recorded episodes hold so large ones."""
FIT_ROWS = 4096
"""Rows that a read-out is fitted on, drawn from the recorded ones."""
RIDGE = 1e-3
"""Weight of the squared size of a read-out."""
DISCOUNT = 0.8
"""Value of a place d moves from the goal: this to the power d; 0 if no known path leads there."""


@dataclass(frozen=True)
class ValueMap:
    """What the planner holds about each state, step by step and iteration by iteration."""

    value: Float[np.ndarray, "T I S"]
    """Expected value of each state, between 0 and 1; NaN where no row is about it. I counts from 0: rows
    before planning."""
    distance: Int[np.ndarray, "T I S"]
    """Likeliest distance of each state to the goal; `no_path` if further or not known, -1 if no row is
    about it."""
    no_path: int
    """The distance that stands for "further, or not known"."""
    agreement: Float[np.ndarray, " I"]
    """Share of the watched episode's rows whose likeliest distance is right."""
    chance: float
    """The same if the commonest distance of the fitted rows were always said."""
    fitted_steps: int
    """Steps of other episodes that the read-out was fitted on."""


@dataclass(frozen=True)
class Rows:
    """The planner's rows in use at the steps of one episode, R in all."""

    belief: Float[np.ndarray, "I R D"]
    """Rows before planning and after each iteration."""
    step: Int[np.ndarray, " R"]
    """The step that each row was planned at."""
    place: Int[np.ndarray, "2 R"]
    """Observation ids where each row leads, and where it starts."""
    distance: Int[np.ndarray, "2 R"]
    """Their distances to the goal over known edges; V or more if no known path leads there."""


def fit_value_map(
    agent: EPN, timesteps: TimeStep, environment: Environment, labels: Int[np.ndarray, " S"]
) -> ValueMap:
    """Fit read-outs on all episodes `[T, E]` but the first, and apply them to the first.

    The environment's rules tell the inferable edges; `labels` are the first episode's.
    """
    num_steps, num_episodes = timesteps.action.shape
    num_observations = environment.num_observations
    watched, *others = planner_rows(agent, timesteps, environment)
    drawn = np.random.default_rng(0).permutation(sum(len(rows.step) for rows in others))[:FIT_ROWS]
    belief = np.concatenate([rows.belief for rows in others], axis=1)[:, drawn]
    distance = np.concatenate([rows.distance for rows in others], axis=1)[:, drawn]
    finite = distance[distance < num_observations]
    no_path = min(LONGEST, int(finite.max(initial=1))) + 1
    target, truth = np.minimum(distance, no_path), np.minimum(watched.distance, no_path)

    num_iterations = len(belief)
    state_of = np.zeros(num_observations, int)
    state_of[labels] = np.arange(len(labels))
    # Probability of each distance, summed over all that rows say about a state.
    said = np.zeros((num_steps, num_iterations, len(labels), no_path + 1))
    right = np.zeros((num_iterations, 2))
    for i in range(num_iterations):
        for end in range(2):
            readout = fit_readout(belief[i], target[end], no_path + 1)
            probability = readout(watched.belief[i])
            right[i, end] = np.mean(probability.argmax(-1) == truth[end])
            np.add.at(said[:, i], (watched.step, state_of[watched.place[end]]), probability)  # pyright: ignore
    count = said.sum(-1)
    probability = said / np.maximum(count, 1e-9)[..., None]
    worth = np.append(DISCOUNT ** np.arange(no_path), 0.0)
    return ValueMap(
        value=np.where(count > 0, probability @ worth, np.nan),
        distance=np.where(count > 0, probability.argmax(-1), -1),
        no_path=no_path,
        agreement=right.mean(axis=1),
        chance=float(np.mean(truth == np.bincount(target.ravel()).argmax())),
        fitted_steps=num_steps * (num_episodes - 1),
    )


def planner_rows(agent: EPN, timesteps: TimeStep, environment: Environment) -> list[Rows]:
    """The rows of the planner in each of the episodes `[T, E]`."""
    num_episodes, num_observations = timesteps.action.shape[1], environment.num_observations
    memories, _ = eqx.filter_jit(agent.unroll_memory)(agent.initial_state(num_episodes), timesteps)
    needed = int(memories.size.max())
    # As few slots as will do: most of a long memory is never used.
    memories = memories.first_slots(next(n for n in slot_buckets(memories.origin.shape[-1]) if n >= needed))

    @eqx.filter_jit
    def planned(agent: EPN, memory: Memory, now: TimeStep) -> tuple[Array, Memory, Array]:
        plan = agent.plan(memory, now, agent.embed())
        distance = partial(known_distance, rules=environment.rules, num_observations=num_observations)
        beliefs = jax.lax.map(lambda b: agent.with_values(b, plan.memory, agent.embed()), plan.beliefs)
        return beliefs, plan.memory, jax.vmap(distance)(memory, now.goal)

    def rows(episode: int) -> Rows:
        now = jax.tree.map(lambda leaf: np.asarray(leaf)[:, episode], (memories, timesteps))
        belief, memory, distance = to_numpy(planned(agent, *now))
        step, slot = np.nonzero(memory.mask)
        place = np.stack([memory.successor[step, slot], memory.origin[step, slot]])
        return Rows(belief[:, step, slot], step, place, distance[step, place])

    return [rows(episode) for episode in range(num_episodes)]


def known_distance(
    memory: Memory, goal: Int[Array, ""], rules: Rules, num_observations: int
) -> Int[Array, " V"]:
    """Fewest known moves from each observation to the goal; V or more if no known path leads there."""
    edges = known_edges(memory, rules, num_observations)
    return plan(edges, jnp.arange(num_observations) == goal)


def known_edges(memory: Memory, rules: Rules, num_observations: int) -> Int[Array, "V M"]:
    """Where each move is known to lead, from the rows of one memory and their inverses."""
    table = jnp.full((num_observations, rules.num_moves), UNKNOWN, jnp.int32)
    return add_edges(table, memory.origin, memory.action, memory.successor, memory.mask, rules)


def fit_readout(
    features: Float[np.ndarray, "R D"], target: Int[np.ndarray, " R"], num_classes: int
) -> Callable[[Float[np.ndarray, "Q D"]], Float[np.ndarray, "Q C"]]:
    """Multinomial logistic regression: a function from features to the probability of each class."""
    mean, spread = features.mean(0), features.std(0) + 1e-6

    def inputs(rows: np.ndarray) -> np.ndarray:
        return np.concatenate([(rows - mean) / spread, np.ones((len(rows), 1))], axis=1)

    design, one_hot = inputs(features.astype(np.float64)), np.eye(num_classes)[target]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weight = flat.reshape(design.shape[1], num_classes)
        log_probability = log_softmax(design @ weight, axis=1)
        gradient = design.T @ (np.exp(log_probability) - one_hot) / len(target) + RIDGE * weight
        cross_entropy = -np.sum(one_hot * log_probability) / len(target)
        return cross_entropy + RIDGE / 2 * np.sum(weight**2), gradient.ravel()

    start = np.zeros(design.shape[1] * num_classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 40})
    weight = found.x.reshape(design.shape[1], num_classes)
    return lambda rows: softmax(inputs(rows) @ weight, axis=1)
