import csv

import numpy as np
import pytest

from grid_runs import gather_grid_runs, write_grid_runs
from rapidtask.experiments import grid
from rapidtask.experiments.comparison import OracleShare, StepsToGoal
from rapidtask.experiments.costs import LongerLives, Scalability
from rapidtask.experiments.curves import Recipes, TrainingCurves
from rapidtask.experiments.figure import Experiment
from rapidtask.experiments.grid import Exploration, LargerGrids, Trajectory
from rapidtask.experiments.results import make_results, read_index

pytestmark = pytest.mark.slow  # Every figure compiles programs of its own: minutes.

FEW = ("hand-coded", "oracle")
"""Few compiled programs: each takes a second."""
SMALL = Experiment(
    "Results",
    (
        TrainingCurves(references=FEW),
        OracleShare(references=FEW),
        Trajectory(),
        StepsToGoal(references=FEW),
        Scalability(),
        Recipes(references=FEW),
        LongerLives(lengths=(12, 24), lengths_all=(12,), window=12, episodes=4),
        LargerGrids(sizes=(3, 5), references=FEW),
        Exploration(references=("hand-coded",)),
    ),
    gather_grid_runs,
)


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory):
    return gather_grid_runs(write_grid_runs(tmp_path_factory.mktemp("runs")))


@pytest.fixture(scope="module")
def results(evaluations, tmp_path_factory):
    """All figures, in small."""
    out = tmp_path_factory.mktemp("results")
    made = {r.entry.name: r for r in make_results(SMALL, evaluations, out, "rapidtask experiment")}
    return out, made


def test_every_figure_is_written_with_its_table_or_says_what_is_missing(results):
    out, made = results
    readme = (out / "README.md").read_text()
    assert list(made) == [figure.name for figure in grid.EXPERIMENT.figures] == list(read_index(out))
    drawn = [name for name, result in made.items() if not result.entry.missing]
    assert set(made) - set(drawn) <= {"trajectory"}  # who learned nothing may complete no three tasks
    for name in drawn:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / f"{name}.svg").read_bytes()
        with (out / f"{name}.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(made[name].rows)
        assert f"]({name}.png)" in readme
    with (out / "runs.csv").open(encoding="utf-8") as file:
        listed = {row["run"]: row for row in csv.DictReader(file)}
    assert set(listed) == {"epn-0", "epn-1", "lstm", "nxk", "paper"}
    assert listed["epn-1"]["command"].endswith("--seed 1")
    assert "| EPN | run epn-1 |" in readme


def test_tables_hold_what_was_measured(results, evaluations):
    _, made = results
    planners = {row["planner"]: row for row in made["scalability"].rows}
    assert list(planners) == ["all-to-all", "unique", "N×k (k=4)", "N×k (k=4) of steps"]
    assert planners["unique"]["goals_per_episode"] == planners["all-to-all"]["goals_per_episode"]
    assert planners["unique"]["processor_ms_per_step"] > 0
    scores = {(row["agent"], row["actions"]): row for row in made["oracle_share"].rows}
    assert scores["oracle", "reference"]["oracle_share_last_third"] == 1.0
    goals = evaluations.completed("EPN").sum(axis=0).mean()
    assert scores["EPN", "sampled"]["goals_per_episode"] == pytest.approx(goals)
    assert ("LSTM", "greedy") in scores
    sizes = {(row["agent"], row["size"]) for row in made["larger_grids"].rows}
    # Symbols beyond the 16 vectors share them; comparisons by id tell them apart, so any size will do.
    assert {size for agent, size in sizes if agent == "EPN"} == {3, 5}
    assert ("hand-coded", 5) in sizes
    lives = [r for r in made["longer_lives"].rows if r["kind"] == "life"]
    assert [(r["memory"], r["episode_steps"]) for r in lives] == [("unique", 12), ("unique", 24), ("all", 12)]
    assert lives[0]["goals_per_100_steps"] == lives[2]["goals_per_100_steps"]
    windows = [r for r in made["longer_lives"].rows if r["kind"] == "window"]
    assert np.mean([r["goals_per_100_steps"] for r in windows]) == pytest.approx(
        lives[1]["goals_per_100_steps"]
    )


def test_no_one_explores_faster_than_one_cell_a_step(results):
    for row in results[1]["exploration"].rows:
        assert 1 <= row["cells_seen"] <= row["step"] + 1
