"""Streets behind Gymnasium and dm_env, and drawn."""

import re

import gymnasium
import jax
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import test_utils
from gymnasium.utils.env_checker import check_env

import rapidtask  # noqa: F401  (registers the ids)
from rapidtask.draw import render_ansi, render_rgb
from rapidtask.draw.canvas import AGENT, GOAL
from rapidtask.draw.text import AGENT_ARROWS, GOAL_ARROWS, ROWS
from rapidtask.envs.dm_environment import DmEnvironment
from rapidtask.envs.environment import Environment, EnvironmentSpec
from rapidtask.envs.episode import RunningEpisodes
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.worlds.world import WorldError

ID = "rapidtask/OneShotStreetLearn-v0"
OPTIONS = {"city": "starcross", "pool_size": 16, "episode_steps": 12}
FORWARD, LEFT, RIGHT = range(3)


def make(**options):
    return gymnasium.make(ID, **{**OPTIONS, **options})


def test_check_env_has_nothing_to_warn_about():
    check_env(make(render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize(("rules", "num_actions"), [("paper", 3), ("release", 4)])
def test_options_reach_the_world(rules, num_actions):
    env = make(rules=rules)
    assert env.action_space.n == num_actions
    assert env.observation_space["position"].shape == (60,)
    assert env.unwrapped.environment.pool.places.cities[0].name == "starcross"
    with pytest.raises(InputError, match="expected one of: paper, release"):
        make(rules="house")
    with pytest.raises(InputError, match="atlantis: no such city"):
        make(city="atlantis")


@pytest.mark.parametrize(
    ("options", "num_observations", "num_actions"),
    [
        ({}, 60, 3),
        ({"rules": "release"}, 60, 4),
        ({"num_intersections": 2, "pool_size": 1}, 60, 3),
        ({"num_intersections": 9}, 60, 3),
        ({"num_intersections": 12, "rules": "release"}, 120, 4),
        ({"num_symbols": 40}, 40, 3),
        ({"num_intersections": 2, "keep_intermediate": True}, 128, 3),
        ({"num_intersections": 2, "keep_intermediate": True, "rules": "release"}, 128, 4),
    ],
)
def test_the_shape_is_known_before_a_world_is_sampled(options, num_observations, num_actions):
    """Worlds have as many states as their streets give; the vocabulary follows from the options."""
    world = StreetLearn(**{**OPTIONS, "pool_size": 2, **options})
    assert world.spec == EnvironmentSpec(num_observations, num_actions, 12, pixels=False)
    assert world.make().spec == world.spec


def test_batch_agrees_with_single_environments_across_episodes():
    def make_vec(mode):
        return gymnasium.make_vec(ID, num_envs=3, vectorization_mode=mode, rules="release", **OPTIONS)

    ours, theirs = make_vec("vector_entry_point"), make_vec("sync")
    np.testing.assert_equal(ours.reset(seed=7), theirs.reset(seed=7))
    for action in np.random.default_rng(0).integers(4, size=(30, 3)):
        np.testing.assert_equal(ours.step(action), theirs.step(action))


def test_a_path_along_the_table_is_rewarded_on_arrival():
    """Walk a shortest path of the world's own table: the reward comes with the last move, not before."""
    env = make(episode_steps=200).unwrapped
    env.reset(seed=4)
    worlds = env.environment.pool.worlds
    for _ in range(5):
        state = jax.tree.map(lambda leaf: leaf[0], env.batch.episodes.states)
        index, goal = int(state.world.index), int(state.goal)
        table, distance = np.asarray(worlds.next_state[index]), np.asarray(worlds.distance[index])
        here = int(state.state)
        for left in range(int(distance[here, goal]), 0, -1):
            action = next(a for a in range(3) if distance[table[here, a], goal] == left - 1)
            here = table[here, action]
            observation, reward, *_ = env.step(np.int64(action))
            assert reward == (left == 1)
            if left > 1:
                assert observation["position"].argmax() == int(state.world.observation[here])


class ContractTest(test_utils.EnvironmentTestMixin, absltest.TestCase):
    """dm_env's own test of the interface, across the ends of episodes."""

    def make_object_under_test(self):
        return DmEnvironment(StreetLearn(**OPTIONS).make())

    def make_action_sequence(self):
        return iter(np.random.default_rng(0).integers(3, size=40))


def episode_with_different_nodes():
    """An episode whose agent and goal stand at different nodes, well apart on the map."""
    episode = RunningEpisodes(StreetLearn(**OPTIONS).make())
    for seed in range(50):
        episode.start([seed])
        scene = episode.scene()
        assert scene.streets is not None
        tail = scene.streets.tail[scene.world]
        city = scene.streets.cities[0]
        if abs(city.lat[tail[scene.state]] - city.lat[tail[scene.goal]]) > 0.001:
            return episode, scene
    raise AssertionError


def test_pictures_show_agent_and_goal():
    _, scene = episode_with_different_nodes()
    picture = render_rgb(scene)
    assert picture.dtype == np.uint8
    for color in (AGENT, GOAL):
        assert (picture[60:] == color).all(-1).sum() > 50


def test_text_shows_agent_and_goal_with_north_at_the_top():
    episode, scene = episode_with_different_nodes()
    text = render_ansi(scene, color=False)
    headline, *rows, _ = text.splitlines()
    assert headline.startswith("step 0/12   goals 0   you are on ")
    assert len(rows) == ROWS
    at = {
        arrows: next(row for row in range(ROWS) if set(rows[row]) & set(arrows))
        for arrows in (AGENT_ARROWS, GOAL_ARROWS)
    }
    tail, lat = scene.streets.tail[scene.world], scene.streets.cities[0].lat
    north = lat[tail[scene.state]] > lat[tail[scene.goal]]
    assert (at[AGENT_ARROWS] < at[GOAL_ARROWS]) == north
    colored = render_ansi(scene)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text
    # Moving forward leaves a trail, which only colour shows.
    for _ in range(3):
        episode.step([FORWARD])
        if episode.goals[0]:
            break
    else:
        assert "\x1b[94m" in render_ansi(episode.scene())
    assert "\x1b[94m" not in colored


def test_turning_turns_the_arrow():
    _, scene = episode_with_different_nodes()
    places, world = scene.streets, scene.world
    table = np.asarray(StreetLearn(**OPTIONS).sample().worlds.next_state[world])
    count = places.num_states[world]
    # A state whose left and own streets leave in opposite directions, more or less.
    for state in range(count):
        turn = places.bearing[world, table[state, LEFT]] - places.bearing[world, state]
        if np.cos(turn) < -0.8:
            break
    from dataclasses import replace

    def arrow(state):
        drawn = render_ansi(replace(scene, state=state, goal=int(table[state, FORWARD])), color=False)
        return next(c for c in drawn.split("\n", 1)[1] if c in AGENT_ARROWS)

    first, second = (AGENT_ARROWS.index(arrow(s)) for s in (state, int(table[state, LEFT])))
    assert (first - second) % 8 in (3, 4, 5)


def test_every_pool_is_drawn_that_has_its_places():
    options = StreetLearn(**OPTIONS)
    with options.stream() as stream:
        environments = [Environment(stream.take(n), options.episode) for n in (0, 1)]
    pictures = []
    for environment in environments:
        episode = RunningEpisodes(environment)
        episode.start([0])
        places = episode.scene().streets
        np.testing.assert_array_equal(places.num_states, environment.pool.worlds.num_states)
        pictures.append(render_rgb(episode.scene()))
    assert not np.array_equal(*pictures)
    # Compiled code has the tables alone: pools of different places are one kind of input.
    assert len({jax.tree.structure(environment) for environment in environments}) == 1
    copy = RunningEpisodes(jax.tree.map(lambda table: table, environments[0]))
    copy.start([0])
    with pytest.raises(WorldError, match="cannot be drawn"):
        render_rgb(copy.scene())
