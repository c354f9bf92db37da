"""The suite: its worlds never change, and agents of any library meet the same ones as our own."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.cli import main
from rapidtask.errors import InputError
from rapidtask.evaluation.play import play
from rapidtask.policies import make_policy
from rapidtask.suite.entrants import PolicyEntrant, ProtocolEntrant
from rapidtask.suite.leaderboard import PAGE, leaderboard_page, read_entries
from rapidtask.suite.protocol import check_actions, find_maker, play_agent
from rapidtask.suite.scoring import score_suite
from rapidtask.suite.tasks import SEED, SUITES, find_tasks, worlds_checksum

BOARD = Path(__file__).parents[2] / "results" / "leaderboard"
SYMBOLS = [task for task in SUITES["v1"] if not task.pixels]
AGENT = """
import numpy as np
class Agent:
    def reset(self, num_episodes): self.num_episodes = num_episodes
    def act(self, observation): return {actions}
def make_agent(spec):
    return Agent() if spec.num_observations < 10 else None
"""


@pytest.mark.parametrize("task", SYMBOLS, ids=[task.name for task in SYMBOLS])
def test_worlds_are_those_of_the_suite_whatever_cities_there_are(task, monkeypatch):
    monkeypatch.setenv(CITIES_VARIABLE, "no-such-folder")
    assert worlds_checksum(task.make(), task.episodes) == task.checksum


@pytest.mark.slow
def test_pixel_worlds_are_those_of_the_suite():
    (task,) = find_tasks("v1", ("streets-5-pixels",))
    assert worlds_checksum(task.make(), task.episodes) == task.checksum
    assert task.make().spec.pixels


def test_checksum_sees_another_seed_of_episodes_and_another_table():
    (task,) = find_tasks("v1", ("game-3x3",))
    environment = task.make()
    assert worlds_checksum(environment, task.episodes - 1) != task.checksum
    respawn = replace(task.options, respawn=True).make()
    assert worlds_checksum(respawn, task.episodes) != task.checksum


class Scripted:
    """Takes fixed actions."""

    def __init__(self, actions):
        self.actions = iter(actions)

    def reset(self, num_episodes):
        assert num_episodes == self.num_episodes

    def act(self, observation):
        return next(self.actions)


@pytest.mark.parametrize("name", ["game-3x3", "streets-5"])
def test_the_same_actions_collect_the_same_goals_by_the_protocol_and_compiled(name):
    (task,) = find_tasks("v1", (name,))
    environment = task.make()
    episodes = play(environment, make_policy("oracle", environment), task.episodes, SEED)
    agent = Scripted(np.asarray(episodes.action))
    agent.num_episodes = task.episodes
    completed, _ = play_agent(environment, agent, task.episodes, SEED)
    np.testing.assert_array_equal(completed, episodes.completed)
    assert completed.sum(axis=0).min() > 5


def test_result_says_what_was_scored_and_what_was_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("still.py").write_text(AGENT.format(actions="np.zeros(self.num_episodes, int)"), "utf-8")
    main(["score", "still.py:make_agent", "--tasks", "game-3x3", "game-4x4", "--out", "still.json"])
    result = json.loads(Path("still.json").read_text("utf-8"))
    assert (result["suite"], result["agent"]) == ("v1", "still.py:make_agent")
    assert result["tasks"]["game-4x4"] == {"skipped": "make_agent returned None"}
    scores = result["tasks"]["game-3x3"]
    assert scores["oracle_share_last_third"] == scores["goals_per_episode"] == 0
    assert (scores["episodes"], scores["worlds"]) == (100, find_tasks("v1", ("game-3x3",))[0].checksum)
    assert len(result["not_asked_for"]) == len(SUITES["v1"]) - 2
    assert {"rapidtask", "jax", "numpy", "python"} <= result["versions"].keys()
    with pytest.raises(InputError, match="selection"):
        read_entries(tmp_path)


def test_oracle_is_all_of_the_oracle():
    result = score_suite("oracle", PolicyEntrant("oracle"), "v1", find_tasks("v1", ("game-3x3",)))
    assert result["tasks"]["game-3x3"]["oracle_share_last_third"] == 1


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (np.zeros(3, int), r"act returned int64 of shape \(3,\), expected 2 whole numbers in 0..4"),
        (np.zeros(2), "float64"),
        (np.array([0, 5]), "the action 5, expected 2"),
        (np.array([-1, 0]), "the action -1"),
        (None, "object"),
        ([[0], [0, 1]], "a list"),
    ],
)
def test_wrong_actions_are_named(actions, told):
    with pytest.raises(InputError, match=told):
        check_actions(actions, 2, 5)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no_such_module:make_agent"], "No module named 'no_such_module'"),
        (["nothing.py:make_agent"], "nothing.py: no such file"),
        (["json:nothing"], "nothing"),
        (["json:__name__"], "a str, expected a function"),
        (["no-such-agent"], "unknown pretrained agent 'no-such-agent'"),
        (["policy:best"], "unknown policy 'best'"),
        (["policy:random", "--tasks", "chess"], "v1 has no task 'chess'"),
        (["policy:random", "--suite", "v0"], "unknown suite 'v0'"),
        (["policy:random", "--out", "there.json"], "there.json is there already"),
        (["policy:random", "--out", "there.json/x.json"], "there.json: cannot be made"),
        ([], "which agent"),
        (["--leaderboard", "nowhere"], "no such folder"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_played(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rapidtask.commands.score.score_suite", lambda *_, **__: pytest.fail("played"))
    Path("there.json").touch()
    with pytest.raises(SystemExit) as end:
        main(["score", *words])
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert told in error
    assert error.count("\n") == 1


def test_an_agent_that_plays_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("never.py").write_text("def make_agent(spec): raise ValueError('not for me')", "utf-8")
    tasks = find_tasks("v1", ("game-3x3",))
    with pytest.raises(InputError, match=r"plays none of the tasks.*ValueError: not for me"):
        score_suite("never", ProtocolEntrant(find_maker("never.py:make_agent")), "v1", tasks)


def test_page_of_the_leaderboard_is_what_its_files_give():
    entries = read_entries(BOARD)
    assert (BOARD / PAGE).read_text("utf-8") == leaderboard_page(entries)


def test_results_of_other_worlds_are_refused(tmp_path):
    entry = json.loads((BOARD / "oracle.json").read_text("utf-8"))
    entry["tasks"]["game-4x4"]["worlds"] = "0" * 16
    (tmp_path / "x.json").write_text(json.dumps(entry), "utf-8")
    with pytest.raises(InputError, match=r"x\.json: game-4x4 was played in other worlds"):
        read_entries(tmp_path)
