"""The command line over streets and cities."""

import gzip
import json

import pytest
from test_cli import fail

from city_samples import gexf_text
from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.cities.generated import generated_city
from rapidtask.cities.gexf import save_city
from rapidtask.cli import COMMANDS, main
from rapidtask.commands.parsing import command_class, specialise
from rapidtask.envs.street_options import StreetLearn


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Neither the variable nor a directory `cities` names city files."""
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


def evaluate(capsys, *arguments):
    main(["evaluate", "--world", "streetlearn", "--json", "--episodes", "40", *arguments])
    return json.loads(capsys.readouterr().out)


def test_policies_on_the_held_out_city_are_in_order(capsys):
    results = evaluate(capsys, "--policy", "all", "--world.pool-size", "64")["policies"]
    assert {result["world"]["city"] for result in results} == {"held-out"}
    goals = {result["policy"]: result["goals_per_episode"] for result in results}
    order = ("random", "within-task", "edges", "edges-inverse", "oracle")
    assert sorted(order, key=goals.__getitem__) == list(order)
    assert goals["hand-coded"] == goals["edges-inverse"]
    assert goals["oracle"] > 1.2 * goals["edges-inverse"]


def test_only_learning_defaults_to_training_cities():
    chosen = {"recipe": "fast", "agent": "epn"}
    cities = {
        name: specialise(command, chosen, StreetLearn()).__dataclass_fields__["world"].default.city
        for name, command in {name: command_class(name) for name in COMMANDS}.items()
        if "world" in command.__dataclass_fields__
    }
    assert (cities["train"], cities["evaluate"], cities["watch"]) == ("train", "held-out", "held-out")


def test_a_city_by_file(capsys, tmp_path):
    save_city(generated_city("starcross"), tmp_path / "town.gexf.gz")
    by_file = evaluate(
        capsys, "--policy", "oracle", "--world.city", "town.gexf.gz", "--world.pool-size", "64"
    )
    by_name = evaluate(capsys, "--policy", "oracle", "--world.city", "starcross", "--world.pool-size", "64")
    assert by_file["world"]["city"] == "town.gexf.gz"
    (named,), (generated,) = by_file["sources"].items(), by_name["sources"].items()
    assert (named[0], generated[0]) == ("town", "starcross")
    assert len(named[1]) == len(generated[1]) == 16
    assert by_file["goals_per_episode"] == by_name["goals_per_episode"] > 20


def test_what_was_evaluated_in_other_streets_can_be_told_apart(capsys, tmp_path):
    def table(city):
        save_city(generated_city(city), tmp_path / "cities" / "paris_se.gexf.gz")
        arguments = "--world streetlearn --policy oracle --episodes 40 --world.pool-size 64"
        main(["evaluate", *arguments.split()])
        return [
            line for line in capsys.readouterr().out.splitlines() if line.startswith("worlds of paris_se")
        ]

    (tmp_path / "cities").mkdir()
    (one,), (other,) = table("starcross"), table("ringwall")
    assert one != other


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate --world streetlearn --world.city atlantis", "atlantis: no such city or file; there are"),
        ("evaluate --world streetlearn --world.city=", "'': no such city or file; there are"),
        ("evaluate --world streetlearn --world.city a/b.gexf", "a/b.gexf: no such file"),
        ("evaluate --world streetlearn --world.city bad.gexf.gz", "bad.gexf.gz: the gzip file is truncated"),
        ("evaluate --world streetlearn --world.cities none", "none: no such directory of cities"),
        ("evaluate --world streetlearn --world.city small.gexf", "small: 1 intersections, but"),
        ("train --world streetlearn --world.city seinebank --out run", "seinebank: held out for evaluation"),
        (
            "evaluate --pretrained epn-streetlearn-pixels --world.pool-size 2",
            "frames/seinebank: no such frame store; `rapidtask cities render seinebank --out frames`",
        ),
        ("cities show atlantis", "atlantis: no such city or file"),
        ("cities show train", "train: stands for 12 cities; name one"),
        ("cities list --cities none", "none: no such directory of cities"),
        ("cities import a/b.osm.pbf", "a/b.osm.pbf: no such file"),
        ("cities import bad.gexf.gz", "bad.gexf.gz: the gzip file is truncated"),
        ("cities import small.gexf --out bad.gexf.gz", "--out: bad.gexf.gz: cannot be written"),
    ],
)
def test_errors_are_one_line(capsys, tmp_path, command, message):
    (tmp_path / "bad.gexf.gz").write_bytes(gzip.compress(b"<gexf></gexf>" * 9)[:-9])
    (tmp_path / "small.gexf").write_bytes(
        gexf_text([(0, 0), (0, 0.001), (0.001, 0), (0, -0.001)], [(0, 1), (0, 2), (0, 3)])
    )
    files = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as exit_:
        main(command.split())
    assert exit_.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"rapidtask: error: {message}")
    assert output.err.count("\n") == 1
    # Nothing half-written.
    assert sorted(tmp_path.rglob("*")) == files


@pytest.mark.parametrize("command", ["cities", "cities fly", "cities import", "cities show"])
def test_incomplete_commands_are_refused(capsys, command):
    assert "rapidtask" in fail(capsys, *command.split())


def test_import_then_list_then_show(capsys, tmp_path):
    save_city(generated_city("starcross"), tmp_path / "paris_se_full_graph.gexf.gz")
    main(["cities", "import", "paris_se_full_graph.gexf.gz", "--out", "cities/"])
    assert capsys.readouterr().out.startswith("cities/paris_se.gexf.gz: 6200 nodes, 1020 intersections")
    main(["cities", "list"])
    row = next(line for line in capsys.readouterr().out.splitlines() if "paris_se" in line)
    assert "held-out" in row
    assert "paris_se.gexf.gz" in row
    main(["cities", "show", "paris_se", "--num-intersections", "7", "--rules", "release"])
    assert "map: paris_se.png" in capsys.readouterr().out
    assert (tmp_path / "paris_se.png").read_bytes().startswith(b"\x89PNG")
    # The imported file is the held-out region now, in place of its generated stand-in.
    result = evaluate(capsys, "--policy", "oracle", "--world.pool-size", "8", "--episodes", "4")
    assert result["world"]["city"] == "held-out"
    assert StreetLearn(pool_size=8).held_out().sample().places.cities[0].name == "paris_se"


def test_help_of_the_group_lists_its_commands(capsys):
    for command in ("cities", "cities import", "cities list", "cities show"):
        with pytest.raises(SystemExit) as exit_:
            main([*command.split(), "--help"])
        assert exit_.value.code == 0
        text = capsys.readouterr().out
        assert f"usage: rapidtask {command}" in text
        assert "command." not in text
        if command == "cities":
            assert all(f"• {name}" in text for name in ("import", "list", "show"))
