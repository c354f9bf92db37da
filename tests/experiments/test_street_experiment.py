"""The street experiment, except the drawing of its figures (tests/experiments/test_street_figures.py)."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from fake_runs import page_data, write_run
from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.cli import main
from rapidtask.commands.demo import DOMAINS, Demo
from rapidtask.evaluation.play import play
from rapidtask.experiments import streets
from rapidtask.experiments.curves import ThinkingTime, spread
from rapidtask.experiments.evaluations import gather
from rapidtask.experiments.figure import NotAvailable
from rapidtask.experiments.logged_runs import kind_label, read_runs
from rapidtask.experiments.results import draw
from rapidtask.experiments.streets.cities import Neighbourhoods, PicturedTable, training_cities
from rapidtask.experiments.streets.generalisation import MoreIntersections
from rapidtask.experiments.style import mean_over_seeds
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained import cards
from rapidtask.pretrained.cards import Card, weights_path
from rapidtask.pretrained.load import fit_agent, load_pretrained
from rapidtask.runs.agent_files import agent_file, load_agent, save_agent
from ship_agent import write_card
from street_runs import CONFIG, PLANNER, TRAINED_IN, WORLD, write_cities, write_street_runs
from tiny_training import LSTM


@pytest.fixture(scope="module")
def cities(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = write_cities(tmp_path_factory.mktemp("cities"))
        patch.setenv(CITIES_VARIABLE, str(folder))
        yield folder


@pytest.fixture(scope="module")
def runs(cities, tmp_path_factory):
    return write_street_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def evaluations(runs):
    return gather(read_runs([runs], "streetlearn"), shipped=False, episodes=8, seed=3, world=WORLD)


@pytest.fixture(scope="module")
def shipped(runs, tmp_path_factory):
    """A folder of shipped agents with one EPN of streets."""
    folder = tmp_path_factory.mktemp("shipped")
    agent, config = load_agent(agent_file(runs / "four-0"))
    save_agent(weights_path("epn-streetlearn-symbols", folder), agent, config)
    numbers = {"steps": 1, "minutes": 1.0, "seed": 0, "seeds": [], "parameters": 1}
    words = dict.fromkeys(("recipe", "command", "machine", "commit", "date", "precision"), "")
    write_card(Card("epn-streetlearn-symbols", "epn", "streetlearn", **numbers, **words), folder)
    return folder


def test_labels_tell_thinking_time_size_and_sight():
    assert kind_label(CONFIG) == "EPN"
    assert kind_label(replace(CONFIG, agent=replace(PLANNER, iterations=1))) == "EPN, 1 iteration"
    assert kind_label(replace(CONFIG, agent=LSTM)) == "LSTM"
    assert (
        kind_label(replace(CONFIG, world=replace(TRAINED_IN, num_intersections=9))) == "EPN, 9 intersections"
    )
    pixels = replace(TRAINED_IN, frames="frames")
    assert kind_label(replace(CONFIG, world=pixels)) == "EPN, pixels"
    assert kind_label(replace(CONFIG, world=pixels, agent=LSTM)) == "LSTM, pixels"


def test_kinds_are_told_apart_and_every_seed_is_found(evaluations):
    assert list(evaluations.agents) == ["EPN", "LSTM", "EPN, 1 iteration", "EPN, 2 iterations"]
    assert evaluations.epn().source == "run four-1"
    assert evaluations.main_agents == ["EPN", "LSTM"]
    first, second = evaluations.seeds("EPN")
    assert [evaluations.find(name).config.seed for name in (first, second)] == [0, 1]
    assert evaluations.seeds("EPN") == [first, second]
    assert evaluations.seeds("MERLIN") == ["MERLIN"]
    other = [replace(run, config=replace(run.config, steps=5)) for run in evaluations.runs]
    assert replace(evaluations, runs=other).seeds("EPN") == ["EPN"]  # another training, not another seed


def test_pixels_are_a_group_of_their_own_and_need_frames(runs, tmp_path):
    write_run(tmp_path / "seeing", replace(CONFIG, agent=LSTM, world=replace(TRAINED_IN, frames="elsewhere")))
    found = read_runs([tmp_path, runs / "lstm"], "streetlearn")
    assert [run.observations for run in found] == ["pixels", "symbols"]
    blind = gather(found, shipped=False, world=WORLD)
    assert list(blind.agents) == ["LSTM"]
    seeing = gather(found, shipped=False, world=WORLD, frames="here", pixel_episodes=5)
    assert list(seeing.agents) == ["LSTM", "LSTM, pixels"]
    assert seeing.world_of("LSTM, pixels") == replace(WORLD, frames="here")
    assert seeing.world_of("LSTM") == seeing.world_of("oracle") == WORLD


def test_policies_that_are_the_same_on_streets_are_shown_once():
    for figure in streets.EXPERIMENT.figures:
        assert "hand-coded" not in getattr(figure, "references", ())  # it is edges-inverse where no torus is


def test_cities_share_compiled_programs(cities):
    paris, village = (replace(WORLD, city=name).make() for name in ("paris_se", "village"))
    assert paris.episode == village.episode
    assert not np.array_equal(paris.pool.worlds.next_state, village.pool.worlds.next_state)


def test_thinking_time_compares_runs_that_trained_as_long(runs, tmp_path):
    figure = ThinkingTime(references=())
    write_run(tmp_path / "longer", replace(CONFIG, seed=2), steps=4000, goals=9.0)
    write_run(tmp_path / "aborted", replace(CONFIG, seed=3), steps=100, goals=1.0)
    found = gather(read_runs([runs, tmp_path], "streetlearn"), shipped=False, world=WORLD)
    rows = list(figure.table(found))
    ends = {row["run"]: row for row in rows if row["kind"] == "end"}
    # All kinds reached 1040 steps; the longer run was first looked at after 2000, another never got there.
    assert set(ends) == {"one", "two", "four-0", "four-1"}
    assert {row["iterations"]: row["goals_per_episode"] for row in ends.values()} == {1: 2.0, 2: 3.0, 4: 6.0}
    four = [row for row in ends.values() if row["iterations"] == 4]
    assert spread(four) == pytest.approx(np.sqrt(2))
    assert mean_over_seeds(four, "goals_per_episode") == pytest.approx((5.0, 1.0))
    assert len([row for row in rows if row["kind"] == "curve"]) == 2 * 6
    with pytest.raises(NotAvailable, match="no run of an EPN"):
        list(figure.table(gather([], shipped=False, world=WORLD)))


def test_a_single_seed_has_the_error_of_its_episodes():
    row = {"source": "x", "share": 0.5, "share_stderr": 0.1}
    assert mean_over_seeds([row], "share", 100.0) == pytest.approx((50.0, 10.0))


def test_every_seed_is_scored_in_larger_neighbourhoods(evaluations):
    figure = MoreIntersections(intersections=(7,), references=())
    # One kind of EPN: each would be compiled.
    shown = replace(evaluations, agents={"EPN": evaluations.epn()})
    rows = list(figure.table(shown))
    assert [(row["agent"], row["source"]) for row in rows] == [("EPN", "run four-0"), ("EPN", "run four-1")]
    assert {(row["city"], row["intersections"], row["observations"]) for row in rows} == {
        ("paris_se", 7, "symbols")
    }
    world = replace(WORLD, num_intersections=7)
    completed = shown.completed(shown.seeds("EPN")[1], world, 8, new_symbols=True)
    assert rows[1]["goals_per_episode"] == completed.sum(axis=0).mean()
    assert isinstance(draw(figure, rows), Figure)


def test_neighbourhoods_are_tables_and_pictures(evaluations):
    rows = Neighbourhoods().table(evaluations)
    assert isinstance(rows, PicturedTable)
    assert {row["city"] for row in rows} == {"paris_se"}
    for size in (5, 7, 9):
        ours = [row for row in rows if row["intersections"] == size]
        # Every street can be walked back.
        pairs = sorted((row["node"], row["leads_to"]) for row in ours)
        assert pairs == sorted((b, a) for a, b in pairs)
        leaving = [row["node"] for row in ours]
        # The last node may make two more of them at once.
        assert size <= sum(leaving.count(node) > 2 for node in set(leaving)) <= size + 2
    numbered = [row["view"] for row in rows if row["view"]]
    assert sorted(numbered) == list(range(1, len(rows.views) + 1))
    assert rows.views.std() > 10  # there is something to be seen
    assert isinstance(draw(Neighbourhoods(), rows), Figure)


def test_which_cities_were_trained_on(evaluations, cities):
    assert training_cities(evaluations) == {"village"}
    named = replace(CONFIG, world=replace(TRAINED_IN, city="rome,village"))
    epn = replace(evaluations.epn(), config=named)
    assert training_cities(replace(evaluations, agents={"EPN": epn})) == {"rome", "village"}


def test_a_shipped_agent_is_evaluated_in_any_city_file(shipped, cities, monkeypatch, capsys):
    monkeypatch.setattr(cards, "FOLDER", shipped)
    command = "evaluate --world streetlearn --pretrained epn-streetlearn-symbols --episodes 8 --json"
    small = f"--world.city {cities / 'village.gexf.gz'} --world.pool-size 4 --world.episode-steps 12"
    main([*command.split(), *small.split()])
    result = json.loads(capsys.readouterr().out)
    assert result["policy"] == "epn-streetlearn-symbols"
    assert result["world"]["city"].endswith("village.gexf.gz")
    assert result["episodes"] == 8


def test_the_demo_shows_an_episode_on_the_map(shipped, cities, tmp_path, monkeypatch):
    monkeypatch.setattr(cards, "FOLDER", shipped)
    small = replace(DOMAINS[1], world=WORLD, references=("oracle",), figures=())
    section = Demo(out=tmp_path, episodes=8, seed=3).section(small, lambda text: None)
    assert [scores.policy for scores in section.scores] == ["EPN", "oracle"]
    data = page_data(tmp_path / section.episode)
    first = data["runs"][0]
    assert first["name"] == "EPN"
    assert len(first["place"]) == WORLD.episode_steps + 1
    assert len(data["views"]) == len(data["world"]["map"]["lines"]) > max(first["place"])
    assert data["views"][0].startswith("data:image/jpeg;base64,")
    environment = WORLD.make()
    fitted, _ = fit_agent(*load_pretrained("epn-streetlearn-symbols", folder=shipped), environment)
    completed = play(environment, make_learned_policy(fitted, environment), 8, seed=3).completed
    assert section.scores[0].goals_per_episode == completed.sum(axis=0).mean()
    assert first["completed"] == completed[:, 0].astype(int).tolist()


def test_an_unknown_figure_is_named(runs, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["experiment", "streetlearn", "--only", "fig9", "--no-shipped", "--out", str(tmp_path)])
    assert "--only: unknown figure 'fig9'; known: neighbourhoods" in capsys.readouterr().err
