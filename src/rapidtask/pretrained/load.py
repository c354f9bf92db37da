"""Loads trained agents: as they were trained, or with options that their weights do not depend on."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, get_type_hints

import equinox as eqx
import numpy as np

from rapidtask.agents.agent import Agent
from rapidtask.envs.environment import Environment, WorldOptions
from rapidtask.errors import InputError
from rapidtask.pretrained.cards import find_pretrained
from rapidtask.runs.agent_files import load_agent
from rapidtask.runs.checkpoint import CheckpointError, named_arrays, restore
from rapidtask.runs.config import RunConfig, agent_name, parse_value


def load_pretrained(
    name: str, *, episode_steps: int | None = None, folder: Path | None = None
) -> tuple[Agent, RunConfig]:
    """Load an agent that `list_pretrained()` names, of the package or of a folder, and its configuration.

    Its memory has room for episodes of its training's length, or of so many steps.
    """
    return load_agent(find_pretrained(name, folder), episode_steps=episode_steps)


def find_agent(name: str) -> Path:
    """A trained agent by its file, a checkpoint or the folder of its run, or else by its pretrained name."""
    return Path(name) if Path(name).exists() else find_pretrained(name)


def fit_agent(
    agent: Agent,
    config: RunConfig,
    environment: Environment | WorldOptions,
    *,
    new_symbols: bool = False,
    **options: Any,
) -> tuple[Agent, RunConfig]:
    """The same weights in an agent for another environment, or with other options.

    What the weights do not depend on can change: the EPN's `memory` and `iterations`, the length of episodes,
    and, with fixed symbols, how many symbols there are (`new_symbols` allows more than in training). An
    option that the agent does not have, or that its weights do not fit, is an InputError.
    """
    known = {field.name for field in dataclasses.fields(config.agent)}
    name = agent_name(config.agent)
    if unknown := sorted(options.keys() - known):
        raise InputError(f"{name} has no option {unknown[0]!r}; known: {', '.join(sorted(known))}")
    here, trained = environment.spec, config.world.spec
    more_symbols = here.num_observations > trained.num_observations
    same_actions = here.num_actions == trained.num_actions
    learned = getattr(config.agent, "symbols", "learned") == "learned"
    hint = "its symbols are learned: it can know no others" if learned else "--new-symbols lets it act there"
    does_not_fit = InputError(
        f"{name}: the agent was made for {trained.num_actions} actions and {trained.num_observations} "
        f"observations; this world has {here.num_actions} and {here.num_observations}"
        + (f"; {hint}" if more_symbols and same_actions else "")
    )
    if not same_actions or (more_symbols and not new_symbols):
        raise does_not_fit
    changed = dataclasses.replace(config, agent=dataclasses.replace(config.agent, **options))
    # A smaller world is met with the whole vocabulary of the training, and frames by those who learned them.
    vocabulary = max(here.num_observations, trained.num_observations)
    spec = dataclasses.replace(here, num_observations=vocabulary, pixels=trained.pixels)
    try:
        shapes = eqx.filter_eval_shape(lambda: changed.agent.make(spec, 0))
        weights = {path: np.asarray(leaf) for path, leaf in named_arrays(agent)}
        return restore(shapes, weights, Path(name)), changed
    except CheckpointError as error:
        if more_symbols:
            raise does_not_fit from None
        listed = ", ".join(f"{key}={value}" for key, value in options.items())
        raise InputError(f"{name}: these weights do not fit {listed} ({error})") from None


def parse_option(config: Any, text: str) -> tuple[str, Any]:
    """`name=value` from the command line, the value of the type that the agent's option has."""
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not hasattr(config, name):
        known = ", ".join(field.name for field in dataclasses.fields(config))
        raise InputError(f"{text!r}: expected NAME=VALUE with one of the agent's options: {known}")
    return name, parse_value(get_type_hints(type(config))[name], value, f"--options: {name}")
