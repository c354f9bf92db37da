import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

import rapidtask
from rapidtask.agents.epn import EPNConfig
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError
from rapidtask.learning.config import LearningConfig
from rapidtask.runs import checkpoint as module
from rapidtask.runs.agent_files import load_agent, save_agent
from rapidtask.runs.checkpoint import (
    CheckpointError,
    checkpoint_path,
    keep_latest,
    list_checkpoints,
    named_arrays,
    read_checkpoint,
    read_latest,
    restore,
    save_checkpoint,
)
from rapidtask.runs.config import run_config_from_json
from tiny_training import LSTM, tiny_run

CONFIG = {"seed": 3, "world": {"size": 2}}


class Tree(eqx.Module):
    weight: jax.Array
    count: jax.Array
    key: jax.Array
    name: str = eqx.field(static=True, default="tree")


def make_tree(seed: int = 0) -> Tree:
    key = jax.random.key(seed)
    return Tree(jax.random.normal(key, (3, 4)), jnp.asarray(7, jnp.int32), jax.random.split(key, 2))


@pytest.fixture
def path(tmp_path) -> Path:
    path = checkpoint_path(tmp_path, 5)
    save_checkpoint(path, make_tree(), CONFIG)
    return path


def refused(path: Path) -> str:
    """The message that a file is refused with; it begins with the file's name."""
    with pytest.raises(CheckpointError) as error:
        restore(make_tree(), read_checkpoint(path)[0], path)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value)


def rewrite(path: Path, tensors: dict, *, config: dict = CONFIG, **metadata: str) -> None:
    """A file with a right checksum, whatever it holds."""
    text = json.dumps(config, sort_keys=True)
    sha256 = module.checksum(tensors.items(), text)
    path.write_bytes(save(tensors, {"format": module.FORMAT, "config": text, "sha256": sha256} | metadata))


def test_round_trip(path):
    tensors, config = read_checkpoint(path)
    assert config == CONFIG
    restored, tree = restore(make_tree(1), tensors, path), make_tree()
    np.testing.assert_array_equal(restored.weight, tree.weight)
    np.testing.assert_array_equal(restored.count, tree.count)
    np.testing.assert_array_equal(jax.random.key_data(restored.key), jax.random.key_data(tree.key))
    assert restored.key.dtype == tree.key.dtype
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_same_content_gives_the_same_bytes(path):
    before = path.read_bytes()
    save_checkpoint(path, make_tree(), dict(reversed(CONFIG.items())))
    assert path.read_bytes() == before


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert "not a whole checkpoint" in refused(path)


def test_a_flipped_bit_anywhere_is_refused(path):
    data = path.read_bytes()
    for position in range(0, len(data), 7):
        flipped = bytearray(data)
        flipped[position] ^= 4
        path.write_bytes(flipped)
        refused(path)


def test_an_edited_configuration_is_refused(path):
    data = path.read_bytes()
    edited = data.replace(b'\\"seed\\": 3', b'\\"seed\\": 4')
    assert edited != data
    path.write_bytes(edited)
    assert "does not match its checksum" in refused(path)


def test_a_missing_tensor_is_named(path):
    tensors, _ = read_checkpoint(path)
    del tensors["weight"]
    rewrite(path, tensors)
    assert "holds no tensor 'weight'" in refused(path)


@pytest.mark.parametrize(
    ("name", "tensor", "said"),
    [
        ("weight", np.zeros((4, 3), np.float32), "tensor 'weight' is float32(4, 3), expected float32(3, 4)"),
        ("weight", np.zeros((3, 4), np.int32), "tensor 'weight' is int32(3, 4), expected float32(3, 4)"),
        ("key", np.zeros((3, 2), np.uint32), "tensor 'key' is uint32(3, 2), expected uint32(2, 2)"),
        ("key", np.zeros((2, 2), np.float32), "tensor 'key' is float32(2, 2), expected uint32(2, 2)"),
    ],
)
def test_a_tensor_of_another_shape_or_type_is_named(path, name, tensor, said):
    rewrite(path, read_checkpoint(path)[0] | {name: tensor})
    assert said in refused(path)


def test_other_files_are_refused(path):
    assert "no such checkpoint" in refused(path.with_name("nothing.safetensors"))
    assert "damaged" in refused(path.parent)
    path.write_text("not a checkpoint at all, but long enough to have a header of eight bytes")
    assert "not a whole checkpoint" in refused(path)
    path.write_bytes(save({"weight": np.zeros(3)}, {"made": "elsewhere"}))
    assert "not a checkpoint of rapidtask" in refused(path)
    rewrite(path, {}, format="rapidtask-checkpoint-99")
    assert "'rapidtask-checkpoint-99'" in refused(path)


def test_the_newest_whole_checkpoint_is_read_and_damaged_ones_are_named(path, capsys):
    newer = checkpoint_path(path.parent, 6)
    newer.write_bytes(path.read_bytes()[:-1])
    found = read_latest(path.parent)
    assert found is not None
    assert found[-1] == path
    assert f"passing over {newer}" in capsys.readouterr().err
    path.unlink()
    assert read_latest(path.parent) is None


def test_a_damaged_newer_file_does_not_displace_whole_ones(path):
    """After a run went on from before a damaged checkpoint, what it writes is older by name."""
    damaged = checkpoint_path(path.parent, 20)
    damaged.write_bytes(b"damaged")
    for iteration in (10, 11, 12):
        newest = checkpoint_path(path.parent, iteration)
        save_checkpoint(newest, make_tree(), CONFIG)
        keep_latest(newest, 2)
    left = [path.name for path in list_checkpoints(path.parent)]
    assert left == [checkpoint_path(path.parent, n).name for n in (20, 12, 11)]
    newest = checkpoint_path(path.parent, 21)
    save_checkpoint(newest, make_tree(), CONFIG)
    keep_latest(newest, 1)
    assert list_checkpoints(path.parent) == [newest]


@pytest.mark.parametrize("dies_in", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_content(path, monkeypatch, dies_in):
    before, newer = path.read_bytes(), checkpoint_path(path.parent, 6)

    def crash(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, dies_in, crash)
    for target in (path, newer):
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint(target, make_tree(1), CONFIG)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list_checkpoints(path.parent) == [path]
    # What the crash left behind is in nobody's way.
    save_checkpoint(newer, make_tree(1), CONFIG)
    assert sorted(file.name for file in path.parent.iterdir() if file != path) == [
        f".{path.name}.{os.getpid()}.partial",
        newer.name,
    ]


def test_an_agent_file_brings_its_agent_back(tmp_path):
    config = tiny_run(agent=LSTM)
    agent = eqx.filter_jit(replace(config, seed=8).make_agent)()  # weights of no run with this configuration
    file = tmp_path / "agent.safetensors"
    save_agent(file, agent, config)
    loaded, loaded_config = rapidtask.load_agent(file)
    assert loaded_config == config
    assert eqx.tree_equal(loaded, agent)
    assert load_agent is rapidtask.load_agent
    with pytest.raises(AttributeError, match="no_such_thing"):
        rapidtask.no_such_thing  # noqa: B018
    with safe_open(file, "numpy") as opened:
        assert set(json.loads(opened.metadata()["config"])) > {"world", "agent", "learning", "seed"}


def test_importing_rapidtask_is_quick():
    code = "import rapidtask, sys; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_no_pickle_anywhere():
    """Loading a stranger's file must not run code: nothing imports what could."""
    banned = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
    sources = list(Path(rapidtask.__file__).parent.rglob("*.py"))
    assert len(sources) > 50
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Call):
                assert all(keyword.arg != "allow_pickle" for keyword in node.keywords), source
                assert not (isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")), source
            assert not banned.intersection(name.split(".")[0] for name in names), source


def test_options_of_earlier_versions_are_dropped_and_unknown_ones_refused():
    config = tiny_run()
    data = config.to_json()
    data["learning"] |= {"value_map_weight": 1.0, "geometry": True, "ways": False, "advice": 0.5}
    assert run_config_from_json(data) == config
    data["learning"]["colour"] = 1
    with pytest.raises(InputError, match="learning has no option 'colour'"):
        run_config_from_json(data)
    data = config.to_json()
    data["agent"]["advice"] = 0.5  # was an option of learning, never of an agent
    with pytest.raises(InputError, match="agent has no option 'advice'"):
        run_config_from_json(data)


def test_an_agent_file_of_an_earlier_version_loads_under_todays_names():
    """Written by version 0.1.0 at commit b753d40."""
    path = Path(__file__).parent / "epn-of-0.1.0.safetensors"
    agent, config = load_agent(path)
    assert config.agent == EPNConfig(
        width=4,
        num_heads=2,
        iterations=1,
        recent_rows=5,
        comparisons="attention",
        state_in_rows=True,
        goal_as_successor=True,
        plan_with_newest=True,
    )
    sizes = {"num_envs": 64, "minibatch_size": 256}  # defaults of that version
    assert config.learning == LearningConfig(**sizes, learning_rate=1e-3, optimiser="adam", gradient_clip=2.0)
    assert (config.world, config.seed) == (MemoryPlanning(size=2, episode_steps=12), 3)
    with safe_open(path, "numpy") as file:
        assert sorted(file.keys()) == sorted(name for name, _ in named_arrays(agent))
        for name, array in named_arrays(agent):
            np.testing.assert_array_equal(array, file.get_tensor(name))
