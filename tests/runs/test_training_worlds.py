"""Where runs train: fresh pools of training cities, nothing compiled again, resumed bit for bit."""

import signal
from dataclasses import replace

import jax
import numpy as np
import pytest
from jax.sharding import Mesh
from safetensors.numpy import load_file

from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.cities.city_graph import CityError
from rapidtask.cities.generated import generated_city
from rapidtask.cities.gexf import save_city
from rapidtask.envs.registry import MemoryPlanning, StreetLearn
from rapidtask.errors import InputError
from rapidtask.learning import trainer as trainer_module
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.trainer import DEVICES, Trainer
from rapidtask.runs import worlds as worlds_module
from rapidtask.runs.config import RunConfig
from rapidtask.runs.run import RunOptions, run
from rapidtask.runs.worlds import TrainingWorlds, iterations_per_pool
from rapidtask.worlds.streets import StreetPoolStream
from tiny_training import LSTM, WHOLE_ROLLOUTS

LEARNING = LearningConfig(num_envs=4, minibatch_size=44, **WHOLE_ROLLOUTS)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Neither the variable nor a directory `cities` names city files."""
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


def streets(steps=6 * 44, seed=0, **options):
    """A run of iterations of 4 episodes; its pools of 8 worlds last two of them."""
    world = StreetLearn(**{"city": "starcross,oldmarket", "pool_size": 8, "episode_steps": 10, **options})
    return RunConfig(world, LSTM, LEARNING, "fast", seed, steps)


def make_trainer(config, worlds):
    return Trainer(worlds.environment, config.agent, config.learning, total_steps=config.steps, seed=0)


def tables(environment):
    return np.asarray(environment.pool.worlds.next_state)


@pytest.fixture
def pools(monkeypatch):
    """The pools that are taken for training."""
    taken = []
    take = StreetPoolStream.take

    def record(self, number):
        taken.append(take(self, number))
        return taken[-1]

    monkeypatch.setattr(StreetPoolStream, "take", record)
    return taken


def places(pool):
    """Latitude and longitude of every node of every world."""
    found = set()
    for world in range(pool.num_worlds):
        city, nodes = pool.places.cities[pool.places.city[world]], pool.places.tail[world]
        nodes = nodes[nodes >= 0]
        found |= set(zip(city.lat[nodes].tolist(), city.lng[nodes].tolist(), strict=True))
    return found


def test_training_and_held_out_regions_never_mix(tmp_path, pools):
    """Neither in the cities that pools are drawn from, nor in one node of one world."""
    cities = tmp_path / "files"
    for own, name in (("starcross", "amsterdam"), ("oldmarket", "paris_ne"), ("seinebank", "paris_se")):
        save_city(generated_city(own), cities / f"{name}.gexf.gz")
    by_path = str(cities / "paris_ne.gexf.gz")
    for city, trained in (
        ("train", {"amsterdam", "paris_ne"}),
        ("amsterdam", {"amsterdam"}),
        (by_path, {"paris_ne"}),
    ):
        config = streets(cities=str(cities), city=city, pool_size=100)
        with TrainingWorlds(config):
            pass
        held_out = config.world.held_out().sample()
        assert {city.name for city in pools[-1].places.cities} == trained
        assert {city.name for city in held_out.places.cities} == {"paris_se"}
        assert len(places(held_out)) > 300
        assert not places(pools[-1]) & places(held_out)
    for city in ("paris_se", "held-out", "seinebank", "train,held-out", str(cities / "paris_se.gexf.gz")):
        with pytest.raises(CityError, match="held out for evaluation"):
            TrainingWorlds(streets(cities=str(cities), city=city))


def test_pools_last_whole_episodes_and_about_as_many_as_they_have_worlds():
    config = streets()
    with TrainingWorlds(config) as worlds:
        environment, trainer = worlds.environment, make_trainer(config, worlds)
        assert iterations_per_pool(environment, trainer) == 2
        trainer.num_steps, trainer.steps_per_iteration = 5, 20
        # 8 episodes of 11 steps are 4.4 iterations of 4 × 5; every 11 of them all episodes end together.
        assert iterations_per_pool(environment, trainer) == 11
        trainer.num_steps, trainer.steps_per_iteration = 1100, 4400
        assert iterations_per_pool(environment, trainer) == 1


def test_what_lies_beside_a_pool_does_not_keep_it_from_being_spread_over_devices():
    """By default training has two; tests have one, and a mesh of it is made in the same way."""
    config = streets(pool_size=2)
    with TrainingWorlds(config) as worlds:
        trainer = make_trainer(config, worlds)
        trainer.mesh = Mesh(np.asarray(jax.devices()), (DEVICES,))
        state = trainer.init(worlds.environment)
        assert len(state.actors.env_states.state.sharding.device_set) == 1
        assert worlds.environment.pool.places is not None


def test_the_pool_follows_from_seed_and_iteration():
    config = streets()
    stream = config.world.stream(config.seed)
    with TrainingWorlds(config) as worlds, stream:
        trainer = make_trainer(config, worlds)
        state = trainer.init(worlds.environment)
        seen = []
        for iteration in range(5):
            before = state.actors
            state = worlds.enter(state, iteration, trainer)
            np.testing.assert_array_equal(
                tables(worlds.environment), stream.take(iteration // 2).worlds.next_state
            )
            seen.append(tables(worlds.environment))
            # Where the pool changes, and only there, the actors begin episodes in worlds of the new one.
            if iteration in (2, 4):
                assert state.actors is not before
                index, place = state.actors.env_states.world.index, state.actors.env_states.state
                num_states = worlds.environment.pool.worlds.num_states[index]
                assert (np.asarray(place) < np.asarray(num_states)).all()
                assert np.asarray(state.actors.timestep.first).all()
            else:
                assert state.actors is before
        assert (seen[0] == seen[1]).all()
        assert (seen[1] != seen[2]).any()
    with TrainingWorlds(streets(seed=1)) as other:
        assert (tables(other.environment) != seen[0]).any()


def test_a_run_over_several_pools_compiles_once_and_resumes_bit_for_bit(tmp_path, monkeypatch, pools):
    traces = []
    collect = trainer_module.collect
    monkeypatch.setattr(
        trainer_module, "collect", lambda *arguments: (traces.append(1), collect(*arguments))[1]
    )
    evaluated = []
    scorer = worlds_module.Scorer
    monkeypatch.setattr(
        worlds_module,
        "Scorer",
        lambda environment, *options: (evaluated.append(environment), scorer(environment, *options))[1],
    )
    options = RunOptions(evaluate_every=0, evaluation_episodes=2, checkpoint_every=100)
    config = streets()
    run(config, tmp_path / "whole", options)
    assert len(traces) == 1
    assert len(pools) == 3
    held_out = evaluated[0].pool
    assert [city.name for city in held_out.places.cities] == ["seinebank"]
    assert not any(places(pool) & places(held_out) for pool in pools)

    def stop(progress):
        if progress.iteration == 4:  # the next iteration begins with a new pool
            signal.raise_signal(signal.SIGTERM)

    stopped = run(config, tmp_path / "parts", options, show=stop)
    assert stopped.stopped_by == signal.SIGTERM
    run(config, tmp_path / "parts", options, resume=True)
    whole, parts = (load_file(tmp_path / name / "agent.safetensors") for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name])


def test_options_that_tell_another_shape_than_they_make_are_refused():
    class Grown(MemoryPlanning):
        @property
        def spec(self):
            return replace(super().spec, num_observations=17)

    with pytest.raises(InputError, match=r"options tell .*=17.*, but its environment is .*=16"):
        TrainingWorlds(RunConfig(world=Grown()))
