"""Trained agents as files: weights, with the configuration of the run they come from."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import equinox as eqx
import numpy as np

from rapidtask.agents.agent import Agent
from rapidtask.errors import InputError
from rapidtask.runs.checkpoint import read_checkpoint, read_latest, restore, save_checkpoint
from rapidtask.runs.config import RunConfig, run_config_from_json

CHECKPOINTS = "checkpoints"
"""Name of the folder of a run's checkpoints, inside the run's."""
AGENT_FILE = "agent.safetensors"
"""Name of the trained agent in a run's folder."""
CONFIG_FILE = "config.json"
"""Name of the configuration in a run's folder."""
AGENT_IN_CHECKPOINT = "learner.agent."
"""What the names of the agent's tensors start with in a checkpoint of a run."""


def save_agent(path: Path, agent: Agent, config: RunConfig) -> None:
    """Write an agent's weights with the configuration of its run."""
    save_checkpoint(path, agent, config.to_json())


def load_agent(path: Path | str, *, episode_steps: int | None = None) -> tuple[Agent, RunConfig]:
    """Load an agent and its run's configuration from an agent file, a checkpoint, or the folder of a run.

    Its memory has room for episodes as long as in its run, or of so many steps.
    """
    tensors, config, path = _read(Path(path))
    prefix = AGENT_IN_CHECKPOINT
    if any(name.startswith(prefix) for name in tensors):
        tensors = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    # Shipped agents may be stored in half precision to be small; all compute in single.
    tensors = {n: t.astype(np.float32) if t.dtype == np.float16 else t for n, t in tensors.items()}
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise InputError(f"{path}: tensor {name!r} holds numbers that are not finite")
    shapes = eqx.filter_eval_shape(partial(config.make_agent, episode_steps=episode_steps))
    return restore(shapes, tensors, path), config


def agent_file(path: Path) -> Path:
    """The trained agent of a run: the file written at its end, else its newest checkpoint."""
    return path / AGENT_FILE if (path / AGENT_FILE).is_file() else path


def read_run_config(path: Path) -> RunConfig:
    """The configuration of the run that an agent file, a checkpoint or a run's folder belongs to."""
    return _read(path)[1]


def read_config_file(path: Path) -> RunConfig:
    """The configuration of a run from its file."""
    try:
        return run_config_from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, AttributeError) as error:  # InputError too
        raise InputError(f"{path}: {error}") from None


def _read(path: Path) -> tuple[dict[str, np.ndarray], RunConfig, Path]:
    if path.is_dir():
        found = read_latest(path / CHECKPOINTS if (path / CHECKPOINTS).is_dir() else path)
        if found is None:
            raise InputError(f"{path}: holds no whole checkpoint")
        tensors, data, path = found
    else:
        tensors, data = read_checkpoint(path)
    return tensors, run_config_from_json(data), path
