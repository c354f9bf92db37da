"""Logged runs: what the folders that `rapidtask train` wrote tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidtask.envs.registry import domain_name
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.experiments.style import plural
from rapidtask.runs.config import RunConfig, agent_name, run_config_from_json
from rapidtask.runs.logs import read_log

AGENT_LABELS = {"epn": "EPN", "lstm": "LSTM", "merlin": "MERLIN", "mra": "MRA"}
PIXELS = ", pixels"
"""How the labels of agents end that see pixels."""
STREET_ITERATIONS = 4
"""Planner iterations of the EPN that street figures show; labels name any other number."""
STREET_INTERSECTIONS = 5
"""Intersections of the paper's training worlds; labels name any other number."""


@dataclass(frozen=True)
class LoggedRun:
    """A run's folder."""

    folder: Path
    config: RunConfig
    records: list[dict]
    """One per iteration."""

    @property
    def label(self) -> str:
        """Which kind of agent it trained, the same for all seeds."""
        return kind_label(self.config)

    @property
    def observations(self) -> str:
        """What the agent sees: symbols or pixels."""
        return "pixels" if self.label.endswith(PIXELS) else "symbols"

    @property
    def evaluations(self) -> list[dict]:
        """The records that hold an evaluation on held-out worlds."""
        return [record for record in self.records if "evaluation_goals_per_episode" in record]

    @property
    def final_goals(self) -> float:
        """Goals per episode at the last evaluation; 0 if there was none."""
        return self.evaluations[-1]["evaluation_goals_per_episode"] if self.evaluations else 0.0

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self.records[-1]["steps"] if self.records else 0

    @property
    def minutes(self) -> float:
        """Minutes of training so far, compilation left out."""
        return self.records[-1]["seconds"] / 60 if self.records else 0.0


def kind_label(config: RunConfig) -> str:
    """Name of a kind of agent: what tells its figures' curves apart."""
    label = AGENT_LABELS.get(agent_name(config.agent), agent_name(config.agent))
    if getattr(config.agent, "recent_rows", None):
        label += f" N×k (k={config.agent.recent_rows})"
    size = getattr(config.world, "size", 4)
    if size != 4:
        label += f" {size}×{size}"
    if config.recipe == "paper":
        label += ", recipe paper"
    elif getattr(config.agent, "state_in_rows", None) is False and not config.agent.plan_with_newest:
        # As the paper has it: the planner knows neither the current state nor the newest transition.
        label += ", strict"
    return label + (_street_variant(config, config.world) if isinstance(config.world, StreetLearn) else "")


def _street_variant(config: RunConfig, world: StreetLearn) -> str:
    """What else tells kinds of agents apart on streets: thinking time, size of worlds, sight."""
    variant = ""
    iterations = getattr(config.agent, "iterations", STREET_ITERATIONS)
    # Of thoughts of different lengths, what was learned from counts.
    iterations = getattr(config.agent, "learned_iterations", None) or iterations
    if iterations != STREET_ITERATIONS:
        variant += f", {plural(iterations)}"
    if (intersections := world.neighbourhoods.intersections) != STREET_INTERSECTIONS:
        variant += f", {intersections} intersections"
    return variant + (PIXELS if world.frames is not None else "")


def read_run(folder: Path) -> LoggedRun:
    """Read a run's configuration and log."""
    try:
        config = run_config_from_json(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"{folder}: not the folder of a run, it has no config.json") from None
    except ValueError as error:
        raise InputError(f"{folder / 'config.json'}: {error}") from None
    return LoggedRun(folder, config, read_log(folder / "log.jsonl"))


def read_runs(folders: Sequence[Path], domain: str | None) -> list[LoggedRun]:
    """The runs in these folders or directly below them; all must be of the domain, if one is given."""
    runs: list[LoggedRun] = []
    for folder in folders:
        if (folder / "config.json").is_file():
            found = [folder]
        else:
            found = sorted(path.parent for path in folder.glob("*/config.json"))
        if not found:
            raise InputError(f"--runs: {folder} is no run, and holds none")
        runs += [read_run(path) for path in found]
    for run in runs:
        if domain is not None and (trained := domain_name(run.config.world)) != domain:
            raise InputError(f"--runs: {run.folder} was trained in {trained}, not {domain}")
    return runs
