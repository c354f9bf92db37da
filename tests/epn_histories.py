"""What the tests of agents share: random histories in plain NumPy, and compiled agents to feed them to."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from rapidtask.agents.epn import EPNConfig
from rapidtask.envs.environment import EnvironmentSpec, TimeStep

NUM_STEPS, NUM_ENVS = 24, 3
NUM_OBSERVATIONS, NUM_ACTIONS = 16, 5
SPEC = EnvironmentSpec(NUM_OBSERVATIONS, NUM_ACTIONS, NUM_STEPS)
WIDTH = 16
MOVES = ((0, 1), (0, -1), (-1, 0), (1, 0))

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""Compiling takes longer than running here, and half as long without optimisation."""

histories = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "size": st.sampled_from([2, 3, 4]),
        "respawn": st.booleans(),
        "completes": st.sampled_from(["collect", "arrival"]),
        "reset_chance": st.sampled_from([0.0, 0.05, 0.2]),
    }
)
"""Arguments of `random_history`."""


def random_history(seed, size, respawn, completes="collect", reset_chance=0.1):
    """Random walks of independent environments on small tori, as timesteps `[T, B]`.

    Each environment starts at once and again whenever its own die says so: episodes are out of step with
    each other. Collecting at the goal succeeds half of the time that the walk gets there; walks prefer to
    repeat their last move's opposite, so that transitions repeat.
    """
    generator = np.random.default_rng(seed)
    columns = [_walk(generator, size, respawn, completes, reset_chance) for _ in range(NUM_ENVS)]
    fields = {name: np.stack([column[name] for column in columns], axis=1) for name in columns[0]}
    return TimeStep(**fields)  # NumPy's arrays: to cut JAX's would compile a program for each shape


def _walk(generator, size, respawn, completes, reset_chance):
    rows = []
    first, move = True, 0
    place = goal = 0
    symbols = np.arange(size * size)
    for _ in range(NUM_STEPS):
        completed, action = False, 0
        if first:
            symbols = generator.permutation(NUM_OBSERVATIONS)[: size * size]
            place, goal = generator.choice(size * size, 2, replace=False)
        else:
            at_goal = completes == "collect" and place == goal
            if at_goal and generator.random() < 0.5:
                action = 4
            elif generator.random() < 0.3:
                action = move ^ 1
            else:
                action = int(generator.integers(5 if completes == "collect" else 4))
            if action < 4:
                move = action
                dx, dy = MOVES[action]
                y, x = divmod(place, size)
                place = (y + dy) % size * size + (x + dx) % size
            completed = bool(place == goal and (action == 4 or completes == "arrival"))
            if completed:
                place = int(generator.integers(size * size)) if respawn else place
                goal = int(generator.choice([cell for cell in range(size * size) if cell != place]))
        last = bool(generator.random() < reset_chance)
        rows.append(
            {
                "observation": np.int32(symbols[place]),
                "goal": np.int32(symbols[goal]),
                "action": np.int32(action),
                "reward": np.float32(completed),
                "completed": completed,
                "discount": np.float32(not last),
                "first": first,
                "last": last,
            }
        )
        first = last
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@functools.cache
def make_epn(**options):
    """A small EPN whose weights are large enough for every part to matter."""
    config = EPNConfig(**{"width": WIDTH, **options})
    return fill(lambda: config.make(SPEC, 0))


def fill(make, seed=0):
    """What `make()` builds, all of its arrays random, biases too, so that each of them matters."""
    shapes = eqx.filter_eval_shape(make)
    parameters, static = eqx.partition(shapes, lambda x: isinstance(x, jax.ShapeDtypeStruct))
    generator = np.random.default_rng(seed)

    def draw(path, shape):
        values = generator.normal(size=shape.shape)
        if jax.tree_util.keystr(path).endswith(".scale"):
            values = 1 + 0.2 * values
        elif len(shape.shape) > 1:
            values *= 1.2 * min(shape.shape) ** -0.5
        return jax.device_put(values.astype(shape.dtype))

    return eqx.combine(jax.tree_util.tree_map_with_path(draw, parameters), static)


@functools.cache
def compiled_act(**options):
    """`(agent, memory, timestep) -> (logits, value), gradients`, all `[B]`, for an EPN of these options.

    The gradients are those of fixed random weights times the outputs, with respect to the parameters. All is
    computed in double precision: where two rows or two sides of a ReLU are within a rounding error of each
    other, gradients may rightly jump.
    """
    _, static = eqx.partition(make_epn(**options), eqx.is_inexact_array)

    def act(parameters, memory, timestep):
        agent = eqx.combine(parameters, static)
        output = agent.act(memory, timestep, agent.embed())
        weights = jax.random.normal(jax.random.key(1), (memory.origin.shape[0], NUM_ACTIONS + 1))
        total = jnp.sum(weights[:, 1:] * output.logits) + jnp.sum(weights[:, 0] * output.value)
        return total / memory.origin.shape[0], (output.logits, output.value)

    compute = quick_jit(jax.value_and_grad(act, has_aux=True))

    def run(agent, memory, timestep):
        with jax.enable_x64(True):
            parameters = eqx.filter(agent, eqx.is_inexact_array)
            parameters = jax.tree.map(lambda p: np.asarray(p, np.float64), parameters)
            (_, outputs), gradients = compute(parameters, memory, timestep)
            return jax.tree.map(np.asarray, (outputs, gradients))

    return run


@functools.cache
def compiled_outputs(**options):
    """`(memory, timestep) -> (logits, value)`, all `[B]`, in single precision."""
    agent = make_epn(**options)

    def act(memory, timestep):
        output = agent.act(memory, timestep, agent.embed())
        return output.logits, output.value

    return quick_jit(act)


def flatten(tree):
    """Steps and environments as one batch axis."""
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), tree)


def assert_same(a, b, tolerance=1e-4):
    """Two pytrees are equal, relative to the largest entry of each array where that is above 1."""
    leaves_a, leaves_b = jax.tree.leaves(a), jax.tree.leaves(b)
    assert len(leaves_a) == len(leaves_b)
    for one, other in zip(leaves_a, leaves_b, strict=True):
        scale = max(1.0, float(np.abs(other).max()))
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)
