"""Every figure of the street experiment, drawn in small."""

import csv
from itertools import product

import pytest

from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.experiments import streets
from rapidtask.experiments.comparison import OracleShare, StepsToGoal
from rapidtask.experiments.costs import LongerLives
from rapidtask.experiments.curves import ThinkingTime, TrainingCurves
from rapidtask.experiments.evaluations import gather
from rapidtask.experiments.figure import Experiment
from rapidtask.experiments.logged_runs import read_runs
from rapidtask.experiments.plan_costs import NEIGHBOURS, PAIRS, RECENT, PlanCosts
from rapidtask.experiments.results import make_results, read_index
from rapidtask.experiments.streets.cities import Neighbourhoods, OtherCities
from rapidtask.experiments.streets.generalisation import (
    ANEW,
    GOING_ON,
    IntermediateNodes,
    LargerMaps,
    MoreIntersections,
    MoreIterations,
)
from street_runs import WORLD, write_cities, write_street_runs

pytestmark = pytest.mark.slow  # Every figure compiles programs of its own: minutes.

FEW = ("edges-inverse", "oracle")
SMALL = Experiment(
    "Results",
    (
        Neighbourhoods(),
        TrainingCurves(references=FEW, variants=False),
        OracleShare(references=FEW, variants=False),
        StepsToGoal(references=FEW),
        ThinkingTime(references=FEW),
        MoreIntersections(intersections=(5, 7), references=("oracle",)),
        MoreIterations(intersections=(5,), iterations=(1, 2), steps_per_intersection=3, episodes=40),
        LargerMaps(
            intersections=(5, 12), references=("edges-inverse",), steps_per_intersection=4, episodes=40
        ),
        IntermediateNodes(sweeps=(1, 2), episode_steps=12, references=FEW),
        OtherCities(references=("oracle",), cities=("seinebank", "paris_se", "village")),
        LongerLives(lengths=(12, 24), lengths_all=(12,), window=12, episodes=4),
        PlanCosts(rows=(30, 300), repeats=1),
    ),
    gather,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CITIES_VARIABLE, str(write_cities(tmp_path_factory.mktemp("cities"))))
        runs = read_runs([write_street_runs(tmp_path_factory.mktemp("runs"))], "streetlearn")
        evaluations = gather(runs, shipped=False, episodes=8, seed=3, world=WORLD)
        out = tmp_path_factory.mktemp("results")
        return out, {r.entry.name: r for r in make_results(SMALL, evaluations, out, "rapidtask experiment")}


def test_every_figure_is_written_with_its_table(results):
    out, made = results
    readme = (out / "README.md").read_text()
    (city, checksum) = read_index(out)["oracle_share"]["sources"].popitem()
    assert f"worlds of seed 3, {city} ({checksum}), " in readme
    assert list(made) == [figure.name for figure in streets.EXPERIMENT.figures] == list(read_index(out))
    assert {name: result.entry.missing for name, result in made.items() if result.entry.missing} == {}
    for name, result in made.items():
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / f"{name}.svg").read_bytes()
        with (out / f"{name}.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(result.rows)
        assert f"]({name}.png)" in readme
    assert "| EPN | run four-1 |" in readme


def test_tables_hold_what_was_measured(results):
    _, made = results
    larger = {(row["line"], row["intersections"], row["episode_steps"]) for row in made["larger_maps"].rows}
    assert ("EPN", 12, 48) in larger
    assert ("LSTM", 5, 20) in larger
    assert not any(line == "LSTM" and size == 12 for line, size, _ in larger)  # 120 symbols, 60 were learned
    cities = {row["city"]: row["trained_on"] for row in made["other_cities"].rows}
    assert cities == {"seinebank": 0, "paris_se": 0, "village": 1}
    nodes = {(row["line"], row["sweeps"]) for row in made["intermediate_nodes"].rows}
    assert nodes == {*product((ANEW, GOING_ON), (1, 2)), *((name, None) for name in FEW)}
    lives = [row for row in made["longer_lives"].rows if row["kind"] == "life"]
    assert [(r["memory"], r["episode_steps"]) for r in lives] == [("unique", 12), ("unique", 24)]
    plans = [(row["plan"], row["rows"]) for row in made["plan_costs"].rows]
    assert plans == [
        *product((NEIGHBOURS, PAIRS, RECENT), (30,)),
        *product((NEIGHBOURS, PAIRS, RECENT), (300,)),
    ]
    shares = {row["agent"]: row for row in made["oracle_share"].rows}
    assert shares["oracle"]["oracle_share_last_third"] == 1.0
    assert "hand-coded" not in shares
