"""Every figure of the street experiment, drawn in small."""

import csv

import pytest

from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.experiments import (
    intermediate_nodes,
    larger_maps,
    longer_lives,
    more_intersections,
    more_iterations,
    oracle_share,
    other_cities,
    steps_to_goal,
    thinking_time,
    training_curves,
)
from rapidtask.experiments.material import gather
from rapidtask.experiments.results import read_index
from rapidtask.experiments.runs import read_runs
from rapidtask.experiments.streetlearn import FIGURES, run_figures
from street_material import WORLD, write_cities, write_street_runs

pytestmark = pytest.mark.slow  # Every figure compiles programs of its own: minutes.

SMALL = (
    (more_intersections, "INTERSECTIONS", (5, 7)),
    (more_intersections, "REFERENCES", ("oracle",)),
    (more_iterations, "INTERSECTIONS", (5,)),
    (more_iterations, "ITERATIONS", (1, 2)),
    (larger_maps, "INTERSECTIONS", (5, 12)),
    (larger_maps, "STEPS_PER_INTERSECTION", 4),
    (larger_maps, "REFERENCES", ("edges-inverse",)),
    (intermediate_nodes, "ITERATIONS", (1, 2)),
    (intermediate_nodes, "LENGTHS", (12,)),
    (intermediate_nodes, "REFERENCES", ("edges-inverse",)),
    (other_cities, "REFERENCES", ()),
    (longer_lives, "STREET_LENGTHS", (12, 24)),
    (longer_lives, "STREET_LENGTHS_ALL", (12,)),
    (longer_lives, "WINDOW", 12),
    (longer_lives, "EPISODES", 4),
    *(
        (module, "REFERENCES", ("hand-coded", "oracle"))
        for module in (oracle_share, steps_to_goal, training_curves, thinking_time)
    ),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CITIES_VARIABLE, str(write_cities(tmp_path_factory.mktemp("cities"))))
        for module, name, value in SMALL:
            patch.setattr(module, name, value)
        # Of the generated cities one will do.
        patch.setattr(other_cities, "list_cities", lambda directory: all_cities(directory)[-3:])
        runs = read_runs([write_street_runs(tmp_path_factory.mktemp("runs"))], "streetlearn")
        material = gather(runs, shipped=False, episodes=8, seed=3, world=WORLD)
        out = tmp_path_factory.mktemp("results")
        return out, {r.entry.name: r for r in run_figures(material, [], out, "rapidtask experiment")}


all_cities = other_cities.list_cities


def test_every_figure_is_written_with_its_table(results):
    out, made = results
    readme = (out / "README.md").read_text()
    assert list(made) == [figure.NAME for figure in FIGURES] == list(read_index(out))
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
    assert ("EPN, 8 iterations", 12, 48) in larger
    assert ("LSTM", 5, 12) in larger
    assert not any(line == "LSTM" and size == 12 for line, size, _ in larger)  # 120 symbols, 60 were learned
    cities = {row["city"]: row["trained_on"] for row in made["other_cities"].rows}
    assert cities == {"seinebank": 0, "paris_se": 0, "village": 1}
    nodes = {(row["intermediate_nodes"], row["iterations"]) for row in made["intermediate_nodes"].rows}
    assert nodes == {(kept, i) for kept in ("kept", "left out") for i in (1, 2, None)}
    lives = [row for row in made["longer_lives"].rows if row["kind"] == "life"]
    assert [(r["memory"], r["episode_steps"]) for r in lives] == [("unique", 12), ("unique", 24), ("all", 12)]
    shares = {row["agent"]: row for row in made["oracle_share"].rows}
    assert shares["oracle"]["oracle_share_last_third"] == 1.0
    assert "hand-coded" not in shares
