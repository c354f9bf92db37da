import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from epn_histories import assert_same, fill, quick_jit
from rapidtask.agents.agent import Agent
from rapidtask.agents.encoders import Embeddings, OrthonormalEncoder, SymbolEncoder
from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.vision import ResidualEncoder, WhitenedEncoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep


def cosine(a, b):
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.fixture(scope="module")
def vision():
    return fill(lambda: ResidualEncoder(64, np.random.default_rng(0)))


def frames(*shape, seed=0):
    return jax.device_put(np.random.default_rng(seed).integers(256, size=(*shape, 84, 84, 3), dtype=np.uint8))


def test_vision_network_has_the_shapes_of_the_paper(vision):
    x = jnp.zeros((3, 84, 84))
    shapes = []
    for stage in vision.stages:
        x = jax.eval_shape(stage, x)
        shapes.append(x.shape)
        assert len(stage.block) == 2  # one residual block of two convolutions
    assert shapes == [(16, 42, 42), (32, 21, 21), (32, 11, 11)]
    assert vision.linear.weight.shape == (64, 11 * 11 * 32)
    assert jax.eval_shape(vision, frames(2, 3)).table.shape == (2, 3, 64)
    assert jax.eval_shape(vision, frames(5)).table.shape == (5, 64)


def test_vision_network_by_hand(vision):
    """The stages again, with another library's convolution and pooling."""
    from scipy.ndimage import maximum_filter
    from scipy.signal import correlate

    def convolve(layer, x):
        weight, bias = np.asarray(layer.weight, float), np.asarray(layer.bias, float)
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
        return np.stack([correlate(padded, w, mode="valid")[0] for w in weight]) + bias

    def pool(x):
        # Windows of 3, stride 2, "same" padding: on the far side of an even picture, on both of an odd.
        filtered = maximum_filter(x, (1, 3, 3), mode="constant", cval=-np.inf)
        start = 1 if x.shape[-1] % 2 == 0 else 0
        return filtered[:, start::2, start::2]

    frame = frames(1)[0]
    x = np.moveaxis(np.asarray(frame, float), -1, 0) / 255
    for stage in vision.stages:
        x = pool(convolve(stage.convolution, x))
        y = convolve(stage.block[0], np.maximum(x, 0))
        x = x + convolve(stage.block[1], np.maximum(y, 0))
    expected = np.asarray(vision.linear.weight) @ np.maximum(x, 0).reshape(-1) + np.asarray(
        vision.linear.bias
    )
    assert_same(jax.jit(lambda frame: vision.embed_frame(frame))(frame), expected, 1e-5)


def test_a_pixel_encoder_needs_frames(vision):
    with pytest.raises(ValueError, match="needs the world's frames"):
        vision(None)


@pytest.mark.parametrize("per_environment", [False, True])
def test_each_environment_looks_up_its_own_table(per_environment):
    generator = np.random.default_rng(0)
    tables = generator.normal(size=(2, 5, 4) if per_environment else (5, 4)).astype(np.float32)
    table_of = lambda b: tables[b] if per_environment else tables  # noqa: E731
    embeddings = Embeddings(jnp.asarray(tables), exact=False)
    ids, others = generator.integers(5, size=(2, 2, 3, 1)), generator.integers(5, size=(2, 2, 1, 2))
    ids, others = ids[0], others[0]  # [B, 3, 1] and [B, 1, 2] broadcast against each other
    weight = generator.normal(size=(4, 6)).astype(np.float32)
    found, projected = embeddings.look_up(ids), embeddings.project(jnp.asarray(weight), ids)
    similarity = embeddings.similarity(ids, others)
    assert similarity.shape == (2, 3, 2)
    for b in range(2):
        np.testing.assert_array_equal(found[b], table_of(b)[ids[b]])
        np.testing.assert_allclose(projected[b], table_of(b)[ids[b]] @ weight, rtol=1e-5)
        for row in range(3):
            for column in range(2):
                expected = cosine(table_of(b)[ids[b, row, 0]], table_of(b)[others[b, 0, column]])
                assert float(similarity[b, row, column]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("encoder", [SymbolEncoder(6, 8, np.random.default_rng(0)), OrthonormalEncoder(6, 8)])
def test_symbols_are_similar_only_to_themselves(encoder):
    embeddings = encoder()
    ids = jnp.arange(6)
    np.testing.assert_array_equal(embeddings.similarity(ids[:, None], ids[None]), np.eye(6))
    assert embeddings.table.shape == (6, 8)


def test_fixed_symbols_are_orthonormal_and_have_nothing_to_learn():
    encoder = OrthonormalEncoder(6, 8)
    np.testing.assert_allclose(encoder().table @ encoder().table.T, np.eye(6), atol=1e-6)
    assert jax.tree.leaves(eqx.filter(encoder, eqx.is_inexact_array)) == []


def test_more_symbols_than_vectors_share_them_and_stay_apart():
    embeddings = OrthonormalEncoder(11, 8)()
    ids = jnp.arange(11)
    assert jnp.array_equal(embeddings.look_up(ids[8:]), embeddings.look_up(ids[:3]))
    assert jnp.array_equal(embeddings.similarity(ids[:, None], ids[None]), jnp.eye(11))


@pytest.mark.parametrize("match", [False, True])
def test_pixel_agent_steps_as_it_unrolls_each_environment_with_its_own_frames(match):
    num_envs, num_frames, num_steps = 2, 3, 5
    config = EPNConfig(width=16, iterations=1, comparisons="attention" if match else "none")
    spec = EnvironmentSpec(num_frames, 3, num_steps, pixels=True)
    agent = fill(lambda: config.make(spec, 0))
    generator = np.random.default_rng(1)
    ids = jax.device_put(generator.integers(num_frames, size=(3, num_steps, num_envs), dtype=np.int32))
    zero = jnp.zeros((num_steps, num_envs))
    first = (zero > 0).at[0].set(True).at[3, 1].set(True)
    timesteps = TimeStep(*ids, zero, zero > 0, zero + 1, first, zero > 0)

    @quick_jit
    def run(timesteps, frames):
        embeddings = agent.embed(frames)
        state = agent.initial_state(frames.shape[0])
        unrolled, _ = agent.unroll(state, timesteps, embeddings)
        stepped, _ = Agent.unroll(agent, state, timesteps, embeddings)
        return unrolled.logits, stepped.logits

    own = frames(num_envs, num_frames)
    unrolled, stepped = run(timesteps, own)
    assert unrolled.shape == (num_steps, num_envs, 3)
    assert_same(unrolled, stepped, 1e-5)
    # Swapping the environments swaps the outputs; swapping only their frames does not.
    swapped = jax.tree.map(lambda x: x[:, ::-1], timesteps)
    assert_same(run(swapped, own[::-1])[0], unrolled[:, ::-1], 1e-5)
    assert float(jnp.abs(run(timesteps, own[::-1])[0] - unrolled).max()) > 1e-4


def smooth_frames(count, seed):
    """Frames of a few large patches of colour each: alike in their statistics, different from each other."""
    patches = np.random.default_rng(seed).integers(0, 256, (count, 7, 7, 3), np.uint8)
    return patches.repeat(12, axis=1).repeat(12, axis=2)


@pytest.fixture(scope="module")
def whitened():
    return WhitenedEncoder(32).fit(smooth_frames(400, seed=0))


def test_whitened_views_are_told_apart_where_the_encoder_was_not_fitted(whitened):
    views = smooth_frames(20, seed=1)
    noisy = np.asarray(views, float) + np.random.default_rng(2).normal(0, 8, views.shape)
    ids = np.arange(40)

    @quick_jit
    def compare(frames):
        embeddings = whitened(frames)
        return embeddings.table, embeddings.similarity(ids[:, None], ids[None])

    table, alike = map(np.asarray, compare(np.concatenate([views, noisy.clip(0, 255).astype(np.uint8)])))
    np.testing.assert_allclose(np.linalg.norm(table, axis=-1), 1, atol=1e-4)
    np.testing.assert_allclose(np.diag(alike), 1, atol=1e-4)
    assert np.diag(alike[:20, 20:]).min() > 0.9
    assert (alike[:20, :20] - np.eye(20)).max() < 0.3


def test_whitened_components_have_equal_variance_and_no_gradient(whitened):
    frames = smooth_frames(400, seed=0)
    components = quick_jit(lambda frames: (whitened._shrink(frames) - whitened.mean) @ whitened.axes)(frames)
    np.testing.assert_allclose(np.var(components, 0), 1, rtol=1e-2)
    gradient = quick_jit(jax.grad(lambda e: jnp.sum(e(frames[:4]).table ** 3)))(whitened)
    assert all(np.abs(leaf).max() == 0 for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize("num_frames", [100, 200])
def test_whitened_components_are_those_of_a_singular_value_decomposition(num_frames, monkeypatch):
    """Of fewer frames than pixels, and of more; the sign of a component is anybody's."""
    monkeypatch.setattr(WhitenedEncoder, "SQUARE", 12)
    frames = smooth_frames(num_frames, seed=0)
    axes = np.asarray(WhitenedEncoder(8).fit(frames).axes)
    assert axes.shape == (147, 8)
    small = frames[:, ::12, ::12].reshape(num_frames, -1) / 255
    _, _, directions = np.linalg.svd(small - small.mean(0), full_matrices=False)
    cosines = (directions[:8] * axes.T).sum(1) / np.linalg.norm(axes, axis=0)
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-4)


def test_fewer_frames_than_components_give_finite_embeddings():
    encoder = WhitenedEncoder(32).fit(smooth_frames(5, seed=0))
    assert np.isfinite(quick_jit(lambda frames: encoder(frames).table)(smooth_frames(3, seed=1))).all()
