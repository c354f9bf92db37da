"""Can the planner plan? Supervised, apart from exploring and from reinforcement learning.

All 64 transitions of a 4x4 torus are in memory under new symbols in every sample; the agent is somewhere and
wants to go elsewhere; the label is the set of optimal moves. This is not about the speed of learning from
reward, but about whether the network can represent and learn the algorithm.
"""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.learning.optimisers import grouped, make_optimiser, ungrouped
from rapidtask.worlds import make_torus

NUM_CELLS, NUM_MOVES, BATCH = 16, 4, 128
MAX_UPDATES = 1500
ROUND = 25
"""Updates between two tests, in one compiled call."""


@eqx.filter_jit
def sample(key, torus):
    """A batch of memories of the whole torus, timesteps, and which moves are optimal `[B, 4]`."""
    names_key, here_key, offset_key = jax.random.split(key, 3)
    names_keys = jax.random.split(names_key, BATCH)
    names = jax.vmap(lambda k: jax.random.permutation(k, NUM_CELLS))(names_keys).astype(jnp.int32)
    origin = jnp.repeat(jnp.arange(NUM_CELLS), NUM_MOVES)
    action = jnp.tile(jnp.arange(NUM_MOVES), NUM_CELLS)
    reached = torus.next_state[origin, action]
    zeros = jnp.zeros((BATCH, len(origin)), jnp.int32)
    none = zeros[:, 0]
    memory = Memory(names[:, origin], zeros + action, names[:, reached], zeros + 1, zeros, none, none, none)
    here = jax.random.randint(here_key, (BATCH,), 0, NUM_CELLS)
    goal = (here + jax.random.randint(offset_key, (BATCH,), 1, NUM_CELLS)) % NUM_CELLS
    after = torus.distance[torus.next_state[here, :NUM_MOVES], goal[:, None]]
    each, false = jnp.arange(BATCH), none > 0
    timestep = TimeStep(
        names[each, here], names[each, goal], none, 0.0 * none, false, 1.0 + none, false, false
    )
    return memory, timestep, after == after.min(axis=1, keepdims=True)


def updates_until_optimal(config, learning_rate=1e-2, *, required=0.99):
    """Updates of 128 until more than the required share of fresh situations is answered optimally."""
    torus = make_torus(4)
    agent = config.make(EnvironmentSpec(NUM_CELLS, NUM_MOVES + 1, 100), 0)
    parameters, static = eqx.partition(agent, eqx.is_inexact_array)
    optimiser = make_optimiser("muon", learning_rate, clip=1.0)

    def loss(parameters, key):
        agent = eqx.combine(parameters, static)
        memory, timestep, optimal = sample(key, torus)
        output = agent.act(memory, timestep, agent.embed())
        probability = jax.nn.softmax(output.logits[:, :NUM_MOVES])
        return -jnp.log(jnp.sum(probability * optimal, axis=1) + 1e-9).mean()

    @jax.jit
    def learn(parameters, state, keys):
        def update(carry, key):
            parameters, state = carry
            gradient = grouped(jax.grad(loss)(parameters, key))
            updates, state = optimiser.update(gradient, state, grouped(parameters))
            return (optax.apply_updates(parameters, ungrouped(updates, parameters)), state), None

        return jax.lax.scan(update, (parameters, state), keys)[0]

    @jax.jit
    def share_optimal(parameters, keys):
        agent = eqx.combine(parameters, static)

        def one(key):
            memory, timestep, optimal = sample(key, torus)
            chosen = agent.act(memory, timestep, agent.embed()).logits[:, :NUM_MOVES].argmax(axis=1)
            return jnp.take_along_axis(optimal, chosen[:, None], axis=1).mean()

        return jax.lax.map(one, keys).mean()

    state = optimiser.init(grouped(parameters))
    test_keys = jax.random.split(jax.random.key(2), 16)
    for done in range(ROUND, MAX_UPDATES + 1, ROUND):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(3), done), ROUND)
        parameters, state = learn(parameters, state, keys)
        if (share := float(share_optimal(parameters, test_keys))) > required:
            return done, share
    return None, share


def test_optimal_moves_are_those_of_a_search():
    """The labels that are learned from, against a breadth-first search over the rows in memory."""
    torus = make_torus(4)
    memory, timestep, optimal = jax.tree.map(np.asarray, sample(jax.random.key(0), torus))
    for i in range(8):
        leads = {
            (o, a): s for o, a, s in zip(memory.origin[i], memory.action[i], memory.successor[i], strict=True)
        }
        assert len(leads) == 64
        # Breadth first from the goal, over the rows alone.
        distance, frontier = {int(timestep.goal[i]): 0}, [int(timestep.goal[i])]
        while frontier:
            frontier = [
                int(o) for (o, _), s in leads.items() if int(s) in frontier and int(o) not in distance
            ]
            distance |= dict.fromkeys(frontier, max(distance.values()) + 1)
        here = int(timestep.observation[i])
        best = [distance[int(leads[here, a])] == distance[here] - 1 for a in range(NUM_MOVES)]
        assert optimal[i].tolist() == best


@pytest.mark.slow
@pytest.mark.parametrize("block", ["residual", "paper"])
def test_the_planner_learns_to_plan(block, capsys):
    config = EPNConfig(block=block, iterations=3, comparisons="attention", symbols="fixed")
    start = time.perf_counter()
    updates, share = updates_until_optimal(config)
    with capsys.disabled():
        print(f"\n{block} block: {updates} updates, {share:.2%} optimal, {time.perf_counter() - start:.0f} s")
    assert updates is not None, f"{share:.1%} optimal after {MAX_UPDATES} updates"
