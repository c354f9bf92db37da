from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from fake_runs import page_data, write_run
from grid_runs import CONFIG, WORLD, gather_grid_runs, write_grid_runs
from rapidtask.cli import main
from rapidtask.commands import demo
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError
from rapidtask.evaluation.play import play
from rapidtask.experiments.comparison import StepsToGoal
from rapidtask.experiments.curves import Recipes, curve_rows, mean_curve
from rapidtask.experiments.evaluations import gather
from rapidtask.experiments.figure import NotAvailable
from rapidtask.experiments.grid import Trajectory, cells_seen
from rapidtask.experiments.logged_runs import kind_label, read_runs
from rapidtask.experiments.results import csv_text, draw
from rapidtask.policies import make_policy
from rapidtask.pretrained import cards
from rapidtask.worlds.torus import segments
from ship_agent import Ship, ship


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_grid_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def evaluations(runs):
    return gather_grid_runs(runs)


def test_traces_show_the_episodes_that_are_scored():
    environment = WORLD.make()
    policy = make_policy("hand-coded", environment)
    trace = play(environment, policy, 6, seed=2)
    np.testing.assert_array_equal(trace.completed, play(environment, policy, 6, seed=2).completed)
    collected = trace.action == 4
    assert (trace.state == trace.goal)[:-1][collected].all()  # the hand-coded agent collects only on the goal
    np.testing.assert_array_equal(collected, trace.completed)
    moved = trace.state[1:] != trace.state[:-1]
    np.testing.assert_array_equal(moved, ~collected)
    assert (np.sort(trace.symbols, axis=1) == np.arange(16)).all()


def test_runs_are_found_told_apart_and_the_best_is_shown(runs, evaluations):
    assert list(evaluations.agents) == ["EPN", "LSTM", "EPN N×k (k=4)", "EPN, recipe paper"]
    assert evaluations.epn().source == "run epn-1"  # 3.5 goals at its end, against 2.5
    assert evaluations.epn().config.seed == 1
    assert kind_label(replace(CONFIG, world=MemoryPlanning(size=6))) == "EPN 6×6"
    with pytest.raises(InputError, match="is no run, and holds none"):
        read_runs([runs / "epn-0" / "nothing"], "memory-planning")
    with pytest.raises(InputError, match="was trained in memory-planning, not streetlearn"):
        read_runs([runs], "streetlearn")


def test_a_run_without_a_checkpoint_still_gives_a_curve(tmp_path):
    write_run(tmp_path / "young", CONFIG)
    (tmp_path / "young" / "agent.safetensors").unlink()
    found = gather(read_runs([tmp_path], "memory-planning"), shipped=False)
    assert not found.agents
    assert len(curve_rows(found, ("fast",))) == 2
    with pytest.raises(NotAvailable, match="no trained EPN"):
        found.epn()


def test_cells_seen_by_hand():
    places = np.asarray([[0, 5], [1, 5], [0, 6], [2, 7]])
    np.testing.assert_array_equal(cells_seen(places, 8), [[1, 1], [2, 1], [2, 2], [3, 3]])


def test_the_mean_curve_covers_what_all_seeds_have():
    short, long = np.asarray([[0.0, 2.0], [0.0, 4.0]]), np.asarray([[1.0, 4.0], [0.0, 6.0]])
    places, mean = mean_curve([short, long])
    assert (places[0], places[-1]) == (1.0, 2.0)
    assert (mean[0], mean[-1]) == pytest.approx((1.0, 3.0))


def test_moves_across_an_edge_are_drawn_in_two_parts():
    assert segments(5, 9, 4) == [((1, 1), (1, 2))]
    (start, out), (back, end) = segments(11, 8, 4, beyond=0.6)
    assert (start, end) == ((3, 2), (0, 2))
    assert out[0] > 3.5
    assert back[0] < -0.5
    step = {"size": 4, "task": 1, "x": 3, "y": 2, "goal_x": 0, "goal_y": 2, "completed": 0}
    rows = [step | {"action": "right"}, step | {"x": 0, "action": "collect", "completed": 1}]
    assert isinstance(draw(Trajectory(), rows), Figure)


def test_the_paper_recipe_needs_a_run(evaluations):
    fast = replace(evaluations, runs=[run for run in evaluations.runs if run.config.recipe == "fast"])
    with pytest.raises(NotAvailable, match="recipe paper"):
        Recipes().table(fast)


def test_tables_leave_gaps_where_a_row_has_no_value():
    assert csv_text([{"a": 1, "b": 1 / 3}, {"a": 2, "c": "x"}]) == "a,b,c\n1,0.333333,\n2,,x\n"


def test_wrong_names_are_named(tmp_path, capsys):
    for arguments, said in (
        (("--only", "fig9"), "--only: unknown figure 'fig9'; known: training_curves"),
        (("--runs", str(tmp_path)), "is no run, and holds none"),
        (("--episodes", "0"), "--episodes is 0"),
    ):
        with pytest.raises(SystemExit) as exit_:
            main(["experiment", "memory-planning", "--out", str(tmp_path / "out"), *arguments])
        assert exit_.value.code == 2
        assert said in capsys.readouterr().err


FIGURE = StepsToGoal(references=("hand-coded", "oracle"))
SMALL_DEMO = replace(demo.DOMAINS[0], world=WORLD, references=("hand-coded",), figures=(FIGURE,))


def test_the_demo_is_a_page_with_a_table_and_an_episode(runs, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "agents"
    folder.mkdir()
    ship(Ship(runs / "epn-0", "epn-memory-planning", folder=folder, episodes=4))
    monkeypatch.setattr(demo, "DOMAINS", (SMALL_DEMO,))
    monkeypatch.setattr(cards, "FOLDER", folder)
    main(["demo", "--out", str(tmp_path / "out"), "--episodes", "4"])
    out = capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for text in (out, page):
        assert "EPN" in text
        assert "hand-coded" in text
    assert "http" not in page  # nothing to load from elsewhere
    assert 'src="memory-planning.html"' in page
    assert page.count("data:image/svg+xml;base64,") == 1
    first, second = page_data(tmp_path / "out" / "memory-planning.html")["runs"]
    assert first["name"] == "EPN"
    assert len(first["completed"]) == len(first["place"]) - 1 == WORLD.episode_steps
    assert second["name"] == "within-task"
    completed = play(WORLD.make(), make_policy("within-task", WORLD.make()), 4, seed=0).completed
    assert second["completed"] == completed[:, 0].astype(int).tolist()
