"""docs/quickstart.md, done as a new user would: its commands and code from top to bottom, in one folder.

What is added to a command so that it takes seconds stands in documented_commands.py.
"""

import re
import shlex

import pytest

from documented_commands import COLLECTED, EXAMPLES, EXCLUDED, ROOT, commands_of, small
from fake_runs import page_data
from rapidtask.cli import main

PAGE = (ROOT / "docs" / "quickstart.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
STEPS = [
    (kind, step)
    for kind, text in BLOCKS
    for step in ([text] if kind == "python" else commands_of(f"```\n{text}```") if kind == "" else [])
    if step not in EXCLUDED and step not in EXAMPLES
]


def is_quick(step: str) -> bool:
    """Whether it is about graphs of one's own, which no other page's test does, and waits for no training."""
    return "maps" in step and not any(word in step for word in (" train ", "--checkpoint"))


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_quickstart_works_from_top_to_bottom(whole, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    steps = [(kind, step) for kind, step in STEPS if whole or is_quick(step)]
    for kind, step in steps:
        if kind == "python":
            exec(compile(step, "docs/quickstart.md", "exec"), {})
            continue
        main(shlex.split(small(step))[1:])
        assert capsys.readouterr().out.strip(), step
    assert len(list((tmp_path / "maps").iterdir())) == 3
    # The last page is of a graph of theirs, with the names of its nodes.
    world = page_data(tmp_path / "episode.html")["world"]
    assert len(world["names"]) == len(world["next_state"])
    if whole:
        assert (tmp_path / "runs" / "maps" / "agent.safetensors").exists()


def test_the_quickstart_has_all_that_a_first_hour_needs():
    said = " ".join(step for _, step in STEPS)
    for words in ("evaluate --pretrained", "train ", "evaluate --checkpoint", "watch --checkpoint runs/maps"):
        assert words in said
    named = set(commands_of(PAGE))
    assert "make setup" in named
    assert named <= {*EXCLUDED, *COLLECTED, *(step for _, step in STEPS)}, (
        "a sentence has a command no test runs"
    )
