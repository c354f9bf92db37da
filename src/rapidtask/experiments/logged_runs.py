"""Logged runs: what the folders that `rapidtask train` wrote tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidtask.envs.registry import domain_name
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.experiments.style import plural
from rapidtask.runs.agent_files import CONFIG_FILE, read_config_file
from rapidtask.runs.config import RunConfig, agent_name
from rapidtask.runs.logs import read_log

PIXELS = ", pixels"
"""How the labels of agents end that see pixels."""
GRID_SIZE, STREET_INTERSECTIONS = 4, 5
"""Sizes of the paper's training worlds; labels name any other."""
STREET_ITERATIONS = 4
"""Planner iterations of the EPN that street figures show; labels name any other number."""


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
    def is_finished(self) -> bool:
        """Whether it was trained for all its steps."""
        return self.steps >= self.config.steps

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
    world, agent = config.world, config.agent
    label = agent_name(agent).upper()
    if getattr(agent, "recent_rows", None):
        label += f" N×k (k={agent.recent_rows})"
    if (size := getattr(world, "size", GRID_SIZE)) != GRID_SIZE:
        label += f" {size}×{size}"
    if config.recipe == "paper":
        label += ", recipe paper"
        label += ", Muon" if config.learning.optimiser == "muon" else ""
    elif getattr(agent, "state_in_rows", None) is False and not agent.plan_with_newest:
        # As the paper has it: the planner knows neither the current state nor the newest transition.
        label += ", strict"
    if isinstance(world, StreetLearn):
        # Of thoughts of different lengths, what was learned from counts.
        learned = getattr(agent, "learned_iterations", None)
        iterations = learned or getattr(agent, "iterations", STREET_ITERATIONS)
        # With values, recipe `fast` learns from one iteration less.
        usual = {STREET_ITERATIONS, STREET_ITERATIONS - (getattr(agent, "value_channels", 0) > 0)}
        if iterations not in usual:
            label += f", {plural(iterations)}"
        if (intersections := world.neighbourhoods.intersections) != STREET_INTERSECTIONS:
            label += f", {intersections} intersections"
        label += PIXELS if world.frames is not None else ""
    return label


def read_runs(folders: Sequence[Path], domain: str | None) -> list[LoggedRun]:
    """The runs in these folders or directly below them; all must be of the domain, if one is given."""
    runs: list[LoggedRun] = []
    for folder in folders:
        configs = [*folder.glob(CONFIG_FILE)] or sorted(folder.glob(f"*/{CONFIG_FILE}"))
        if not configs:
            raise InputError(f"--runs: {folder} is no run, and holds none")
        for path in configs:
            config = read_config_file(path)
            if domain is not None and (trained := domain_name(config.world)) != domain:
                raise InputError(f"--runs: {path.parent} was trained in {trained}, not {domain}")
            runs.append(LoggedRun(path.parent, config, read_log(path.parent / "log.jsonl")))
    return runs
