"""Loads trained agents: as they were trained, or with options that their weights do not depend on."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from rapidtask.agents.agent import Agent
from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.pretrained.cards import find_pretrained
from rapidtask.runs.agent_files import load_agent
from rapidtask.runs.checkpoint import CheckpointError, named_arrays, read_checkpoint, restore
from rapidtask.runs.config import RunConfig, agent_name, run_config_from_json


def load_pretrained(
    name: str, *, episode_steps: int | None = None, folder: Path | None = None
) -> tuple[Agent, RunConfig]:
    """Load an agent that comes with the package, and the configuration of its training.

    Args:
        name: one of the names of `list_pretrained()`.
        episode_steps: steps per episode to leave room for in its memory, if other than in its training.
        folder: where the shipped agents are, if not in the package.
    """
    path = find_pretrained(name, folder)
    tensors, data = read_checkpoint(path)
    if not any(tensor.dtype == np.float16 for tensor in tensors.values()):
        return load_agent(path, episode_steps=episode_steps)
    # Stored in half precision to be small; agents compute in single.
    config = run_config_from_json(data)
    tensors = {n: t.astype(np.float32) if t.dtype == np.float16 else t for n, t in tensors.items()}
    shapes = eqx.filter_eval_shape(lambda: config.make_agent(episode_steps=episode_steps))
    return restore(shapes, tensors, path), config


def fit_agent(
    agent: Agent,
    config: RunConfig,
    environment: Environment,
    *,
    new_symbols: bool = False,
    **options: Any,
) -> tuple[Agent, RunConfig]:
    """The same weights in an agent for another environment, or with other options.

    What the weights do not depend on can change: the EPN's `memory` and `iterations`,
    the length of episodes, and, with fixed symbols, how many symbols there are.

    Args:
        agent: the trained agent.
        config: the configuration of its training.
        environment: where it is to act.
        new_symbols: allow a world with symbols that the agent has never met in training.
        **options: options of the agent to change.

    Raises:
        InputError: if the agent has no such option, or its weights do not fit.
    """
    known = {field.name for field in dataclasses.fields(config.agent)}
    name = agent_name(config.agent)
    if unknown := sorted(options.keys() - known):
        raise InputError(f"{name} has no option {unknown[0]!r}; known: {', '.join(sorted(known))}")
    here, trained = environment.spec, config.world.spec
    does_not_fit = InputError(
        f"{name}: the agent was made for {trained.num_actions} actions and {trained.num_observations} "
        f"observations; this world has {here.num_actions} and {here.num_observations}"
    )
    more_symbols = here.num_observations > trained.num_observations
    if here.num_actions != trained.num_actions or (more_symbols and not new_symbols):
        raise does_not_fit
    changed = dataclasses.replace(config, agent=dataclasses.replace(config.agent, **options))
    # A smaller world is met with the whole vocabulary of the training, and frames by those who learned them.
    vocabulary = max(here.num_observations, trained.num_observations)
    spec = dataclasses.replace(here, num_observations=vocabulary, pixels=trained.pixels)
    try:
        shapes = eqx.filter_eval_shape(lambda: changed.agent.make(spec, jax.random.key(0)))
        return restore(shapes, dict(_arrays(agent)), Path(name)), changed
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
    kind = type(getattr(config, name))
    if kind is bool:
        if value.lower() not in ("true", "false"):
            raise InputError(f"{text!r}: expected true or false")
        return name, value.lower() == "true"
    try:
        return name, kind(value)
    except ValueError:
        raise InputError(f"{text!r}: expected a value of type {kind.__name__}") from None


def _arrays(agent: Agent) -> list[tuple[str, np.ndarray]]:
    return [(name, np.asarray(leaf)) for name, leaf in named_arrays(agent)]
