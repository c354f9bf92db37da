import json
import subprocess
import sys

import pytest

from rapidtask.agents import AGENTS
from rapidtask.cli import COMMANDS, DESCRIPTION, main
from rapidtask.commands.parsing import parse
from rapidtask.envs.registry import DOMAINS


def fail(capsys, *arguments: str) -> str:
    """Run a command that must be refused with code 2; its message, unwrapped."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    return " ".join(output.err.replace("│", " ").split())


def test_json_is_exactly_one_object_with_every_score(capsys):
    arguments = "--world memory-planning --policy hand-coded --episodes 40 --seed 1 --json"
    main(["evaluate", *arguments.split()])
    result = json.loads(capsys.readouterr().out)
    assert result["episodes"] == 40
    assert result["seed"] == 1
    for name in ("goals_per_episode", "goals_last_third", "oracle_share_last_third", "steps_to_nth_goal"):
        assert name in result
        assert f"{name}_stderr" in result
    assert 25 < result["goals_per_episode"] < 31
    assert len(result["steps_to_nth_goal"]) == len(result["steps_to_nth_goal_stderr"]) > 20
    assert result["world"]["size"] == 4


def test_world_options_reach_the_world(capsys):
    arguments = "--policy oracle --episodes 8 --json --world.size 5 --world.respawn"
    main(["evaluate", *arguments.split()])
    world = json.loads(capsys.readouterr().out)["world"]
    assert (world["name"], world["size"], world["respawn"]) == ("memory-planning", 5, True)


def test_table_and_plot_of_all_policies(capsys, tmp_path):
    plot = tmp_path / "plots" / "steps.png"
    main(["evaluate", "--policy", "all", "--episodes", "8", "--plot", str(plot)])
    table = capsys.readouterr().out
    for name in ("random-walk", "edges-inverse", "hand-coded", "oracle", "100.0%"):
        assert name in table
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("evaluate --polcy random", "--polcy"),
        ("evaluate --policy fastest", "'fastest'"),
        ("evaluate --episodes many", "--episodes"),
        ("evaluate --episodes 0", "episodes is 0"),
        ("evaluate --world chess", "unknown world 'chess', expected one of: memory-planning"),
        ("evaluate --world", "--world needs a name"),
        ("evaluate --world.size 1", "size is 1"),
        ("evaluate --world.size 500", "world: size is 500, expected 2 to 64"),
        ("evaluate --world.per-step-reward nan", "world: per_step_reward is nan, expected a finite number"),
        ("evaluate --world.episode-steps 0", "episode_steps is 0"),
        ("evaluate --world streetlearn --world.num-intersections 0", "num_intersections is 0"),
        ("evaluate --world streetlearn --world.pool-size 0", "pool_size is 0"),
        ("fly", "fly is no command; first comes one of: demo, train, evaluate,"),
        ("--world memory-planning evaluate", "--world is no command; first comes one of: demo"),
        ("", "no command given; first comes one of: demo"),
    ],
)
def test_wrong_flags_and_values_name_themselves(capsys, command, named):
    assert named in fail(capsys, *command.split())


def test_help_lists_every_command(capsys):
    main(["--help"])
    text = capsys.readouterr().out
    for name in COMMANDS:
        assert f" {name} " in text


def test_help_names_every_choice_and_waits_for_no_library():
    for name in (*DOMAINS, *AGENTS):
        assert name in DESCRIPTION
    code = (
        "import sys; from rapidtask.cli import main; main(['--help'])\n"
        "assert not {'jax', 'matplotlib', 'optuna', 'scipy', 'tyro'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_installed_command_runs_and_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m rapidtask evaluate --policy random --episodes 4 --json"
    pipe = ["bash", "-c", f"set -o pipefail; {command} | true"]
    done = subprocess.run(pipe, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_names_the_flags_that_decide_on_others_and_hides_those(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    short = capsys.readouterr().out
    for flag in ("--world {memory-planning,streetlearn}", "--agent {epn,", "--recipe {fast,", "--out"):
        assert flag in short
    assert "--learning." not in short
    with pytest.raises(SystemExit):
        main(["train", "--agent", "lstm", "--help-all"])
    whole = capsys.readouterr().out
    assert "--learning.discount" in whole
    assert "--agent.torso-width" in whole


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("evaluate --plot x.xyz", "--plot x.xyz: expected a name that ends in .png"),
        ("evaluate --plot file/x.png", "file: File exists"),
        (f"evaluate --seed {2**64}", "seed is"),
        ("evaluate --new-symbols", "--new-symbols is about a trained agent"),
        ("demo --seed -1", "--seed is -1, expected 0 to"),
        ("experiment memory-planning --seed -1", "--seed is -1, expected 0 to"),
    ],
)
def test_what_cannot_be_drawn_or_counted_is_refused_before_anything_is_computed(
    capsys, tmp_path, monkeypatch, command, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setattr("rapidtask.evaluation.scores.play", None)  # nothing is played
    monkeypatch.setattr("rapidtask.experiments.evaluations.play", None)
    assert said in fail(capsys, *command.split())


def test_all_pretrained_agents_of_a_world_are_evaluated():
    command = parse(["evaluate", "--pretrained", "all", "--world", "memory-planning"])
    names = list(command.policies(command.world.make()))
    assert "epn-memory-planning" in names
    assert "lstm-memory-planning" in names
    assert not any("streetlearn" in name for name in names)
