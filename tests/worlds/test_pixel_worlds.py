"""Street worlds seen in pixels: the right frame for every state, in adapters, evaluation and training."""

import shutil
from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import numpy as np
import pytest
from dm_env import specs

from epn_histories import fill
from rapidtask.agents import AGENTS, make_agent
from rapidtask.agents.vision import PixelEncoder, ResidualEncoder
from rapidtask.cities.city_graph import make_city
from rapidtask.cities.gexf import save_city
from rapidtask.cities.loaders import load_city
from rapidtask.envs.dm_environment import DmEnvironment
from rapidtask.envs.environment import EnvironmentSpec
from rapidtask.envs.gymnasium_env import make_env, make_vector_env
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.evaluation.play import play
from rapidtask.learning.config import LearningConfig, epn_for
from rapidtask.learning.trainer import Trainer
from rapidtask.policies.learned import make_learned_policy
from rapidtask.runs.config import RunConfig
from rapidtask.views.frame_build import build_store
from rapidtask.worlds.frame_store import FrameError, FrameStore
from tiny_training import LSTM, WHOLE_ROLLOUTS

SYMBOLS = 20


class Painted:
    """Frames that are quick to make and all different."""

    hour = None

    def __init__(self, city):
        self.city = city

    def make(self, half_edges):
        frames = [np.random.default_rng(int(h)).integers(0, 256, (84, 84, 3)) for h in half_edges]
        return np.array(frames, np.uint8)


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """A grid of four by four blocks with its frames, and the options that name both."""
    folder = tmp_path_factory.mktemp("pixels")
    side = np.arange(4)
    east, north = (part.ravel() for part in np.meshgrid(side, side))
    generator = np.random.default_rng(0)
    lat, lng = 48 + 1e-3 * north, 2 + 1.5e-3 * east
    edges = [(i, i + 1) for i in range(16) if i % 4 < 3] + [(i, i + 4) for i in range(12)]
    lat, lng = lat + generator.normal(0, 5e-5, 16), lng + generator.normal(0, 5e-5, 16)
    path = save_city(make_city("grid", lat, lng, np.array(edges)), folder / "grid.gexf.gz")
    build_store(Painted(load_city(path)), folder / "frames")
    return StreetLearn(
        city=str(path), frames=str(folder / "frames"), num_intersections=2, num_symbols=SYMBOLS, pool_size=8,
        episode_steps=6,
    )  # fmt: skip


def options_of(options):
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


@pytest.fixture(scope="module")
def environment(options):
    return options.make()


sample = cache(StreetLearn.sample)


def frame_of(options, world, state):
    """The frame of a state, looked up in the store itself."""
    pool = sample(options)
    city = pool.places.cities[0]
    store = FrameStore(f"{options.frames}/{city.name}")
    return store.frames[store.find(city, pool.places.tail[world, state], pool.places.first[world, state])]


@eqx.filter_jit
def begin(environment, key):
    """Five episodes: their states, what they show, and the frames of their observations."""
    states, timestep = environment.reset_batch(jax.random.split(key, 5))
    return states, timestep, environment.pool.look_up_frames(environment.frames_of(states))


def test_every_observation_id_stands_for_the_frame_of_its_state(options, environment):
    states, timestep, tables = begin(environment, jax.random.key(0))
    tables = np.asarray(tables)
    worlds, here_states, seen = jax.tree.map(np.asarray, (states.world, states.state, timestep.observation))
    assert tables.shape == (5, SYMBOLS, 84, 84, 3)
    assert tables.dtype == np.uint8
    for i in range(5):
        world = int(worlds.index[i])
        count = int(environment.pool.worlds.num_states[world])
        labels = worlds.observation[i]
        for state in range(count):
            assert np.array_equal(tables[i, labels[state]], frame_of(options, world, state))
        unused = np.setdiff1d(np.arange(SYMBOLS), labels[:count])
        assert not tables[i, unused].any()
        here = int(seen[i])
        assert np.array_equal(tables[i, here], frame_of(options, world, int(here_states[i])))


def test_worlds_are_not_seen_through_damaged_frames(options, tmp_path):
    shutil.copytree(options.frames, tmp_path / "frames")
    frames = np.lib.format.open_memmap(tmp_path / "frames" / "grid" / "frames.npy", "r+")
    frames[:, 40, 40] ^= 1
    frames.flush()
    with pytest.raises(FrameError, match="are damaged"):
        replace(options, frames=str(tmp_path / "frames")).make()


@pytest.mark.parametrize("name", AGENTS)
def test_agents_made_by_name_see_the_frames(options, environment, name):
    """Every way to an agent gives one that sees what its environment shows."""
    assert options.spec == environment.spec == EnvironmentSpec(SYMBOLS, 3, 6, pixels=True)
    by_name = eqx.filter_eval_shape(lambda: make_agent(name, environment))
    of_a_run = eqx.filter_eval_shape(RunConfig(world=options, agent=AGENTS[name]()).make_agent)
    for agent in (by_name, of_a_run):
        assert isinstance(agent.encoder, PixelEncoder)
    assert eqx.tree_equal(by_name, of_a_run)


def test_gymnasium_shows_the_frames(options):
    env = make_env("streetlearn", **options_of(options))
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    states = env.batch.episodes.states
    assert states is not None
    expected = frame_of(options, int(states.world.index[0]), int(states.state[0]))
    assert np.array_equal(observation["position"], expected)
    assert not np.array_equal(observation["position"], observation["goal"])
    # Left, then right: the same view, unless a task was completed on the way.
    turned, _, _, _, info = env.step(1)
    assert not np.array_equal(turned["position"], expected)
    back, _, _, _, more = env.step(2)
    if not (info["completed"] or more["completed"]):
        assert np.array_equal(back["position"], expected)


def test_batches_and_dm_env_show_the_same(options, environment):
    envs = make_vector_env("streetlearn", 2, **options_of(options))
    batch, _ = envs.reset(seed=3)
    one, _ = make_env("streetlearn", **options_of(options)).reset(seed=3)
    assert batch["position"].shape == (2, 84, 84, 3)
    assert np.array_equal(batch["position"][0], one["position"])
    other = DmEnvironment(environment, seed=3)
    shown = other.reset().observation
    for name, spec in other.observation_spec().items():
        assert isinstance(spec, specs.BoundedArray)
        spec.validate(shown[name])
    assert np.array_equal(shown["goal"], one["goal"])


def test_an_agent_of_pixels_is_trained_and_evaluated(environment, monkeypatch):
    """One iteration changes the vision network, here a narrow one, and the agent then acts."""
    monkeypatch.setattr(ResidualEncoder, "CHANNELS", (2,))
    config = LearningConfig(num_envs=2, minibatch_size=14, optimiser="adam", **WHOLE_ROLLOUTS)
    trainer = Trainer(environment, LSTM, config, total_steps=14, seed=0)
    state = trainer.init(environment)
    first_layer = lambda s: np.array(s.learner.agent.encoder.stages[0].convolution.weight)  # noqa: E731
    before = first_layer(state)
    state, metrics = trainer.iterate(environment, state)
    assert all(np.isfinite(float(value)) for value in metrics.values())
    assert float(metrics["skipped_updates"]) == 0
    assert np.abs(first_layer(state) - before).max() > 0
    policy = make_learned_policy(state.learner.agent, environment)
    completed = play(environment, policy, 3, seed=0).completed
    assert completed.shape == (6, 3)


def test_an_epn_learns_from_single_steps_of_views_recognised_beforehand(environment):
    """The encoder is fitted to the worlds' frames and stays; a minibatch looks up each step's own world."""
    config = LearningConfig(num_envs=4, minibatch_size=8, optimiser="adam")
    agent_config = replace(epn_for("fast"), width=8, iterations=2, learned_iterations=1)
    trainer = Trainer(environment, agent_config, config, total_steps=28, seed=0)
    state = trainer.init(environment)
    weights = lambda s: jax.tree.map(np.array, eqx.filter(s.learner.agent, eqx.is_array))  # noqa: E731
    before = weights(state)
    assert np.abs(before.encoder.axes).max() > 0
    state, metrics = trainer.iterate(environment, state)
    after = weights(state)
    assert np.array_equal(before.encoder.axes, after.encoder.axes)
    assert np.abs(before.readout.layers[0].weight - after.readout.layers[0].weight).max() > 0
    assert float(metrics["skipped_updates"]) == 0
    policy = make_learned_policy(state.learner.agent, environment)
    assert play(environment, policy, 3, seed=0).completed.shape == (6, 3)


def test_what_an_agent_sees_does_not_depend_on_the_labels(environment, monkeypatch):
    """Pixels instead of ids: an episode relabelled is the same episode."""
    monkeypatch.setattr(ResidualEncoder, "CHANNELS", (2,))
    agent = fill(lambda: LSTM.make(environment.spec, 0))
    states, timestep, _ = begin(environment, jax.random.key(1))
    shift = lambda ids: (ids + 7) % SYMBOLS  # noqa: E731
    moved = eqx.tree_at(lambda s: s.world.observation, states, shift(states.world.observation))
    renamed = eqx.tree_at(
        lambda t: (t.observation, t.goal), timestep, (shift(timestep.observation), shift(timestep.goal))
    )

    @eqx.filter_jit
    def act(states, timestep):
        embeddings = agent.embed(environment.pool.look_up_frames(environment.frames_of(states)))
        return agent.step(agent.initial_state(5), timestep, embeddings)[0].logits

    assert np.allclose(act(states, timestep), act(moved, renamed), atol=1e-6)
    # The check can fail: other labels for the same frames are other places.
    assert not np.allclose(act(states, timestep), act(states, renamed), atol=1e-6)


def test_what_is_missing_is_named(options, environment, tmp_path):
    with pytest.raises(FrameError, match="no such frame store"):
        StreetLearn(**{**options_of(options), "frames": str(tmp_path)}).make()
    blind = StreetLearn(**{**options_of(options), "frames": None}).make()
    agent = fill(lambda: LSTM.make(options.spec, 0))
    with pytest.raises(InputError, match=r"--world\.frames"):
        make_learned_policy(agent, blind)
    config = LearningConfig(num_envs=2, rollout_steps=3)
    with pytest.raises(InputError, match="rollout_steps: with frames"):
        Trainer(environment, LSTM, config, total_steps=14, seed=0)
