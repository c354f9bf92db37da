import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import networkx as nx
import numpy as np
import pytest
from PIL import Image
from test_cli import fail

from rapidtask.agents.layers import Linear
from rapidtask.agents.rivals.lstm import LSTMConfig
from rapidtask.cli import main
from rapidtask.envs.environment import Environment
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.evaluation.play import play
from rapidtask.policies import make_policy
from rapidtask.runs.checkpoint import named_arrays
from rapidtask.viewer import make_page, record_episode
from rapidtask.viewer.network_export import export_network
from rapidtask.viewer.value_readout import fit_readout
from rapidtask.viewer.world_map import (
    ROOM,
    SIDE,
    describe_world,
    render_street_views,
    spread_apart,
    warp,
)
from rapidtask.worlds import make_pool, world_from_graph
from viewer_samples import RESIDUAL, recorded

STEPS = 40
DOCUMENT = (Path(__file__).parents[2] / "docs" / "viewer.md").read_text("utf-8")


@pytest.fixture(scope="module")
def sample():
    return recorded(STEPS, RESIDUAL, size=2)


def data_of(page: str) -> dict:
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text.group(1))


def test_a_recording_is_the_first_episode_of_an_evaluation(sample):
    environment, (_, oracle) = sample
    completed = play(environment, make_policy("oracle", environment), 2, 3).completed
    np.testing.assert_array_equal(oracle.episode.completed, completed[:, 0])
    assert oracle.episode.completed.sum() > 5


def test_places_follow_from_actions(sample):
    environment, recordings = sample
    next_state = np.asarray(environment.pool.worlds.next_state[0])
    collect = environment.rules.collect
    for recording in recordings:
        place, goal = recording.episode.state, recording.episode.goal
        action = recording.episode.action
        np.testing.assert_array_equal(place[1:], next_state[place[:-1], action])
        np.testing.assert_array_equal(
            recording.episode.completed, (place[:-1] == goal[:-1]) & (action == collect)
        )
        np.testing.assert_array_equal(goal[1:] != goal[:-1], recording.episode.completed)


def test_probabilities_are_those_that_actions_were_drawn_from(sample):
    _, (agent, oracle) = sample
    assert agent.probability.shape == (STEPS, 5)
    np.testing.assert_allclose(agent.probability.sum(-1), 1, rtol=1e-5)
    # An agent with opinions: what it did was likely, more than any action is on average.
    done = agent.probability[np.arange(STEPS), agent.episode.action]
    expected = np.square(agent.probability).sum(-1).mean()
    assert abs(done.mean() - expected) < 0.2
    assert expected > 0.3
    assert oracle.probability is None
    assert oracle.value_map is None


def test_the_value_map_reads_what_rows_hold(sample):
    """Rows are given whether they lead to the goal: read before planning, goals seen are at distance 0."""
    _, (agent, _) = sample
    value_map = agent.value_map
    assert value_map.value.shape == (STEPS, 1 + RESIDUAL.iterations, 4)
    arrived = 0
    for t in range(STEPS):
        # Memories are written after planning: the transition that led here is not in it yet.
        moves = agent.episode.state[: max(t - 1, 0)] != agent.episode.state[1 : max(t, 1)]
        reached = agent.episode.state[1 : max(t, 1)][moves]
        known = set(agent.episode.state[: max(t - 1, 0)]) | set(agent.episode.state[1 : max(t, 1)])
        for state in range(4):
            assert (value_map.distance[t, 0, state] >= 0) == (state in known)
            assert np.isnan(value_map.value[t, 0, state]) == (state not in known)
        if agent.episode.goal[t] in reached:
            arrived += 1
            assert value_map.distance[t, 0, agent.episode.goal[t]] == 0
            assert np.nanargmax(value_map.value[t, 0]) == agent.episode.goal[t]
    assert arrived > 10
    assert value_map.agreement[0] > value_map.chance + 0.1


def test_a_readout_finds_linear_classes_and_not_noise():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(600, 5))
    target = np.digitize(features[:, 2], [-0.5, 0.5])
    readout = fit_readout(features[:300], target[:300], 3)
    assert np.mean(readout(features[300:]).argmax(1) == target[300:]) > 0.9
    np.testing.assert_allclose(readout(features).sum(1), 1)
    noise = generator.integers(0, 3, 600)
    readout = fit_readout(features[:300], noise[:300], 3)
    assert np.mean(readout(features[300:]).argmax(1) == noise[300:]) < 0.5


def test_the_page_needs_nothing_from_elsewhere(sample):
    environment, recordings = sample
    page = make_page(environment, recordings, title="a test")
    addresses = set(re.findall(r"[a-z]+://[^\s\"'`]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a language, not a place to load from
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=\"(?!data:)", page)
    assert "/*scripts*/" not in page
    assert "class Network" in page
    data = data_of(page)
    assert data["title"] == "a test"
    assert data["runs"][0]["place"] == recordings[0].episode.state.tolist()
    assert [run["network"] is not None for run in data["runs"]] == [True, False]
    value = np.frombuffer(base64.b64decode(data["runs"][0]["value_map"]["value"]), np.uint8)
    value = value.reshape(data["runs"][0]["value_map"]["shape"])
    expected = recordings[0].value_map.value
    np.testing.assert_array_equal(value == 255, np.isnan(expected))
    np.testing.assert_allclose(value[value < 255] / 254, expected[value < 255], atol=0.003)


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "runs/<!--<script>"])
def test_names_cannot_end_the_script_early_nor_late(sample, name):
    environment, recordings = sample
    page = make_page(environment, [replace(recordings[1], name=name)], title=name)
    harmless = make_page(environment, [recordings[1]], title="")
    assert re.findall("<script|</script|<!--", page) == re.findall("<script|</script|<!--", harmless)
    assert data_of(page)["runs"][0]["name"] == name


def test_recordings_of_different_worlds_are_refused(sample):
    environment, recordings = sample
    other = record_episode(environment, make_policy("oracle", environment), name="elsewhere", seed=5)
    with pytest.raises(InputError, match="elsewhere was recorded in another world"):
        make_page(environment, [recordings[0], other], title="")


def test_exported_weights_are_the_agent_s(sample):
    _, (recording, _) = sample
    exported = export_network(recording.agent)
    flat = np.frombuffer(base64.b64decode(exported["weights"]), "<f4")
    for name, array in named_arrays(recording.agent):
        place = exported["index"][name]
        part = flat[place["offset"] :][: array.size].reshape(place["shape"])
        np.testing.assert_array_equal(part, array)


def test_agents_that_the_page_cannot_run_are_refused(sample):
    environment, (recording, _) = sample
    lstm = eqx.filter_eval_shape(LSTMConfig().make, environment.spec, 0)
    with pytest.raises(InputError, match="only an EPN"):
        export_network(lstm)
    grown = eqx.tree_at(
        lambda a: a.readout.layers,
        recording.agent,
        [*recording.agent.readout.layers, Linear(4, 4, np.random.default_rng(0))],
    )
    with pytest.raises(InputError, match=r"does not know the EPN's readout.layers\[2\]"):
        export_network(grown)
    page = make_page(environment, [replace(recording, agent=lstm)], title="")
    assert data_of(page)["runs"][0]["why_no_network"] == "the page cannot run a LSTMAgent, only an EPN"


def test_street_maps_keep_junctions_apart_and_streets_joined():
    environment = StreetLearn(city="seinebank", pool_size=1).make()
    world = describe_world(environment, 0, np.arange(60))
    drawn = world["map"]
    assert drawn["kind"] == "streets"
    nodes, lines = np.array(drawn["nodes"]), [np.array(line) for line in drawn["lines"]]
    places = np.array([line[0] for line in lines])
    assert places.min() >= ROOM - 1
    assert places.max() <= SIDE - ROOM + 1
    different = nodes[:, None] != nodes[None]
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert gaps[different].min() > 80
    assert gaps[~different].max() < 0.2
    # Forward leads to where the line of the street ends.
    for state, row in enumerate(world["next_state"]):
        np.testing.assert_allclose(lines[state][-1], places[row[0]], atol=0.2)


def test_places_far_apart_stay_where_they_are():
    places = np.array([[100.0, 100.0], [900.0, 100.0], [500.0, 900.0]])
    np.testing.assert_array_equal(spread_apart(places), places)
    moved = spread_apart(np.array([[500.0, 500.0], [501.0, 500.0]]))
    assert np.linalg.norm(moved[0] - moved[1]) > 100
    np.testing.assert_allclose(warp(places, places, places + 7), places + 7)


def test_any_graph_is_drawn_with_the_names_of_its_nodes():
    worlds = [world_from_graph(nx.relabel_nodes(nx.cycle_graph(n), "stop {}".format)) for n in (3, 5)]
    environment = Environment(make_pool(worlds, shuffle_observations=True))
    assert describe_world(environment, 0, np.arange(5))["names"] == ("stop 0", "stop 1", "stop 2")
    drawn = describe_world(environment, 1, np.arange(5))["map"]
    assert drawn["kind"] == "graph"
    places = np.array(drawn["places"])
    gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert gaps[~np.eye(5, dtype=bool)].min() > 100


def test_command_writes_the_page(tmp_path, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    out = tmp_path / "page.html"
    flags = ["--world.size", "2", "--world.episode-steps", "6", "--compare", "random"]
    main(["watch", "--policy", "oracle", "--out", str(out), *flags])
    assert capsys.readouterr().out.strip() == str(out)
    assert [run["name"] for run in data_of(out.read_text("utf-8"))["runs"]] == ["oracle", "random"]
    assert opened == [out.as_uri()]
    main(["watch", "--policy", "oracle", "--out", str(out), "--no-open", *flags])
    assert len(opened) == 1


def test_command_names_what_is_wrong(tmp_path, capsys):
    out = ["--no-open", "--out", str(tmp_path / "page.html")]
    assert "--compare orakel: neither a file nor one of random, " in fail(
        capsys, "watch", "--compare", "orakel", *out
    )
    assert "there is no folder" in fail(
        capsys, "watch", "--no-open", "--out", str(tmp_path / "no" / "page.html")
    )


def test_views_are_pictures_in_the_page(sample):
    environment, recordings = sample
    frames = np.zeros((4, 84, 84, 3), np.uint8) + np.array([30, 90, 150, 210], np.uint8)[:, None, None, None]
    page = make_page(environment, recordings[1:], title="", views=frames)
    for frame, address in zip(frames, data_of(page)["views"], strict=True):
        kind, picture = address.split(",")
        assert kind == "data:image/jpeg;base64"
        shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))))
        np.testing.assert_allclose(shown, frame, atol=3)
    assert render_street_views(environment, 0) is None


def test_documented_code_runs():
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    names = {}
    exec(compile(code, "docs/viewer.md", "exec"), names)
    assert data_of(names["page"])["world"]["map"] == {"kind": "torus", "size": 3}
