"""The commands and the code of README.md, CONTRIBUTING.md and docs/, and what tests do with each.

A command is a line of a code block, or a piece of code in a sentence, that begins with one of `PROGRAMS`.
What it is given to be quick, what it finds in its folder, and why some cannot run here stand in the tables.
"""

import re
from pathlib import Path

import pytest

from rapidtask.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "quickstart.md")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
"""The quickstart is run as a whole, by test_quickstart.py."""
PROGRAMS = ("rapidtask", "python", "pytest", "make", "pip", "srun", "gcloud")

TRAINING = (
    "--world.episode-steps 12 --steps 104 --learning.num-envs 4 --learning.minibatch-size 26"
    " --learning.cpu-devices 1"
)
SMALL_AGENT = " --agent.width 8 --agent.iterations 1"
RUN_OPTIONS = " --run-options.evaluation-episodes 4 --run-options.checkpoint-every 1"

SMALL = {
    "rapidtask evaluate": "--episodes 4",
    "rapidtask train --init-from": TRAINING + RUN_OPTIONS,
    "rapidtask train": TRAINING + SMALL_AGENT + RUN_OPTIONS,
    "rapidtask sweep": TRAINING + SMALL_AGENT + " --trials 1 --workers 1 --evaluation-episodes 4",
    "rapidtask experiment analysis": "--episodes 4 --only grid_attention",
    "rapidtask experiment ladder": "--episodes 4 --steps 60 --seeds 0",
    "rapidtask experiment streetlearn": "--episodes 4 --only neighbourhoods",
    "rapidtask score": "--tasks game-3x3",
    "rapidtask watch": "",
    "rapidtask cities import": "",
    "rapidtask cities list": "",
    "rapidtask cities show": "",
    "rapidtask cities views": "--num-intersections 2",
    "rapidtask cities render": "--workers 1",
    "python benchmarks/time_to_score.py": "--seeds 0 --steps 12928",
}
"""What is added to a command, by its first words; the last of two equal options counts. A command that
begins otherwise fails until someone decides."""

SMALL_WORLD = {"--world streetlearn": "--world.pool-size 4", "--recipe paper": "--learning.minibatch-size 80"}
"""What is added besides, by what stands in the command."""

STANDS_FOR = {
    "COMMAND": tuple(COMMANDS),
    "FILE|PLACE": ("path/to/paris_se.gexf.gz --name town",),
    "SEED": ("0",),
    "seinebank": ("paris_se",),
    "580": ("5",),
    "localhost:1234": ("localhost:PORT",),
}
"""What a word is replaced by, by all in turn: placeholders; a city of thousands of views, and its node."""

FOUND = {
    "--checkpoint runs/x": {"runs/x": "run"},
    "--checkpoint agent.safetensors": {"agent.safetensors": "run/agent.safetensors"},
    "--resume": {"runs/x": "stopped"},
    "runs/y": {"runs/y": "run"},
    "runs/ladder": {"runs/ladder/x": "run"},
    "experiment streetlearn": {"cities": "cities", "runs/streets": "street_run"},
    "path/to/paris_se.gexf.gz": {"path/to/paris_se.gexf.gz": "cities/paris_se.gexf.gz"},
    " paris_se": {"cities": "cities"},
    "--world.frames frames": {"cities": "cities", "frames": "frames"},
    "frames/paris_se": {"cities": "cities", "frames": "frames"},
    'load_agent("runs/x")': {"runs/x": "run"},
    "--world.files maps": {"maps": "maps"},
    "--checkpoint runs/maps": {"maps": "maps", "runs/maps": "maps_run"},
    "--world.files other.graphml": {"other.graphml": "maps/line.graphml"},
    "own_agent:make_agent": {"own_agent.py": "examples/own_agent.py"},
    "own_world:Metro": {"own_world.py": "examples/own_world.py"},
    "runs/metro": {"own_world.py": "examples/own_world.py"},
    "--checkpoint runs/metro": {"runs/metro": "metro_run"},
    "--checkpoint runs/g": {"runs/g": "gymnasium_run"},
    "examples.frozen_lake": {"examples/frozen_lake.py": "examples/frozen_lake.py"},
    "examples.simple_grid": {"examples/simple_grid.py": "examples/simple_grid.py"},
    "examples.minigrid_rooms": {"examples/minigrid_rooms.py": "examples/minigrid_rooms.py"},
    "--resume --out runs/metro": {"runs/metro": "metro_stopped"},
}
"""What a reader has in the folder, by what stands in the command or code: its name there, and the fixture
of tests/test_docs_commands.py (and a path in it) that it is copied from."""

NEEDS = {"rapidtask sweep": "optuna"}
"""Modules of optional extras, by what stands in the command; without them it is skipped."""

LIVED = "rapidtask train --world gymnasium --world.id "
SLOW = {
    "rapidtask score epn-memory-planning --tasks game-3x3 game-4x4",
    "rapidtask agents",
    "rapidtask evaluate --checkpoint runs/g",
    f"{LIVED}rapidtask:rapidtask/MemoryPlanning-v0 --world.num-observations 16 --out runs/g",
    *(
        f"{LIVED}examples.{name}:make --world.goal examples.{name}:goal --world.oracle examples.{name}:oracle"
        f" --world.num-observations {symbols} --world.episode-steps {length} --learning.lag 1"
        f" --run-options.workers 0 --steps {steps} --out runs/{folder}"
        for name, symbols, length, steps, folder in (
            ("frozen_lake", 36, 300, 400000, "lake"),
            ("simple_grid", 25, 200, 400000, "grid"),
            ("minigrid_rooms", 80, 200, 250000, "rooms"),
        )
    ),
    "rapidtask cities list --statistics",
    "rapidtask cities render seinebank --out frames",
    "rapidtask evaluate --checkpoint agent.safetensors --greedy --policy all --json",
    "rapidtask evaluate --checkpoint runs/x",
    "rapidtask evaluate --checkpoint runs/x --world.episode-steps 300",
    "rapidtask evaluate --policy all --episodes 2000",
    "rapidtask evaluate --pretrained epn-memory-planning --episodes 500",
    "rapidtask evaluate --world memory-planning --pretrained epn-memory-planning --episodes 2000 --seed 7"
    " --json",
    "rapidtask evaluate --pretrained epn-streetlearn-symbols --world.num-intersections 24"
    " --world.episode-steps 960 --episodes 16 --seed 11 --new-symbols",
    "rapidtask evaluate --world streetlearn --policy all",
    "rapidtask evaluate --world streetlearn --world.city path/to/paris_se.gexf.gz --world.rules release",
    "rapidtask evaluate --world streetlearn --world.city path/to/paris_se.gexf.gz"
    " --pretrained epn-streetlearn-symbols --episodes 500 --json",
    "rapidtask evaluate --world streetlearn --world.frames frames --policy edges",
    "rapidtask evaluate --checkpoint runs/maps --world.files other.graphml",
    "rapidtask evaluate --world graphs --world.files maps --policy all",
    "rapidtask evaluate --world own_world:Metro --policy all",
    "rapidtask sweep --out sweeps/a --trials 32 --workers 2 --steps 300000",
    "rapidtask experiment analysis",
    "rapidtask train --world memory-planning --agent epn --recipe paper --learning.cpu-devices 1"
    " --steps 20000000 --seed 0 --out runs/paper",
    "rapidtask sweep --out sweeps/p --trials 64 --recipe paper --search bayes --prune",
    "rapidtask sweep --out sweeps/s --space learning.learning_rate=1e-3:1e-2 learning.optimiser=adam,muon",
    "rapidtask train --out runs/x --distributed localhost:1234,0,2 &"
    " rapidtask train --out runs/x --distributed localhost:1234,1,2",
    "rapidtask train --out runs/x --learning.num-envs 512 --learning.minibatch-size 2048",
    "rapidtask train --steps 1000000 --seed 0 --out runs/x",
    "rapidtask train --init-from epn-memory-planning --world.size 5 --new-symbols --out runs/larger",
    "rapidtask train --resume --out runs/metro",
    "rapidtask train --world graphs --world.files maps --out runs/maps",
    "rapidtask train --world graphs --world.files maps --world.held-out-files 'maps/*.gexf' --out runs/maps",
    "rapidtask train --world memory-planning --agent epn --recipe fast --out runs/x",
    "rapidtask train --world memory-planning --agent epn --recipe fast --out runs/x --resume",
    "rapidtask train --world own_world:Metro --world.largest 20 --out runs/metro",
    "rapidtask train --world streetlearn --out runs/x",
    "rapidtask train --world streetlearn --world.frames frames --agent epn --out runs/pixels",
    "rapidtask watch --checkpoint runs/maps",
    "rapidtask watch --checkpoint runs/metro",
    "rapidtask watch --checkpoint runs/x",
    "rapidtask watch --checkpoint runs/x --seed 3",
    "rapidtask watch --pretrained epn-memory-planning",
    "rapidtask watch --world streetlearn --policy hand-coded",
    "rapidtask watch --checkpoint runs/x --compare all runs/y --out page.html --no-open",
    "python benchmarks/time_to_score.py --seeds 0 1 2 --steps 200000",
    "python benchmarks/time_to_score.py --seeds SEED --steps 250000",
}
"""Commands of more than a few seconds: other processes, pixels, agents of full size, much to compile."""

NAME = "names the command in a sentence; with options it stands, and is run, elsewhere"
MAKE = "installs, or runs these tests; that the target exists is tested below"
NETWORK = "installs from a network; that the extra exists is tested below"
EXCLUDED = {
    "rapidtask evaluate": NAME,
    "rapidtask train": NAME,
    "rapidtask train --world memory-planning": NAME,
    "rapidtask sweep --recipe paper": NAME,
    "rapidtask experiment memory-planning": "tests/experiments make its figures, small",
    "rapidtask experiment streetlearn": NAME,
    "python benchmarks/first_hour.py": "minutes of commands in processes of their own",
    "python benchmarks/first_hour.py --compare caaaf9c=PYTHON:SRC": "minutes, and another version",
    "rapidtask watch": NAME,
    "rapidtask score": NAME,
    "rapidtask score --leaderboard results/leaderboard": "tests/suite holds the page against its files",
    "python examples/sb3_ppo.py ppo --minutes 8": "trains with another library",
    "python examples/sb3_ppo.py recurrent-ppo --minutes 12": "trains with another library",
    "python examples/sb3_ppo.py ppo --minutes 10": "trains with another library",
    "RAPIDTASK_SB3=ppo.zip rapidtask score sb3_ppo:make_agent --out ppo.json": "needs another library",
    "python benchmarks/long_life_bench.py": "a life of many minutes",
    "python benchmarks/vector_bench.py": "has no options and measures for a minute",
    "pip install 'rapidtask[sb3]'": NETWORK,
    **{f"make {target}": MAKE for target in ("setup", "demo", "lint", "test", "test-slow", "test-browser")},
    "make docs": MAKE,
    "rapidtask experiment ladder --train": "trains for hours; the ladder's tests train a small rung",
    "make bench": "measures for an hour; that the target exists is tested below",
    "pip install .": "installs; the tests run in what it installs",
    "pip install 'rapidtask[sweep]'": NETWORK,
    'pip install -U "jax[cuda12]"': "needs a GPU and a network",
    "pytest -m slow tests/agents/test_planning_probe.py": "is itself one of the slow tests",
    "python -m pytest -m slow tests/agents/test_rivals_memory.py": "is itself one of the slow tests",
    "python benchmarks/training_bench.py": "installs PyTorch, the peer it compares with",
    "pip install 'rapidtask[cluster]'": NETWORK,
    "python benchmarks/actors_bench.py": "compiles five trainings",
    "python benchmarks/rows_bench.py": "compiles planners of many sizes",
    "python benchmarks/rows_bench.py --rows 1000 10000": "compiles planners of many sizes",
    "python benchmarks/steps_probe.py --episodes 64": "compiles planners and plays for minutes",
    "python benchmarks/agents_bench.py": "compiles agents of full size for minutes",
    "python benchmarks/views_bench.py": "has no options and measures for minutes",
    'gcloud compute tpus tpu-vm ssh NAME --worker=all --command "rapidtask train --out /shared/runs/x'
    ' --learning.num-envs 2048 --learning.minibatch-size 8192 --distributed auto"': "needs a TPU pod",
    "srun rapidtask train --out /shared/runs/x --learning.num-envs 1024 --learning.minibatch-size 4096"
    " --distributed auto --resume": "needs Slurm",
}
"""Commands that are not run, and why."""


def commands_of(text: str) -> list[str]:
    """The commands in a page, comments left out, continued lines put together."""
    text = re.sub(r" *\\\n\s*", " ", text)
    text = re.sub(r" &\n\s*", " & ", text)
    begins = re.compile(rf"(\w+=\S+ )*({'|'.join(PROGRAMS)}) ")
    found, sentences, in_fence = [], [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        elif in_fence or line.startswith("    "):
            found.append(re.sub(r"\s+#.*", "", line.strip()))
        else:
            sentences.append(line.strip())
    found += re.findall(r"`([^`]+)`", " ".join(sentences))
    return [command for command in found if begins.match(command)]


COLLECTED = list(dict.fromkeys(c for page in DOCUMENTS for c in commands_of(page.read_text("utf-8"))))
RUN = [command for command in COLLECTED if command not in EXCLUDED]
NOTEBOOK = "docs/notebook.md"
EXAMPLES = [path.read_text("utf-8") for path in sorted((ROOT / "examples").glob("*.py"))]
"""Scripts, which pages show whole; test_examples.py runs them."""


def code_of(page: Path) -> dict[str, str]:
    """The Python code of a page, by a name for each piece; pieces of a notebook go on from one another."""
    name = str(page.relative_to(ROOT))
    pieces = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    if name == NOTEBOOK:
        return {name: "".join(pieces)}
    return {f"{name}-{number}": code for number, code in enumerate(pieces)}


CODE = {name: code for page in DOCUMENTS for name, code in code_of(page).items()}
RUN_CODE = {
    name: code
    for name, code in CODE.items()
    # Files of examples/ are run by test_examples.py; test_viewer.py also looks at what is made.
    if code not in EXAMPLES and not name.startswith("docs/viewer.md")
}
SLOW_CODE = {"docs/views.md-0", NOTEBOOK}
SMALL_NOTEBOOK = {
    'load_pretrained("epn-memory-planning")': 'load_agent("runs/x")',
    "shown[30]": "shown[9]",
    'MemoryPlanning-v0", show': 'MemoryPlanning-v0", size=2, episode_steps=12, show',
}
"""What is replaced in the notebook to run it quickly, with an agent that has learned nothing."""


def small(command: str) -> str:
    """One command with what makes it small."""
    if command.endswith(" --help"):
        return command
    prefix = max((p for p in SMALL if f"{command} ".startswith(f"{p} ")), key=len, default=None)
    if prefix is None:
        pytest.fail(f"undecided: {command!r} is neither in SMALL nor in EXCLUDED")
    besides = [options for part, options in SMALL_WORLD.items() if part in command]
    return " ".join([command, SMALL[prefix], *besides])


def variants(text: str) -> list[str]:
    """The text with every word of `STANDS_FOR` replaced, once for each of its values."""
    texts = [text]
    for word, values in STANDS_FOR.items():
        if word in text:
            texts = [variant.replace(word, value) for variant in texts for value in values]
    return texts
