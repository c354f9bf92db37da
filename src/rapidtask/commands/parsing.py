"""From arguments to a command: which dataclass, with which options of world, agent and learning."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import tyro

from rapidtask.agents import AGENTS
from rapidtask.envs.registry import DOMAINS, WorldOptions, domain_name, find_domain
from rapidtask.errors import InputError
from rapidtask.learning.config import RECIPES, epn_for, learning_for
from rapidtask.pretrained.cards import find_pretrained
from rapidtask.runs.agent_files import CONFIG_FILE, read_config_file, read_run_config
from rapidtask.runs.config import RunConfig, agent_name

CHOICES: dict[str, Sequence[str]] = {
    "world": (*DOMAINS, "MODULE:CLASS"),
    "agent": tuple(AGENTS),
    "recipe": tuple(RECIPES),
}
"""Flags that decide which further flags there are, and their values; the first is the default."""


def parse(arguments: Sequence[str]) -> Any:
    """The command that the first argument names, with the options of the others; its `run()` does the job."""
    name, started = arguments[0], None
    if name == "train":
        started = config_of_folder(arguments) if "--resume" in arguments else config_of_agent(arguments)
    (_, *rest), chosen = take_choices(arguments, started)
    world = find_domain(chosen["world"])()
    is_chosen = any(argument.partition("=")[0] == "--world" for argument in arguments)
    if name in ("evaluate", "watch") and not is_chosen:
        world = world_of_agent(arguments) or world
    kind = specialise(command_class(name), chosen, world, started)
    if {"-h", "--help"} & set(rest):
        kind = shorten_help(kind)
    rest = ["--help" if argument == "--help-all" else argument for argument in rest]
    return tyro.cli(kind, prog=f"rapidtask {name}", args=rest)


def shorten_help(command: type) -> type:
    """The command with the flags that decide on others in its description, and those others hidden."""
    names = {field.name for field in dataclasses.fields(command)}
    groups = sorted(names & {"world", "agent", "learning", "run_options"})
    flags = [
        f"--{flag} {{{','.join(values)}}}  (default: {values[0]})"
        for flag, values in CHOICES.items()
        if flag in names
    ]
    more = f"--help-all  also lists the options of {', '.join(groups)}".replace("_", " ")
    lines = [*flags, more] if groups else []
    hidden = [
        (name, tyro.conf.Suppress[Any], dataclasses.field(default=None, kw_only=True)) for name in groups
    ]
    text = "\n".join([command.__doc__ or "", *lines])
    return dataclasses.make_dataclass(
        command.__name__, hidden, bases=(command,), namespace={"__doc__": text}, frozen=True
    )


def command_class(name: str) -> type:
    """The dataclass of a command, from the module of its name."""
    return getattr(importlib.import_module(f"rapidtask.commands.{name}"), name.title())


def config_of_folder(arguments: Sequence[str]) -> RunConfig | None:
    """The configuration of the run in the folder that `--out` names, if there is one."""
    for folder in values_of("--out", arguments):
        if (path := Path(folder) / CONFIG_FILE).is_file():
            return read_config_file(path)
    return None


def config_of_agent(arguments: Sequence[str]) -> RunConfig | None:
    """What a run that starts from the agent of `--init-from` has by default: its options and its world."""
    for name in values_of("--init-from", arguments):
        from rapidtask.pretrained.load import find_agent  # which others need not wait for

        trained, (_, chosen) = read_run_config(find_agent(name)), take_choices(arguments)
        learning = learning_for(chosen["recipe"], agent_name(trained.agent), chosen["world"])
        world = DOMAINS[chosen["world"]]() if values_of("--world", arguments) else trained.world
        return RunConfig(world, trained.agent, learning, recipe=chosen["recipe"])  # pyright: ignore
    return None


def world_of_agent(arguments: Sequence[str]) -> WorldOptions | None:
    """The world that the agent of a `--checkpoint` or `--pretrained` among the arguments was trained in."""
    from rapidtask.commands.evaluate import chosen_pretrained  # which others need not wait for

    names = chosen_pretrained(values_of("--pretrained", arguments))
    paths = [*map(Path, values_of("--checkpoint", arguments)), *map(find_pretrained, names)]
    return read_run_config(paths[0]).world if paths else None


def values_of(flag: str, arguments: Sequence[str]) -> list[str]:
    """The values that a flag is given among the arguments."""
    joined = [argument.partition("=")[2] for argument in arguments if argument.startswith(f"{flag}=")]
    return [*joined, *(value for name, value in pairwise(arguments) if name == flag)]


def take_choices(
    arguments: Sequence[str], started: RunConfig | None = None
) -> tuple[list[str], dict[str, str]]:
    """Take `--world NAME` and the like out of the arguments; a run that was started has its own."""
    rest: list[str] = []
    chosen = {flag: values[0] for flag, values in CHOICES.items()}
    if started is not None:
        names = (domain_name(started.world), agent_name(started.agent), started.recipe)
        chosen = dict(zip(CHOICES, names, strict=True))
    remaining = iter(arguments)
    for argument in remaining:
        flag, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or flag not in CHOICES:
            rest.append(argument)
            continue
        expected = ", ".join(CHOICES[flag])
        if not equals and (value := next(remaining, "")) == "":
            raise InputError(f"--{flag} needs a name: {expected}")
        if flag == "world":
            find_domain(value)
        elif value not in CHOICES[flag]:
            raise InputError(f"--{flag}: unknown {flag} {value!r}, expected one of: {expected}")
        chosen[flag] = value
    return rest, chosen


def specialise(
    command: type, chosen: dict[str, str], world: WorldOptions, started: RunConfig | None = None
) -> type:
    """The command's dataclass with the options of the chosen world, agent and recipe, where it has them.

    Those of a run that was started are the defaults, unless another world or agent was chosen.
    """
    recipe, domain = chosen["recipe"], domain_name(world)
    agent = epn_for(recipe, domain) if chosen["agent"] == "epn" else AGENTS[chosen["agent"]]()
    names = {field.name for field in dataclasses.fields(command)}
    defaults = {
        # What does not learn acts in worlds that nothing was learned in.
        "world": world if "learning" in names else world.held_out(),
        "agent": agent,
        "learning": learning_for(recipe, chosen["agent"], domain),
    }
    if started is not None and chosen["recipe"] == started.recipe:
        same = {name: getattr(started, name) for name in ("world", "agent", "learning")}
        defaults = {name: same[name] if type(same[name]) is type(d) else d for name, d in defaults.items()}
        defaults |= {"seed": started.seed, "steps": started.steps}
        if started.init_from is not None:
            defaults |= {"init_from": started.init_from, "new_symbols": started.new_symbols}
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
