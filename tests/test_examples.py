"""The scripts in examples/, and the code and commands of the first pages, do what they say."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from rapidtask.cli import COMMANDS, main
from rapidtask.envs.registry import DOMAINS
from rapidtask.errors import InputError
from rapidtask.learning.run_config import RunConfig
from tiny_training import EPN, LEARNING

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples"
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text("utf-8")


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gymnasium_loop_collects_goals():
    rewards = load("gymnasium_loop").main(episodes=2)
    assert len(rewards) == 2
    assert min(rewards) > 3


@pytest.mark.slow  # compiles a whole training
def test_own_world_is_trained_and_evaluated(tmp_path, capsys, monkeypatch):
    example = load("own_world")
    monkeypatch.setattr(example, "epn_for", lambda recipe: EPN)
    monkeypatch.setattr(example, "RunConfig", lambda **options: RunConfig(**options, learning=LEARNING))
    monkeypatch.setitem(DOMAINS, "metro", example.Metro)
    example.main(tmp_path / "run", 2 * LEARNING.num_envs * 61)
    lines = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    goals = {name: float(text.split()[0]) for name, text in lines.items()}
    assert list(goals) == ["epn", "edges", "oracle"]
    assert goals["oracle"] > goals["edges"] > goals["epn"]
    saved = json.loads((tmp_path / "run" / "config.json").read_text("utf-8"))
    assert saved["world"]["name"] == "metro"


def test_pretrained_example_names_an_agent_that_is_not_there():
    with pytest.raises(InputError, match="no-such-agent"):
        load("evaluate_pretrained").main("no-such-agent")


def test_quickstart_s_code_runs(capsys):
    codes = re.findall(r"```python\n(.*?)```", QUICKSTART, re.DOTALL)
    code, *shown = codes
    exec(compile(code, "docs/quickstart.md", "exec"), {})
    assert capsys.readouterr().out
    for snippet in shown:
        (path,) = re.findall(r'--8<-- "(.*)"', snippet)
        assert (ROOT / path).exists()


def test_quickstart_s_commands_are_accepted(monkeypatch):
    """Up to what they would do: training takes minutes."""
    started = []
    monkeypatch.setattr("rapidtask.cli.world_of_agent", lambda arguments: None)
    for command in COMMANDS.values():
        monkeypatch.setattr(command, "run", lambda self: started.append(self), raising=False)
    commands = re.findall(r"^rapidtask (.*)$", QUICKSTART, re.MULTILINE)
    for command in commands:
        main(command.split())
    assert len(started) == len(commands) == 5


def test_every_page_of_the_site_exists():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    pages = re.findall(r"[\w-]+\.md", navigation)
    assert len(pages) > 9
    for page in pages:
        assert (ROOT / "docs" / page).exists(), page
