"""The `rapidtask` command line: one subcommand per job, its options read from a dataclass."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import rapidtask
from rapidtask.errors import InputError

# Names are spelled out here and what a command needs is imported when it runs: help must not wait for JAX.
DESCRIPTION = """usage: rapidtask COMMAND [OPTIONS]

Rapid task-solving in novel environments: worlds, agents, training, evaluation.

Commands that act in a world take --world NAME (memory-planning, streetlearn, graphs, gymnasium, or
MODULE:CLASS of your own) and the world's own options as --world.OPTION; training takes --agent NAME (epn,
lstm, merlin, mra, transformer) and --agent.OPTION in the same way.
For example: rapidtask evaluate --world memory-planning --world.size 5 --policy hand-coded

Commands (rapidtask COMMAND --help tells the options of each; rapidtask --version the version):"""

COMMANDS: dict[str, str] = {
    "demo": "Show both domains: trained agents and reference policies, on a web page.",
    "train": "Train an agent from scratch, or go on with a run that was stopped.",
    "evaluate": "Score a policy: goals per episode, share of the oracle, steps to the n-th goal.",
    "score": "Score any agent, of any library, on a suite of fixed worlds; write the leaderboard.",
    "sweep": "Search hyper-parameters with many runs, in one process or many.",
    "experiment": "Write an experiment's tables and figures.",
    "watch": "Write one HTML file that shows an episode, and open it.",
    "cities": "Import, list, show and render the cities that street worlds are sampled from.",
    "agents": "List the pretrained agents.",
}
"""What each command does; the dataclass of `train` is `rapidtask.commands.train.Train`."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a wrong flag or value is named on standard error, with exit code 2."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments == ["--version"]:
        print(f"rapidtask {rapidtask.__version__}")
        return
    if arguments[:1] in (["--help"], ["-h"]):
        # Not by tyro, which takes longer to import than all the rest.
        print(DESCRIPTION, *(f"  {name:<12}{text}" for name, text in COMMANDS.items()), sep="\n")
        return
    try:
        if not arguments or arguments[0] not in COMMANDS:
            given = f"{arguments[0]} is no command" if arguments else "no command given"
            raise InputError(f"{given}; first comes one of: {', '.join(COMMANDS)}, or --help")
        from rapidtask.commands.parsing import parse
        from rapidtask.runs.programs import use_compilation_cache

        command = parse(arguments)
        use_compilation_cache()
        command.run()
    except InputError as error:
        print(f"rapidtask: error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has gone (for example `| head`); there is no one left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        # A full disk, a file where a folder should be: the path and what is wrong with it.
        where = f"{error.filename}: " if error.filename else ""
        print(f"rapidtask: error: {where}{error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
