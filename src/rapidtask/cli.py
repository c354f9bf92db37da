"""The `rapidtask` command line: one subcommand per job, its options read from a dataclass."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import jax
import tyro

import rapidtask
from rapidtask.agents import AGENTS
from rapidtask.commands.agents import Agents
from rapidtask.commands.cities import Cities
from rapidtask.commands.demo import Demo
from rapidtask.commands.evaluate import Evaluate, world_of_agent
from rapidtask.commands.experiment import Experiment
from rapidtask.commands.play import Play
from rapidtask.commands.sweep import Sweep
from rapidtask.commands.train import Train
from rapidtask.commands.watch import Watch
from rapidtask.envs.registry import DOMAINS, WorldOptions, domain_name
from rapidtask.errors import InputError
from rapidtask.learning.config import RECIPES, epn_for, learning_for

CHOICES: dict[str, Sequence[str]] = {
    "world": tuple(DOMAINS),
    "agent": tuple(AGENTS),
    "recipe": tuple(RECIPES),
}
"""Flags that decide which further flags there are, and their values; the first is the default."""

DESCRIPTION = f"""Rapid task-solving in novel environments: worlds, agents, training, evaluation.

Commands that act in a world take --world NAME ({", ".join(DOMAINS)}) and the world's own options as
--world.OPTION; training takes --agent NAME ({", ".join(AGENTS)}) and --agent.OPTION in the same way.
For example: rapidtask evaluate --world memory-planning --world.size 5 --policy hand-coded
"""

COMMANDS: dict[str, type] = {
    "demo": Demo,
    "train": Train,
    "evaluate": Evaluate,
    "sweep": Sweep,
    "experiment": Experiment,
    "watch": Watch,
    "play": Play,
    "cities": Cities,
    "agents": Agents,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a wrong flag or value is named on standard error, with exit code 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments == ["--version"]:
        print(f"rapidtask {rapidtask.__version__}")
        return
    try:
        rest, chosen = take_choices(arguments)
        world = DOMAINS[chosen["world"]]()
        is_chosen = any(argument.partition("=")[0] == "--world" for argument in arguments)
        if arguments[:1] in (["evaluate"], ["watch"]) and not is_chosen:
            world = world_of_agent(arguments) or world
        commands = {name: specialise(command, chosen, world) for name, command in COMMANDS.items()}
        command = tyro.extras.subcommand_cli_from_dict(
            commands, prog="rapidtask", description=DESCRIPTION, args=rest
        )
        use_compilation_cache()
        command.run()
    except InputError as error:
        print(f"rapidtask: error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has gone (for example `| head`); there is no one left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)


def take_choices(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Take `--world NAME` and the like out of the arguments."""
    rest: list[str] = []
    chosen = {flag: values[0] for flag, values in CHOICES.items()}
    remaining = iter(arguments)
    for argument in remaining:
        flag, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or flag not in CHOICES:
            rest.append(argument)
            continue
        expected = ", ".join(CHOICES[flag])
        if not equals and (value := next(remaining, "")) == "":
            raise InputError(f"--{flag} needs a name: {expected}")
        if value not in CHOICES[flag]:
            raise InputError(f"--{flag}: unknown {flag} {value!r}, expected one of: {expected}")
        chosen[flag] = value
    return rest, chosen


def specialise(command: type, chosen: dict[str, str], world: WorldOptions) -> type:
    """The command's dataclass with the options of the chosen world, agent and recipe, where it has them."""
    recipe, domain = chosen["recipe"], domain_name(world)
    agent = epn_for(recipe, domain) if chosen["agent"] == "epn" else AGENTS[chosen["agent"]]()
    names = {field.name for field in dataclasses.fields(command)}
    defaults = {
        # What does not learn acts in worlds that nothing was learned in.
        "world": world if "learning" in names else world.held_out(),
        "agent": agent,
        "learning": learning_for(recipe, chosen["agent"]),
    }
    fields = [
        (name, type(default), dataclasses.field(default=default, kw_only=True))
        for name, default in defaults.items()
        if name in names
    ]
    if "recipe" in names:
        fields.append(("recipe", tyro.conf.Suppress[str], dataclasses.field(default=recipe, kw_only=True)))
    if not fields:
        return command
    return dataclasses.make_dataclass(
        command.__name__, fields, bases=(command,), namespace={"__doc__": command.__doc__}, frozen=True
    )


def use_compilation_cache() -> None:
    """Keep compiled programs between runs, so that a command waits for the compiler only once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rapidtask" / "xla"
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
