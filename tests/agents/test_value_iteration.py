import jax
import jax.numpy as jnp
import numpy as np
import pytest

from epn_histories import make_epn, quick_jit
from rapidtask.agents.moves import COST, Moves
from rapidtask.agents.value_iteration import NOTHING, spread
from rapidtask.errors import InputError

B, V, M, C = 3, 12, 3, 2


def some_moves(seed):
    """Sources and moves of a random graph, where they lead and what they cost; move V leads nowhere."""
    generator = np.random.default_rng(seed)
    source = -generator.exponential(2.0, (B, V, C)).astype(np.float32)
    cost = generator.uniform(COST, 5 * COST, (B, V, M)).astype(np.float32)
    return source, generator.integers(0, V + 1, (B, V, M)), cost


def along(source, to, cost, sweeps=None):
    """`spread` along moves of which nothing else matters."""
    nothing = np.zeros(0)
    return spread(source, Moves(nothing, nothing, to, cost, nothing, nothing), sweeps)  # pyright: ignore


def bellman(source, moves, cost, sweeps):
    """The same in plain loops."""
    value = source
    for _ in range(sweeps):
        following = source.copy()
        for b, place, move in np.ndindex(B, V, M):
            if (to := moves[b, place, move]) < V:
                following[b, place] = np.maximum(following[b, place], value[b, to] - cost[b, place, move])
        value = following
    return value


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sweeps", [1, 2, None])
def test_values_are_those_of_bellman_s_equation(seed, sweeps):
    given = some_moves(seed)
    ours = quick_jit(lambda *given: along(*given, sweeps))(*given)
    np.testing.assert_allclose(ours, bellman(*given, sweeps or V), atol=1e-5)


def test_gradients_are_those_of_every_maximum_on_the_way():
    source, moves, cost = some_moves(3)
    weights = np.random.default_rng(0).normal(size=source.shape)

    def unrolled(source):
        value = source
        for _ in range(V):
            padded = jnp.pad(value, ((0, 0), (0, 1), (0, 0)), constant_values=NOTHING)
            following = jax.vmap(lambda value, to: value[to])(padded, moves) - cost[..., None]
            value = jnp.maximum(source, following.max(2))
        return value

    gradients = [
        quick_jit(jax.grad(lambda source, values=values: jnp.sum(weights * values(source))))(source)
        for values in (unrolled, lambda source: along(source, moves, cost))
    ]
    np.testing.assert_allclose(*gradients, atol=1e-5)
    assert (np.asarray(gradients[0]) == 0).any()  # some places are worth more by where they lead


@pytest.mark.parametrize("length", [2, 11])
def test_the_way_to_a_far_goal_stands_out_as_much_as_to_a_near_one(length):
    """A corridor 0 - 1 - … whose far end is the goal: each move there gains as much."""
    source = np.full((1, V, 1), -20.0, np.float32)
    source[:, length] = 0.0
    forth, back = np.arange(V) + 1, np.where(np.arange(V) > 0, np.arange(V) - 1, V)
    moves = np.stack([forth, back], axis=1)[None]
    value = along(source, moves, np.full(moves.shape, COST, np.float32))[0, :, 0]
    np.testing.assert_allclose(np.diff(value[: length + 1]), COST, atol=1e-5)
    assert value[0] == pytest.approx(-COST * length, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"value_channels": 2}, "needs comparisons"),
        ({"sweeps": 3}, "no values to pass on"),
        ({"value_channels": 2, "comparisons": "rows", "memory": "all"}, "give unique or set"),
    ],
)
def test_values_that_cannot_be_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        make_epn(**options)
