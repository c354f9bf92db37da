"""Trained agents as files: weights, with the configuration of the run they come from."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx

from rapidtask.agents.agent import Agent
from rapidtask.errors import InputError
from rapidtask.learning.checkpoint import read_checkpoint, read_latest, restore, save_checkpoint
from rapidtask.learning.run_config import RunConfig, run_config_from_json

CHECKPOINTS = "checkpoints"
"""Name of the folder of a run's checkpoints, inside the run's."""
AGENT_IN_CHECKPOINT = "learner.learned.agent."
"""What the names of the agent's tensors start with in a checkpoint of a run."""


def save_agent(path: Path, agent: Agent, config: RunConfig) -> None:
    """Write an agent's weights with the configuration of its run."""
    save_checkpoint(path, agent, config.to_json())


def load_agent(path: Path | str) -> tuple[Agent, RunConfig]:
    """Load an agent and its run's configuration from an agent file, a checkpoint, or a run's folder."""
    path = Path(path)
    if path.is_dir():
        found = read_latest(path / CHECKPOINTS if (path / CHECKPOINTS).is_dir() else path)
        if found is None:
            raise InputError(f"{path}: holds no whole checkpoint")
        tensors, data, path = found
    else:
        tensors, data = read_checkpoint(path)
    config = run_config_from_json(data)
    prefix = AGENT_IN_CHECKPOINT
    if any(name.startswith(prefix) for name in tensors):
        tensors = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    return restore(eqx.filter_eval_shape(config.make_agent), tensors, path), config
