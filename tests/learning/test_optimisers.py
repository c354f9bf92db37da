import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from rapidtask.agents.layers import Linear, Mlp
from rapidtask.learning.optimisers import ADAM_SHARE, grouped, make_optimiser, ungrouped


class Network(eqx.Module):
    """Hidden matrices of three shapes, biases, a table and an output layer."""

    table: jax.Array
    mlp: Mlp
    logits: Linear

    def __init__(self):
        rng = np.random.default_rng(0)
        self.table = jnp.zeros((4, 3))
        self.mlp, self.logits = Mlp((3, 3, 3, 5, 3), rng), Linear(3, 2, rng)


def normal(seed):
    shapes = eqx.filter_eval_shape(Network)
    draw = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jax.device_put(draw.normal(size=leaf.shape).astype(np.float32)), shapes)


def test_groups_hold_hidden_matrices_by_shape_and_come_apart_again():
    network = normal(0)
    groups = grouped(network)
    assert {name: group.shape for name, group in groups.items()} == {
        "rest": (12 + 3 + 3 + 5 + 3 + 6 + 2,), "3x3": (2, 3, 3), "3x5": (1, 3, 5), "5x3": (1, 5, 3),
    }  # fmt: skip
    assert eqx.tree_equal(ungrouped(groups, network), network)


def test_grouped_parameters_take_the_steps_of_single_ones():
    """Muon's steps of hidden matrices and Adam's of the rest, as by Optax from array to array."""

    def mark(path, leaf):
        hidden = path[0].name == "mlp" and leaf.ndim == 2
        return optax.contrib.MuonDimensionNumbers() if hidden else None

    reference = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.contrib.muon(
            0.1,
            adam_learning_rate=0.1 * ADAM_SHARE,
            muon_weight_dimension_numbers=lambda tree: jax.tree_util.tree_map_with_path(mark, tree),
        ),
    )
    ours = make_optimiser("muon", 0.1, clip=1.0)

    @jax.jit
    def steps(network, *gradients):
        state, group_state = reference.init(network), ours.init(grouped(network))
        for gradient in gradients:
            one, state = reference.update(gradient, state, network)
            other, group_state = ours.update(grouped(gradient), group_state, grouped(network))
        return one, ungrouped(other, network)

    expected, found = steps(normal(0), normal(1), normal(2))
    for one, other in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        assert np.abs(one).max() > 1e-3
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)
