"""Worlds of the user's own by `--world`: files of graphs, and classes of their modules."""

import json
import sys
from dataclasses import replace

import equinox as eqx
import jax
import networkx as nx
import numpy as np
import pytest
from test_cli import fail

from rapidtask.commands.parsing import parse
from rapidtask.envs import DOMAINS, Graphs, MemoryPlanning, make_environment
from rapidtask.envs.registry import domain_name, find_domain
from rapidtask.errors import InputError
from rapidtask.runs.agent_files import load_agent, save_agent
from rapidtask.runs.config import RunConfig, run_config_from_json
from rapidtask.runs.provenance import training_command
from rapidtask.runs.same_run import check_same_run, made_with
from tiny_training import tiny_run

MODULE = '''
from dataclasses import dataclass, replace
import networkx as nx
from rapidtask.envs import EnvironmentSpec, WorldOptions
from rapidtask.worlds import make_pool, world_from_graph

@dataclass(frozen=True)
class Rings(WorldOptions):
    """Rings of three sizes."""

    episode_steps: int = 9
    largest: int = 5
    """Stops of the largest ring."""
    sizes: tuple[int, ...] = (3, 4)

    @property
    def spec(self):
        return EnvironmentSpec(self.largest, 3, self.episode_steps)

    def sample(self):
        rings = [nx.cycle_graph(n) for n in (*self.sizes, self.largest)]
        return make_pool([world_from_graph(ring) for ring in rings], shuffle_observations=True)

    def held_out(self):
        return replace(self, sizes=(4,))

class Broken(Rings):
    def __init__(self, needed): ...

nothing = 3
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with graphs of three sizes and a module, where commands are given."""
    (tmp_path / "maps").mkdir()
    nx.write_graphml(nx.cycle_graph(4), tmp_path / "maps" / "square.graphml")
    nx.write_gexf(nx.star_graph(4), tmp_path / "maps" / "star.gexf")
    nx.write_edgelist(nx.path_graph(7), tmp_path / "maps" / "way.edgelist", data=False)
    (tmp_path / "rings.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("rings", None)


def trained_in(*words: str) -> RunConfig:
    return replace(tiny_run(), world=parse(["train", "--out", "runs/x", *words]).world)


def save_blank(path, config: RunConfig) -> None:
    """An agent's file, its weights all zero: to draw them takes seconds to compile."""
    shapes = eqx.filter_eval_shape(config.make_agent)
    blank = lambda leaf: np.zeros(leaf.shape, leaf.dtype) if hasattr(leaf, "shape") else leaf  # noqa: E731
    save_agent(path, jax.tree.map(blank, shapes), config)


GRAPHS = ("--world", "graphs", "--world.files", "maps", "--world.episode-steps", "9")


def test_graphs_of_three_sizes_are_one_world(here):
    world = trained_in(*GRAPHS).world
    environment = world.make()
    assert environment.spec == world.spec
    assert (world.num_symbols, world.num_moves) == (7, 4)
    assert environment.pool.worlds.num_states.tolist() == [4, 5, 7]
    assert environment.pool.worlds.names[2] == tuple("0123456")


def test_one_name_where_several_are_expected_is_refused(here):
    with pytest.raises(InputError, match="files is 'maps', expected a tuple of str"):
        Graphs(files="maps")


def test_held_out_graphs_are_not_trained_in_and_have_the_same_shape(here):
    world = trained_in(*GRAPHS, "--world.held-out-files", "maps/*.gexf").world
    assert world.make().pool.worlds.num_states.tolist() == [4, 7]
    held_out = world.held_out().make()
    assert held_out.pool.worlds.num_states.tolist() == [5]
    assert held_out.spec == world.spec
    with pytest.raises(InputError, match="held-out-files leaves no graph to train in"):
        replace(world, held_out_files=("maps",)).make()


@pytest.mark.parametrize("words", [GRAPHS, ("--world", "rings:Rings", "--world.sizes", "3", "3", "5")])
def test_a_configuration_is_read_again_from_its_file_and_from_its_command(here, words):
    config = trained_in(*words)
    assert run_config_from_json(json.loads(json.dumps(config.to_json()))) == config
    repeated = training_command(config).split()[1:]
    assert parse([*repeated, "--out", "runs/y"]).world == config.world
    folder = here / "runs" / "x"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config.to_json()))
    assert parse(["train", "--resume", "--out", str(folder)]).config() == config


def test_an_agent_is_loaded_without_its_graphs_and_acts_in_others(here):
    config = trained_in(*GRAPHS)
    save_blank(here / "x.safetensors", config)
    for path in (here / "maps").iterdir():
        path.unlink()
    nx.write_graphml(nx.cycle_graph(6), here / "hexagon.graphml")
    _, loaded = load_agent(here / "x.safetensors")
    assert loaded == config
    command = ["evaluate", "--checkpoint", "x.safetensors"]
    with pytest.raises(InputError, match="maps: no such file of a graph"):
        parse(command).world.make()
    other = parse([*command, "--world.files", "hexagon.graphml"])
    environment = other.world.make()
    assert (environment.pool.num_worlds, environment.spec) == (1, config.world.spec)
    assert len(other.policies(environment)) == 1
    nx.write_graphml(nx.cycle_graph(9), here / "hexagon.graphml")
    with pytest.raises(InputError, match=r"hexagon.graphml: 9 nodes, but --world.num-symbols is 7"):
        other.world.make()


@pytest.mark.parametrize(
    ("words", "file"), [(GRAPHS, "maps/way.edgelist"), (("--world", "rings:Rings"), "rings.py")]
)
def test_a_run_goes_on_only_with_the_worlds_it_began_with(here, words, file):
    config = trained_in(*words)
    began = json.loads(json.dumps(config.to_json() | {"made_with": made_with(config.world)}))
    check_same_run(config.to_json() | {"made_with": made_with(config.world)}, began, here)
    with (here / file).open("a") as changed:
        changed.write("\n0 6\n" if file.endswith("edgelist") else "\n")
    now = config.to_json() | {"made_with": made_with(config.world)}
    with pytest.raises(InputError, match=r"other worlds than those found now: .* differs"):
        check_same_run(now, began, here)


def test_a_class_of_a_module_is_a_world_with_options_of_its_own(here, capsys):
    world = trained_in("--world", "rings:Rings", "--world.largest", "6").world
    assert domain_name(world) == "rings:Rings"
    assert world.make().pool.worlds.num_states.tolist() == [3, 4, 6]
    assert make_environment("rings:Rings", largest=7).num_observations == 7
    # What does not learn acts in worlds that are held out.
    assert parse(["evaluate", "--world", "rings:Rings"]).world.sizes == (4,)
    with pytest.raises(SystemExit):
        parse(["train", "--world", "rings:Rings", "--help-all"])
    assert "Stops of the largest ring" in capsys.readouterr().out


def test_a_module_that_is_gone_is_named_by_the_agent_s_file(here):
    config = trained_in("--world", "rings:Rings")
    save_blank(here / "x.safetensors", config)
    (here / "rings.py").unlink()
    sys.modules.pop("rings")
    with pytest.raises(InputError, match=r"world.name is 'rings:Rings': .* No module named 'rings'"):
        load_agent(here / "x.safetensors")


def test_a_class_of_a_script_is_refused_where_its_run_could_not_find_it():
    script = type("Metro", (MemoryPlanning,), {"__module__": "__main__"})
    with pytest.raises(InputError, match="Metro is defined in a script"):
        domain_name(script())
    assert [find_domain(domain_name(kind())) for kind in DOMAINS.values()] == list(DOMAINS.values())
    assert domain_name(Graphs()) == "graphs"


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("--world graphs", "--world graphs needs --world.files"),
        ("--world graphs --world.files none/*.gexf", "none/*.gexf: no such file of a graph"),
        ("--world graphs --world.files rings.py", "rings.py: unknown format; known are .graphml"),
        ("--world graphs --world.files maps --world.num-moves 3", "star.gexf: '0' has 4 neighbours, but"),
        ("--world graphs --world.files maps --world.num-symbols 1", "num_symbols is 1"),
        ("--world gone:Rings", "world gone:Rings: ModuleNotFoundError: No module named 'gone'"),
        ("--world rings:Circles", "module 'rings' has no attribute 'Circles'"),
        ("--world rings:Broken", "world rings:Broken: TypeError"),
        ("--world rings:nothing", "nothing is no class derived from rapidtask.envs.WorldOptions"),
        ("--world os:abort", "abort is no class derived from rapidtask.envs.WorldOptions"),
        ("--world json:JSONEncoder", "JSONEncoder is no class derived from rapidtask.envs.WorldOptions"),
        ("--world :", "world :: ValueError: Empty module name"),
    ],
)
def test_what_is_no_world_is_refused_in_a_line(here, capsys, command, named):
    assert named in fail(capsys, "evaluate", "--policy", "random", *command.split())
