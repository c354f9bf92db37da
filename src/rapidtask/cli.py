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
from rapidtask.commands.demo import Demo
from rapidtask.commands.evaluate import Evaluate
from rapidtask.commands.play import Play
from rapidtask.envs.registry import DOMAINS
from rapidtask.errors import InputError

DESCRIPTION = f"""Rapid task-solving in novel environments: worlds, agents, training, evaluation.

Commands that act in a world take --world NAME (one of: {", ".join(DOMAINS)}; the first by default)
and the world's own options as --world.OPTION; see "rapidtask COMMAND --world NAME --help".
"""

COMMANDS = {"demo": Demo, "evaluate": Evaluate, "play": Play}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a wrong flag or value is named on standard error, with exit code 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments == ["--version"]:
        print(f"rapidtask {rapidtask.__version__}")
        return
    try:
        arguments, domain = take_world(arguments)
        commands = {name: _with_world(command, domain) for name, command in COMMANDS.items()}
        command = tyro.extras.subcommand_cli_from_dict(
            commands, prog="rapidtask", description=DESCRIPTION, args=arguments
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


def take_world(arguments: Sequence[str]) -> tuple[list[str], str]:
    """Take `--world NAME` out of the arguments: its name decides which further options there are."""
    rest: list[str] = []
    name = next(iter(DOMAINS))
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        if argument == "--world":
            position += 1
            if position == len(arguments):
                raise InputError(f"--world needs a name: {', '.join(DOMAINS)}")
            name = arguments[position]
        elif argument.startswith("--world="):
            name = argument.removeprefix("--world=")
        else:
            rest.append(argument)
        position += 1
    if name not in DOMAINS:
        raise InputError(f"--world: unknown world {name!r}, expected one of: {', '.join(DOMAINS)}")
    return rest, name


def use_compilation_cache() -> None:
    """Keep compiled programs between runs, so that a command waits for the compiler only once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rapidtask" / "xla"
    jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def _with_world(command: type, name: str) -> type:
    """The command's dataclass with `world` being the options of the named domain, if it has that field."""
    if "world" not in {field.name for field in dataclasses.fields(command)}:
        return command
    domain = DOMAINS[name]
    return dataclasses.make_dataclass(
        command.__name__,
        [("world", domain, dataclasses.field(default_factory=domain, kw_only=True))],
        bases=(command,),
        namespace={"__doc__": command.__doc__},
        frozen=True,
    )
