"""Every command of the documentation is run, made small, or is excluded with a reason.

Which, and how, is decided in documented_commands.py.
"""

import json
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest

from documented_commands import (
    CODE,
    COLLECTED,
    DOCUMENTS,
    EXCLUDED,
    FOUND,
    NEEDS,
    NOTEBOOK,
    ROOT,
    RUN,
    RUN_CODE,
    SLOW,
    SLOW_CODE,
    SMALL,
    SMALL_NOTEBOOK,
    SMALL_WORLD,
    STANDS_FOR,
    small,
    variants,
)
from fake_runs import write_run
from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.cli import main
from rapidtask.envs import Graphs, StreetLearn
from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.envs.registry import find_domain
from rapidtask.runs.checkpoint import checkpoint_path, list_checkpoints
from street_runs import write_cities
from tiny_training import tiny_run


@pytest.fixture(scope="module")
def cities(tmp_path_factory):
    """A directory with a held-out city and one to train on: five by five crossings, bent a little."""
    return write_cities(tmp_path_factory.mktemp("cities"), side=5)


@pytest.fixture(scope="module")
def frames(cities, tmp_path_factory):
    """The views of both cities."""
    folder = tmp_path_factory.mktemp("frames")
    for path in cities.iterdir():
        main(["cities", "render", str(path), "--out", str(folder), "--workers", "1"])
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run whose agent has learned nothing."""
    return with_checkpoint(write_run(tmp_path_factory.mktemp("run") / "x", tiny_run()))


def with_checkpoint(folder: Path) -> Path:
    (folder / "checkpoints").mkdir()
    shutil.copy(folder / "agent.safetensors", checkpoint_path(folder / "checkpoints", 2))
    return folder


@pytest.fixture(scope="module")
def street_run(tmp_path_factory):
    """The folder of a run in streets."""
    config = replace(tiny_run(), world=StreetLearn(episode_steps=12, pool_size=4))
    return write_run(tmp_path_factory.mktemp("street_run") / "streets", config)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    return stop(tmp_path_factory.mktemp("stopped") / "x", "--world memory-planning --agent epn --recipe fast")


@pytest.fixture(scope="module")
def metro_stopped(tmp_path_factory):
    return stop(tmp_path_factory.mktemp("metro_stopped") / "x", "--world own_world:Metro --world.largest 20")


def stop(folder, options: str) -> Path:
    """The folder of a run of two iterations, as if killed before the second was saved."""
    main(shlex.split(small(f"rapidtask train {options} --out {folder}"))[1:])
    (folder / "agent.safetensors").unlink()
    list_checkpoints(folder / "checkpoints")[-1].unlink()
    return folder


@pytest.fixture(scope="module")
def examples():
    return ROOT / "examples"


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """Graphs of two sizes."""
    folder = tmp_path_factory.mktemp("maps")
    nx.write_gexf(nx.cycle_graph(4), folder / "ring.gexf")
    nx.write_graphml(nx.path_graph(3), folder / "line.graphml")
    return folder


@pytest.fixture(scope="module")
def maps_run(maps, tmp_path_factory):
    """The folder of a run in them."""
    config = replace(tiny_run(), world=replace(Graphs(files=(str(maps),)), files=("maps",), episode_steps=12))
    return with_checkpoint(write_run(tmp_path_factory.mktemp("maps_run") / "maps", config))


@pytest.fixture(scope="module")
def metro_run(tmp_path_factory):
    """The folder of a run in the example's worlds, whose file is in the current folder."""
    config = replace(tiny_run(), world=find_domain("own_world:Metro")(episode_steps=12))
    return with_checkpoint(write_run(tmp_path_factory.mktemp("metro_run") / "metro", config))


@pytest.fixture(scope="module")
def gymnasium_run(tmp_path_factory):
    """The folder of a run in an environment of Gymnasium."""
    world = GymnasiumWorlds(id="rapidtask:rapidtask/MemoryPlanning-v0", num_observations=16, episode_steps=12)
    config = replace(tiny_run(), world=world)
    return with_checkpoint(write_run(tmp_path_factory.mktemp("gymnasium_run") / "g", config))


def give(request, text: str, folder: Path) -> None:
    """Put what the text speaks of into the folder."""
    for part, things in FOUND.items():
        for name, thing in things.items() if part in text else ():
            fixture, _, rest = thing.partition("/")
            source, target = request.getfixturevalue(fixture) / rest, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory and a browser that opens nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def free_port() -> str:
    with socket.socket() as connection:
        connection.bind(("localhost", 0))
        return str(connection.getsockname()[1])


def run_together(commands: list[str]) -> None:
    """Run commands of `rapidtask` in processes side by side."""
    processes = [
        subprocess.Popen([sys.executable, "-m", *shlex.split(command)], stdout=subprocess.PIPE, text=True)
        for command in commands
    ]
    for process in processes:
        print(process.communicate(timeout=500)[0])
        assert process.returncode == 0


def run_here(words: list[str], monkeypatch) -> None:
    """Run one command in this process, which has JAX and its compiled programs already."""
    try:
        if words[0] == "rapidtask":
            main(words[1:])
        else:
            monkeypatch.setattr("sys.argv", words[1:])
            runpy.run_path(str(ROOT / words[1]), run_name="__main__")
    except SystemExit as end:
        if end.code:  # --help ends with none
            pytest.fail(f"{shlex.join(words)}: exit code {end.code}")


@pytest.mark.parametrize(
    "command", [pytest.param(c, marks=pytest.mark.slow if c in SLOW else (), id=c) for c in RUN]
)
def test_command_runs(command, here, request, monkeypatch, capsys):
    for module in (module for part, module in NEEDS.items() if part in command):
        pytest.importorskip(module)
    for variant in variants(command):
        together = [small(part) for part in variant.replace("PORT", free_port()).split(" & ")]
        give(request, variant, here)
        capsys.readouterr()
        if len(together) > 1:
            run_together(together)
        else:
            run_here(shlex.split(together[0]), monkeypatch)
        out = capsys.readouterr().out
        assert out.strip()
        if "--json" in command:
            assert json.loads(out)
        for written in re.findall(r"--out (\S+)", variant):
            made = here / written
            assert made.is_file() or any(path.is_file() for path in made.rglob("*"))
        if " train " in variant and "--out" in variant:
            assert (here / re.findall(r"--out (\S+)", variant)[0] / "agent.safetensors").exists()


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW_CODE else ()) for n in RUN_CODE]
)
def test_python_code_runs(name, here, request):
    (code,) = variants(CODE[name])
    give(request, code, here)
    exec(compile(code, name, "exec"), {})


def test_notebook_runs_with_a_small_agent(here, request, capsys):
    code = CODE[NOTEBOOK]
    for text, smaller in SMALL_NOTEBOOK.items():
        assert text in code
        code = code.replace(text, smaller)
    give(request, code, here)
    exec(compile(code, NOTEBOOK, "exec"), {})
    first, *rows, last = capsys.readouterr().out.splitlines()
    assert first.endswith("goals in 12 steps")
    for row in rows:
        assert re.fullmatch(r"\d \w+ \d attends most to \d \w+ \d \(\d+%\)", row)
    assert last.endswith("goals")


def test_no_table_speaks_of_what_is_gone():
    assert len(COLLECTED) > 40
    assert sorted({*EXCLUDED, *SLOW} - set(COLLECTED)) == []
    assert SLOW.isdisjoint(EXCLUDED)
    assert set(CODE) >= SLOW_CODE
    everything = " ".join([*COLLECTED, *CODE.values()])
    assert [prefix for prefix in SMALL if not any(c.startswith(prefix) for c in RUN)] == []
    for table in (STANDS_FOR, NEEDS, SMALL_WORLD):
        assert [part for part in table if part not in everything] == []


def test_targets_of_make_exist():
    targets = [command.split()[1:] for command in COLLECTED if command.startswith("make ")]
    assert len(targets) >= 8
    for words in targets:
        subprocess.run(["make", "--dry-run", *words], cwd=ROOT, check=True, capture_output=True)


def test_extras_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = {e for page in DOCUMENTS for e in re.findall(r"rapidtask\[([\w,]+)\]", page.read_text("utf-8"))}
    assert named
    assert named <= set(extras)
