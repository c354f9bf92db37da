"""The scripts in examples/ do what they say, and the pages of the site are there."""

import importlib.util
import re
from pathlib import Path

import pytest

from rapidtask.errors import InputError

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gymnasium_loop_collects_goals():
    rewards = load("gymnasium_loop").main(episodes=2)
    assert len(rewards) == 2
    assert min(rewards) > 3


def test_own_world_tells_its_shape_and_keeps_maps_for_evaluation():
    world = load("own_world").Metro(num_maps=5)
    environment, held_out = world.make(), world.held_out().make()
    assert world.spec == environment.spec == held_out.spec
    assert (environment.pool.worlds.next_state != held_out.pool.worlds.next_state).any()
    assert len(set(environment.pool.worlds.num_states.tolist())) > 1


def test_pretrained_example_names_an_agent_that_is_not_there():
    with pytest.raises(InputError, match="no-such-agent"):
        load("evaluate_pretrained").main("no-such-agent")


def test_pages_show_the_examples_as_they_are():
    pages = "".join(page.read_text("utf-8") for page in ROOT.glob("docs/*.md"))
    for path in FOLDER.glob("*.py"):
        assert f"```python\n{path.read_text('utf-8')}```" in pages, path


def test_reference_lists_every_public_name_where_it_is():
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    listed = set()
    for path, members in re.findall(r"^::: (\S+)(?:\n    options: .*\[(.*)\])?", page, re.MULTILINE):
        module, _, name = (path, "", "") if members else path.rpartition(".")
        for member in members.split(", ") if members else [name]:
            assert hasattr(importlib.import_module(module), member), f"{path}: {member}"
            listed.add(member)
    packages = [p.parent.relative_to(ROOT / "src") for p in (ROOT / "src").rglob("__init__.py")]
    public = {n for p in packages for n in getattr(importlib.import_module(".".join(p.parts)), "__all__", ())}
    assert len(public) > 40
    assert public - listed == {"__version__"}


def test_every_page_of_the_site_exists():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    pages = re.findall(r"[\w-]+\.md", navigation)
    assert len(pages) > 9
    for page in pages:
        assert (ROOT / "docs" / page).exists(), page
