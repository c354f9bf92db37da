"""The rivals: unrolling is stepping, a reset forgets, memories hold what was written."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapidtask.agents.agent import Agent
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.rivals.lstm import LSTMConfig
from rapidtask.agents.rivals.merlin import MerlinConfig, View, inverse_lengths, later_rows
from rapidtask.agents.rivals.mra import MRAConfig, contrastive_loss
from rapidtask.agents.rivals.slots import SlotMemory, attention_weights, join_rows, visible_rows
from rapidtask.agents.rivals.transformer import TransformerConfig
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep

NUM_OBSERVATIONS, NUM_ACTIONS, EPISODE_STEPS = 7, 4, 9

LSTM = LSTMConfig(embedding_width=6, torso_width=8, width=8, policy_width=8)
MERLIN = MerlinConfig(embedding_width=6, width=8, latent_width=5, policy_width=8)
MRA = MRAConfig(
    embedding_width=6,
    torso_width=7,
    width=8,
    key_width=4,
    top_k=3,
    prediction_steps=3,
    prediction_width=4,
    policy_width=8,
)
CONFIGS = {
    "lstm": LSTM,
    "merlin": MERLIN,
    "merlin, top 2, no retroactive writes": dataclasses.replace(MERLIN, top_k=2, retroactive=False),
    "mra": MRA,
    "transformer": TransformerConfig(embedding_width=6, width=8, num_heads=2, policy_width=8),
    "mra, all slots, no predictions": dataclasses.replace(MRA, top_k=0, prediction_steps=0),
}
all_rivals = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())


@functools.cache
def make_agent(config, *, pixels=False):
    """An agent with parameters from NumPy: XLA takes many seconds to compile an initialisation.

    They are larger than fresh ones: small heads would hide differences, and large keys make attention choose.
    """
    draw = np.random.default_rng(0)

    def fill(leaf):
        scale = 2 / np.sqrt(leaf.shape[0]) if len(leaf.shape) == 2 else 0.1
        return jax.device_put((scale * draw.normal(size=leaf.shape)).astype(leaf.dtype))

    spec = EnvironmentSpec(NUM_OBSERVATIONS, NUM_ACTIONS, EPISODE_STEPS, pixels)
    agent = eqx.filter_eval_shape(config.make, spec, 0)
    return jax.tree.map(lambda x: fill(x) if isinstance(x, jax.ShapeDtypeStruct) else x, agent)


def make_timesteps(first, seed=0):
    """Random timesteps `[T, B]`; episodes start where `first` says."""
    draw = np.random.default_rng(seed)
    shape = first.shape
    none = np.zeros(shape, bool)
    return TimeStep(
        observation=draw.integers(0, NUM_OBSERVATIONS, shape, np.int32),
        goal=draw.integers(0, NUM_OBSERVATIONS, shape, np.int32),
        action=np.where(first, 0, draw.integers(0, NUM_ACTIONS, shape, np.int32)),
        reward=np.where(first, 0, draw.integers(0, 2, shape).astype(np.float32)),
        completed=none,
        discount=np.ones(shape, np.float32),
        first=first,
        last=none,
    )


def starts(num_steps, *environments):
    """`first` `[T, B]`: one tuple of starting times per environment."""
    first = np.zeros((num_steps, len(environments)), bool)
    for environment, times in enumerate(environments):
        first[list(times), environment] = True
    return first


OUT_OF_STEP = starts(24, (0, 10, 20), (0, 3, 5, 13), (4, 14), (0, 1, 2, 12, 22), (9, 18))
"""Episodes of at most 10 timesteps (9 steps), starting at other times in each environment, some under way."""


def at(tree, index):
    """A part of arrays, by NumPy: JAX would compile a program for each shape."""
    return jax.tree.map(lambda x: np.asarray(x)[index], tree)


def step_through(agent, state, timesteps):
    outputs = []
    for t in range(timesteps.first.shape[0]):
        output, state = step(agent, state, at(timesteps, t))
        outputs.append(output)
    return jax.tree.map(lambda *x: np.stack(x), *outputs), state


@eqx.filter_jit
def unroll(agent, state, timesteps, embeddings=None):
    return agent.unroll(state, timesteps, agent.embed() if embeddings is None else embeddings)


@eqx.filter_jit
def step(agent, state, timestep, embeddings=None):
    return agent.step(state, timestep, agent.embed() if embeddings is None else embeddings)


def assert_same_behaviour(a, b, **kwargs):
    for name in ("logits", "value"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=2e-5, err_msg=name, **kwargs)


@all_rivals
def test_unroll_equals_stepping_across_resets_out_of_step(config):
    agent = make_agent(config)
    timesteps = make_timesteps(OUT_OF_STEP)
    state = agent.initial_state(OUT_OF_STEP.shape[1])
    stepped, stepped_state = step_through(agent, state, timesteps)
    unrolled, unrolled_state = unroll(agent, state, timesteps)
    assert_same_behaviour(stepped, unrolled)
    # In pieces: each unroll starts from memories filled by the one before, to other heights.
    outputs, pieces_state = [], state
    for start in (0, 8, 16):
        output, pieces_state = unroll(agent, pieces_state, at(timesteps, slice(start, start + 8)))
        outputs.append(output)
    pieces = jax.tree.map(lambda *x: np.concatenate(x), *outputs)
    assert_same_behaviour(stepped, pieces)
    if isinstance(config, MerlinConfig):
        np.testing.assert_allclose(unrolled.auxiliary_loss, pieces.auxiliary_loss, atol=2e-5)
        assert (unrolled.auxiliary_loss > 0).all()
    # And they carry on alike.
    more = make_timesteps(starts(8, (), (), (1,), (), ()), seed=1)
    for carried in (stepped_state, pieces_state):
        assert_same_behaviour(unroll(agent, unrolled_state, more)[0], unroll(agent, carried, more)[0])


@all_rivals
def test_a_reset_forgets_everything(config):
    agent = make_agent(config)
    timesteps = make_timesteps(starts(24, *[(0, 16)] * 5))
    state = agent.initial_state(5)
    outputs, _ = unroll(agent, state, timesteps)
    fresh, _ = unroll(agent, state, at(timesteps, slice(16, None)))
    assert_same_behaviour(at(outputs, slice(16, None)), fresh)
    # Without the reset the past matters, to the last step.
    kept = dataclasses.replace(timesteps, first=timesteps.first & (np.arange(24) != 16)[:, None])
    outputs, _ = unroll(agent, state, kept)
    assert np.abs(np.asarray(outputs.logits)[17:] - np.asarray(fresh.logits)[1:]).max((1, 2)).min() > 1e-4


@all_rivals
def test_environments_do_not_see_each_other(config):
    agent = make_agent(config)
    timesteps, others = make_timesteps(OUT_OF_STEP), make_timesteps(OUT_OF_STEP[:, ::-1], seed=1)
    mixed = jax.tree.map(lambda a, b: np.where(np.arange(5) == 2, a, b), timesteps, others)
    outputs, _ = unroll(agent, agent.initial_state(5), timesteps)
    among_others, _ = unroll(agent, agent.initial_state(5), mixed)
    assert_same_behaviour(at(outputs, np.s_[:, 2]), at(among_others, np.s_[:, 2]))


@all_rivals
def test_unroll_has_the_gradient_of_stepping(config):
    """The detours of `unroll` (two scans, rows joined) change what is computed, not what is learned."""
    agent = make_agent(config)
    timesteps = make_timesteps(OUT_OF_STEP)

    def make_gradient(unroll):
        def loss(agent, auxiliary_cost):
            output, _ = unroll(agent, agent.initial_state(5), timesteps, agent.embed())
            weights = jax.random.normal(jax.random.key(1), output.logits.shape)
            policy, value = jnp.mean(weights * output.logits), jnp.mean(output.value**2)
            return policy + value + auxiliary_cost * jnp.mean(output.auxiliary_loss)

        return eqx.filter_jit(eqx.filter_grad(loss))

    ours, plain = make_gradient(type(agent).unroll), make_gradient(Agent.unroll)
    for path, leaf in jax.tree_util.tree_leaves_with_path(ours(agent, jnp.ones(()))):
        assert np.isfinite(leaf).all(), path
        assert np.abs(leaf).max() > 1e-9, path  # every parameter is learned
    leaves = jax.tree_util.tree_leaves_with_path(ours(agent, jnp.zeros(())))
    for (path, leaf), expected in zip(leaves, jax.tree.leaves(plain(agent, jnp.zeros(()))), strict=True):
        np.testing.assert_allclose(leaf, expected, rtol=1e-3, atol=1e-6, err_msg=str(path))


@pytest.mark.parametrize("config", [LSTM, MERLIN, MRA], ids=["lstm", "merlin", "mra"])
def test_pixels_with_a_table_per_environment(config):
    agent = make_agent(config, pixels=True)
    assert isinstance(agent.encoder, PixelEncoder)
    tables = jax.random.normal(jax.random.key(1), (5, NUM_OBSERVATIONS, config.embedding_width))
    timesteps = make_timesteps(OUT_OF_STEP[:8])
    state = agent.initial_state(5)
    together, _ = unroll(agent, state, timesteps, Embeddings(tables, exact=False))
    stepped, _ = step(agent, state, at(timesteps, 0), Embeddings(tables, exact=False))
    assert_same_behaviour(at(together, 0), stepped)
    # As if all had environment 3's table: environment 3 alone sees no difference.
    shared, _ = unroll(agent, state, timesteps, Embeddings(tables[3], exact=False))
    assert_same_behaviour(at(together, np.s_[:, 3]), at(shared, np.s_[:, 3]))
    assert np.abs(together.logits - shared.logits)[:, :3].max() > 1e-3
    if isinstance(config, MerlinConfig):
        np.testing.assert_allclose(together.auxiliary_loss[:, 3], shared.auxiliary_loss[:, 3], atol=2e-5)


def test_no_action_led_to_the_first_timestep():
    agent = make_agent(LSTM)
    timesteps = make_timesteps(OUT_OF_STEP)
    acted = dataclasses.replace(timesteps, action=np.where(timesteps.first, 2, timesteps.action))
    state = agent.initial_state(5)
    assert_same_behaviour(unroll(agent, state, timesteps)[0], unroll(agent, state, acted)[0])


def test_a_slot_memory_writes_in_order_and_stays_when_full():
    memory = SlotMemory.zeros(2, 3, 1)
    for t in range(5):
        memory = memory.forget(jnp.array([t == 0, t == 3]))
        memory = memory.write(jnp.array([[10.0 + t], [20.0 + t]]))
    # Environment 0 wrote 10, 11, 12 and had no room for 13, 14; environment 1 started again at 23.
    np.testing.assert_array_equal(memory.rows[..., 0], [[10, 11, 12], [23, 24, 22]])
    np.testing.assert_array_equal(memory.mask, [[True, True, True], [True, True, False]])


def test_joined_rows_show_each_step_what_its_episode_wrote_before():
    memory = SlotMemory(jnp.array([[1.0, 2, 0], [3, 0, 0]])[..., None], jnp.array([2, 1]))
    first = jnp.asarray(starts(4, (2,), ()))
    new = jnp.array([[10.0, 20], [11, 21], [12, 22], [13, 23]])[..., None]
    show = jax.jit(lambda memory: (join_rows(memory, new)[..., 0], visible_rows(memory, first)))
    rows, mask = (np.asarray(array) for array in show(memory))

    def visible(t, environment):
        return rows[environment][mask[t, environment]].tolist()

    # Environment 0 has room for one more row, then an episode starts at step 2; environment 1 goes on.
    assert [visible(t, 0) for t in range(4)] == [[1, 2], [1, 2, 10], [], [12]]
    assert [visible(t, 1) for t in range(4)] == [[3], [3, 20], [3, 20, 21], [3, 20, 21]]


def test_top_k_keeps_the_best_and_is_full_attention_when_there_are_no_more_rows():
    scores = jnp.array([[[0.0, 2, 1, 9, -1]]])
    mask = jnp.array([[True, True, True, False, True]])
    full = attention_weights(scores, mask)
    np.testing.assert_allclose(full[0, 0], np.array([1, np.e**2, np.e, 0, 1 / np.e]) / 11.475217, rtol=1e-5)
    for top_k in (4, 5, 50):
        np.testing.assert_allclose(attention_weights(scores, mask, top_k), full, rtol=1e-6)
    best_two = np.array([0, np.e, 1, 0, 0]) / (np.e + 1)
    np.testing.assert_allclose(attention_weights(scores, mask, 2)[0, 0], best_two, rtol=1e-5)
    np.testing.assert_array_equal(attention_weights(scores, mask & False, 2), 0)


@pytest.mark.parametrize("name", ["merlin", "mra"])
def test_top_k_as_large_as_the_memory_changes_nothing(name):
    config = CONFIGS[name]
    timesteps = make_timesteps(OUT_OF_STEP)

    def outputs(top_k):
        agent = make_agent(dataclasses.replace(config, top_k=top_k))
        return unroll(agent, agent.initial_state(5), timesteps)[0]

    assert_same_behaviour(outputs(EPISODE_STEPS), outputs(0))
    assert np.abs(outputs(1).logits - outputs(0).logits).max() > 1e-3


def test_merlin_reads_the_row_it_asks_for_and_what_came_after():
    agent = make_agent(dataclasses.replace(MERLIN, num_heads=1, latent_width=3, retroactive_discount=0.5))
    rows = jnp.array([[[2.0, 0, 0], [0, 4, 0], [0, 0, 8], [9, 9, 9]]])
    mask = jnp.array([[True, True, True, False]])

    @jax.jit
    def read(query):
        return agent.read(query, View(rows, inverse_lengths(rows), mask))

    # Key for the direction of row 1, whatever its length; strength large: softplus(300) = 300.
    found = read(jnp.array([[0.0, 0.1, 0, 0, 0, 0, 300]]))
    np.testing.assert_allclose(found[0], [0, 4, 0, 0, 0, 4], atol=1e-4)  # ½ of row 2, which followed
    # Key for the retroactive half: the row soonest followed by row 2 is row 1; row 0 has half as much of it.
    found = read(jnp.array([[0, 0, 0, 0, 0, 0.1, 300]]))
    np.testing.assert_allclose(found[0], [0, 4, 0, 0, 0, 4], atol=1e-4)
    # No strength: softplus(-300) = 0, the mean of the visible rows.
    found = read(jnp.array([[0.0, 0.1, 0, 0, 0, 0, -300]]))
    np.testing.assert_allclose(found[0], [2 / 3, 4 / 3, 8 / 3, 0, 2 / 3, 2], atol=1e-4)


def test_retroactive_sums_are_those_written_step_by_step():
    """MERLIN's rule: w ← γ w + (1 - γ) (last written slot); M ← M + w z, at every step."""
    latents, discount = np.random.default_rng(0).normal(size=(6, 2)), 0.8
    memory, weight = np.zeros((6, 2)), np.zeros(6)
    for t, latent in enumerate(latents):
        weight = discount * weight
        if t:
            weight[t - 1] += 1 - discount
        memory += weight[:, None] * latent
    np.testing.assert_allclose(later_rows(6, discount) @ latents, memory, atol=1e-6)


def test_mra_reads_the_slot_under_the_nearest_key():
    agent = make_agent(dataclasses.replace(MRA, top_k=1, key_width=4))
    keys = jnp.array([[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [5, 5, 5, 5]]])
    values = jnp.arange(4.0)[None, :, None] * jnp.ones(3)
    mask = jnp.array([[True, True, True, False]])
    query = jnp.array([[0.5, 0.1, 0.9, 0]])
    np.testing.assert_allclose(agent.read(query, keys, values, mask)[0], 2, rtol=1e-6)
    # Two nearest: scores 0.45 and 0.25 (products over the square root of the width).
    agent = make_agent(dataclasses.replace(MRA, top_k=2, key_width=4))
    weight = np.exp(0.45) / (np.exp(0.45) + np.exp(0.25))
    np.testing.assert_allclose(agent.read(query, keys, values, mask)[0], 2 * weight, rtol=1e-5)


def gradient_of_last_value(config, *, at_step, num_steps=6):
    """|∂ value at the last step / ∂ observation embeddings at `at_step`| through the memory alone.

    The LSTM's own path is cut by zero recurrent weights and, at every step, a forget gate of zero.
    """
    agent = make_agent(dataclasses.replace(config, top_k=0))
    cells = [agent.lstm] if isinstance(config, MRAConfig) else [agent.lower, agent.upper]
    width = config.width

    def cut(cell):
        bias = cell.inputs.bias.at[width : 2 * width].set(-1e9)
        return eqx.tree_at(
            lambda c: (c.inputs.bias, c.recurrent.weight), cell, (bias, 0 * cell.recurrent.weight)
        )

    where = (lambda a: [a.lstm]) if isinstance(config, MRAConfig) else (lambda a: [a.lower, a.upper])
    agent = eqx.tree_at(where, agent, [cut(cell) for cell in cells])
    if isinstance(config, MerlinConfig):
        agent = eqx.tree_at(lambda a: a.latent_context.weight, agent, replace_fn=jnp.zeros_like)
    else:
        agent = eqx.tree_at(lambda a: a.query_context.weight, agent, replace_fn=jnp.zeros_like)
    timesteps = make_timesteps(starts(num_steps, (0,)))
    # Every step has an id of its own, so the table's gradient tells the steps apart.
    timesteps = dataclasses.replace(
        timesteps, observation=jnp.arange(num_steps)[:, None], goal=timesteps.goal * 0 + 6
    )

    @jax.jit
    @jax.value_and_grad
    def value(table):
        output, _ = agent.unroll(agent.initial_state(1), timesteps, Embeddings(table, exact=True))
        return output.value[-1, 0]

    table = agent.embed().table
    (here, gradient), (moved, _) = value(table), value(table.at[at_step].add(0.1))
    assert abs(moved - here) > 1e-6  # the step does matter, through the memory
    return jnp.abs(gradient[at_step]).max()


def test_merlin_writes_without_gradient():
    assert gradient_of_last_value(MERLIN, at_step=2) == 0


def test_mra_sends_gradients_to_the_step_it_recalls():
    assert gradient_of_last_value(MRA, at_step=2) > 1e-4


def test_contrastive_loss_by_hand():
    # Two environments, three steps, one number per target; only one step ahead is predicted.
    targets = jnp.array([[0.0, 1], [2, 0], [1, 3]])[..., None]
    predictions = jnp.array([[1.0, 2], [0.5, 1], [7, 7]])[..., None, None]
    first = jnp.asarray(starts(3, (0,), (0,)))
    loss = jax.jit(contrastive_loss)(predictions, targets, first)

    def nats(guess, right, others):
        return np.log(sum(np.exp(guess * x) for x in (right, *others))) - guess * right

    expected = [
        # other environment at the next step; own environment at the other two steps
        [nats(1.0, 2, [0, 0, 1]), nats(2.0, 0, [2, 1, 3])],
        [nats(0.5, 1, [3, 0, 2]), nats(1.0, 3, [1, 1, 0])],
        [0, 0],
    ]
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(loss[0, 0], 0.493813, rtol=1e-4)


def test_contrastive_loss_does_not_predict_across_a_reset():
    draw = jax.random.key(0)
    predictions, targets = jax.random.normal(draw, (8, 2, 3, 4)), jax.random.normal(draw, (8, 2, 4))
    loss, firsts = jax.jit(contrastive_loss), (starts(8, (0,), (0,)), starts(8, (0, 4), (0,)))
    whole, split = (np.asarray(loss(predictions, targets, jnp.asarray(first))) for first in firsts)
    np.testing.assert_allclose(split[:, 1], whole[:, 1])
    np.testing.assert_allclose(split[[0, 4, 5, 6, 7], 0], whole[[0, 4, 5, 6, 7], 0])
    assert split[3, 0] == 0  # all that follows is another episode
    assert (split[1:3, 0] > 0).all()
    assert (split[1:3, 0] < whole[1:3, 0]).all()


def test_reconstruction_loss_by_hand():
    """Decoders of zeros know nothing: log of how many there are, and half of the squared reward."""
    agent = make_agent(MERLIN)
    where = lambda a: [a.decode_observation, a.decode_goal, a.decode_action, a.decode_reward]  # noqa: E731
    agent = eqx.tree_at(where, agent, jax.tree.map(jnp.zeros_like, where(agent)))
    timesteps = make_timesteps(starts(4, (0,), (0, 2)))
    latents = jnp.ones((4, 2, MERLIN.latent_width))
    loss = eqx.filter_jit(lambda agent: agent.reconstruction_loss(latents, timesteps, agent.embed()))(agent)
    expected = 2 * np.log(NUM_OBSERVATIONS) + np.where(timesteps.first, 0, np.log(NUM_ACTIONS))
    np.testing.assert_allclose(loss, expected + 0.5 * np.square(timesteps.reward), rtol=1e-5)


def test_merlin_learns_to_reconstruct_from_its_latent():
    """The loss falls along its own gradient."""
    agent = make_agent(dataclasses.replace(MERLIN, latent_width=16))
    timesteps = make_timesteps(OUT_OF_STEP)

    @eqx.filter_value_and_grad
    def loss(agent):
        return agent.unroll(agent.initial_state(5), timesteps, agent.embed())[0].auxiliary_loss.mean()

    @eqx.filter_jit
    def descend(agent):
        value, gradient = loss(agent)
        return value, eqx.apply_updates(agent, jax.tree.map(lambda g: -0.03 * g, gradient))

    losses = []
    for _ in range(30):
        value, agent = descend(agent)
        losses.append(float(value))
    assert losses[-1] < 0.7 * losses[0]
