import csv
import shlex
from dataclasses import asdict, replace
from itertools import pairwise

import equinox as eqx
import pytest
from rich.console import Console

from fake_runs import write_run
from rapidtask.cli import main
from rapidtask.commands.experiment import train
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError
from rapidtask.experiments.figure import NotAvailable
from rapidtask.experiments.logged_runs import read_runs
from rapidtask.experiments.planner.ladder import (
    EXPERIMENT,
    GAP,
    LADDER,
    RUNGS,
    Ladder,
    LadderRuns,
    Rung,
    list_jobs,
)
from rapidtask.experiments.results import make_results
from rapidtask.learning.config import FAST, PAPER, epn_for
from rapidtask.runs.config import RunConfig
from tiny_training import EPN, LEARNING, WORLD

CHANGES = {
    "Muon in place of RMSprop": "optimiser learning_rate learning_rate_end gradient_clip",
    "residual block": "block",
    "fixed symbols": "symbols vision",
    "places compared in rows and readout": "comparisons",
    "and in attention": "comparisons num_heads",
    "newest transition before planning": "plan_with_newest goal_as_successor",
    "rows know the current state": "state_in_rows",
    "each iteration starts from the rows": "block",
    "a set of rows that see neighbours alone, no symbols, half the width": (
        "comparisons memory symbols width readout_width"
    ),
    "thoughts of different lengths": "iterations learned_iterations",
    "values, the state at the readout only: ours": (
        "value_channels state_in_rows iterations learned_iterations"
    ),
}
"""Options that each rung may change; "learning as in fast" may change any of learning, and none else."""
TINY = (
    Rung("first", EPN, LEARNING, "fast"),
    Rung("no planner", replace(EPN, iterations=0), LEARNING, "fast", beside=True),
)


def changed(before: Rung, after: Rung) -> set[str]:
    """Names of the options that differ."""
    pairs = ((before.agent, after.agent), (before.learning, after.learning))
    return {
        name for one, other in pairs for name, value in asdict(one).items() if asdict(other)[name] != value
    }


def tiny_runs(runs=(), **settings) -> LadderRuns:
    settings = {"rungs": TINY, "steps": 200, "seeds": (0, 1), "episodes": 8, "world": WORLD} | settings
    return LadderRuns(runs, **settings)


def test_the_ladder_leads_from_the_papers_recipe_to_ours():
    assert (LADDER[0].agent, LADDER[0].learning) == (epn_for("paper"), PAPER)
    assert (LADDER[-1].agent, LADDER[-1].learning) == (epn_for("fast"), FAST)


def test_every_rung_changes_what_it_names_and_nothing_else():
    steps = {after.name.removeprefix("… "): (before, after) for before, after in pairwise(LADDER)}
    learning = steps.pop("learning as in fast")
    assert learning[0].agent == learning[1].agent
    assert learning[1].learning == FAST
    assert {name: changed(*pair) for name, pair in steps.items()} == {
        name: set(options.split()) for name, options in CHANGES.items()
    }


def test_beside_the_ladder_one_thing_of_the_planner_without_values_is_changed():
    plain = LADDER[-2]
    beside = {rung.name: rung for rung in RUNGS if rung.beside}
    for name, rung in beside.items():
        if name.startswith("no values"):
            assert changed(plain, rung) in ({"block"}, {"iterations", "learned_iterations"})
    assert [rung.agent.iterations for rung in beside.values()][:4] == [0, 1, 2, 4]
    unlocated = beside["as 7, no planner, current state at the readout only"].agent
    assert (unlocated.iterations, unlocated.state_in_rows, unlocated.plan_with_newest) == (0, False, False)
    assert changed(LADDER[6], beside["as 7, no planner, current state at the readout only"]) == {"iterations"}
    assert len({(rung.agent, rung.learning) for rung in RUNGS}) == len(RUNGS)


def test_every_rung_can_be_built():
    for rung in RUNGS:
        agent = eqx.filter_eval_shape(rung.agent.make, MemoryPlanning().spec, 0)
        assert agent.config == rung.agent


def test_printed_commands_train_the_runs_of_the_ladder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["experiment", "ladder", "--print-commands", "--steps", "500", "--seeds"]
    main([*arguments, "0", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(RUNGS)
    assert all("--learning.cpu-devices 1 " in line for line in lines)
    trained: list[RunConfig] = []
    monkeypatch.setattr(
        "rapidtask.commands.train.run", lambda config, *_, **__: trained.append(config) or 1 / 0
    )
    some = (0, 1, 5, 8, 13)  # parsing takes half a second each
    for line in (lines[number] for number in some):
        with pytest.raises(ZeroDivisionError):
            main(shlex.split(line)[1:])
    wanted = LadderRuns(steps=500)
    assert trained == [wanted.config(RUNGS[number], 0) for number in some]
    # What is there is not trained again, wherever it is.
    write_run(tmp_path / "runs" / "ladder" / "anything", trained[3], steps=512)
    main([*arguments, "0"])
    assert capsys.readouterr().out.splitlines() == [*lines[:8], *lines[9 : len(RUNGS)]]


def test_runs_are_told_by_their_options(tmp_path):
    config = tiny_runs().config(TINY[1], seed=1)
    write_run(tmp_path / "other-devices", replace(config, learning=replace(config.learning, cpu_devices=2)))
    write_run(tmp_path / "other-steps", replace(config, seed=0, steps=201))
    write_run(tmp_path / "other-options", replace(config, agent=replace(EPN, width=8)))
    write_run(tmp_path / "stopped", replace(config, agent=EPN), steps=104)
    found = tiny_runs(read_runs([tmp_path], "memory-planning"))
    assert [run.folder.name for run in found.finished(TINY[1])] == ["other-devices"]
    assert found.finished(TINY[0]) == []
    jobs = list_jobs(found, tmp_path)
    assert [(job.folder.name, job.resume) for job in jobs] == [
        ("01-first-seed-0", False),
        ("02-no-planner-seed-0", False),
        ("stopped", True),
    ]
    assert jobs[-1].command.endswith(f"--seed 1 --out {tmp_path / 'stopped'} --resume")
    write_run(tmp_path / "01-first-seed-0", replace(config, steps=7))
    with pytest.raises(InputError, match="01-first-seed-0 holds a run with other options or steps"):
        list_jobs(found, tmp_path)


def test_a_missing_rung_is_named(tmp_path):
    with pytest.raises(NotAvailable, match="no finished runs of 200 steps"):
        list(Ladder().table(tiny_runs()))
    write_run(tmp_path / "x", tiny_runs().config(TINY[0], seed=1))
    found = tiny_runs(read_runs([tmp_path], "memory-planning"))
    assert found.how == '8 episodes per run; no finished runs of: "no planner"'
    (row,) = Ladder().table(found)
    assert (row["rung"], row["seeds"], row["beside"]) == ("first", "1", False)
    assert row["goals_per_episode_stderr"] > 0  # of one seed: over episodes


def test_what_is_missing_is_trained_and_two_rungs_are_scored_and_drawn(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / "runs" / f"first-{seed}", tiny_runs().config(TINY[0], seed=seed))
    there = read_runs([tmp_path / "runs"], "memory-planning")
    (job,) = list_jobs(tiny_runs(there, seeds=(0,)), tmp_path / "runs")
    train(job, Console(quiet=True))
    found = tiny_runs(read_runs([tmp_path / "runs"], "memory-planning"))
    assert [job.folder.name for job in list_jobs(found, tmp_path)] == ["02-no-planner-seed-1"]
    (result,) = make_results(EXPERIMENT, found, tmp_path / "out", "rapidtask")
    first, second = result.rows
    assert (first["seeds"], second["seeds"]) == ("0 1", "0")
    of_seeds = [float(word) for word in first["goals_per_episode_of_seeds"].split()]
    assert first["goals_per_episode"] == pytest.approx(sum(of_seeds) / 2, abs=1e-3)
    assert first["goals_per_episode_stderr"] == pytest.approx(abs(of_seeds[0] - of_seeds[1]) / 2, abs=1e-3)
    assert second["command"].startswith("rapidtask train --world memory-planning --agent epn --recipe fast")
    with (tmp_path / "out" / "ladder.csv").open(encoding="utf-8") as file:
        assert [row["rung"] for row in csv.DictReader(file)] == ["first", "no planner"]
    assert (tmp_path / "out" / "ladder.png").read_bytes().startswith(b"\x89PNG")
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "](ladder.png)" in readme
    assert "02-no-planner-seed-0" in readme
    assert result.drawing is not None
    labels = [label.get_text() for label in result.drawing.axes[0].get_yticklabels()]
    assert labels == ["1  first", "2  no planner"]
    upper, lower = result.drawing.axes[0].get_yticks()
    assert upper - lower == pytest.approx(1 + GAP)
