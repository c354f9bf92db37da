"""The configuration of a run, and its form as JSON beside every checkpoint."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass, field
from typing import Any

import jax

import rapidtask
from rapidtask.agents import AGENTS
from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPNConfig
from rapidtask.envs.registry import DOMAINS, MemoryPlanning, WorldOptions, domain_name
from rapidtask.errors import InputError
from rapidtask.learning.config import LearningConfig, Recipe
from rapidtask.runs.old_names import modernise


@dataclass(frozen=True)
class RunConfig:
    """Everything that a run's results depend on."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    agent: Any = field(default_factory=EPNConfig)
    """Options of the agent: one of the classes in `AGENTS`."""
    learning: LearningConfig = field(default_factory=LearningConfig)
    recipe: Recipe = "fast"
    """Name of the recipe that the options started from."""
    seed: int = 0
    steps: int = 1_000_000
    """Environment steps of the whole run; schedules end there."""

    def to_json(self) -> dict:
        """As JSON, with the names of world and agent."""
        return {
            "version": rapidtask.__version__,
            "world": {"name": domain_name(self.world), **asdict(self.world)},  # pyright: ignore[reportArgumentType]
            "agent": {"name": agent_name(self.agent), **asdict(self.agent)},
            "learning": asdict(self.learning),
            "recipe": self.recipe,
            "seed": self.seed,
            "steps": self.steps,
        }

    def make_agent(self, key: Any = None, *, episode_steps: int | None = None) -> Agent:
        """The run's agent with fresh weights; its memory has room for episodes of so many steps."""
        spec = self.world.spec
        spec = dataclasses.replace(spec, episode_steps=episode_steps or spec.episode_steps)
        return self.agent.make(spec, jax.random.key(self.seed) if key is None else key)


def run_config_from_json(data: dict) -> RunConfig:
    """The inverse of `RunConfig.to_json`; a field that is missing or unknown is named."""
    agent = _options(AGENTS, data, "agent")
    learning = dict(data.get("learning", {}))
    if not isinstance(agent, EPNConfig):
        # Earlier versions named options of single steps for recurrent agents, without effect.
        learning |= {"learned_share": None, "ratio_clip": None}
    return RunConfig(
        world=_options(DOMAINS, data, "world"),
        agent=agent,
        learning=_build(LearningConfig, learning, "learning"),
        recipe=data.get("recipe", "fast"),
        seed=data.get("seed", 0),
        steps=data.get("steps", 0),
    )


def agent_name(config: Any) -> str:
    """Name of the agent that the options belong to."""
    return next(name for name, kind in AGENTS.items() if isinstance(config, kind))


def _options(kinds: dict[str, type], data: dict, field_name: str) -> Any:
    options = dict(data.get(field_name, {}))
    name = options.pop("name", None)
    if name not in kinds:
        raise InputError(f"configuration: {field_name}.name is {name!r}, expected one of: {', '.join(kinds)}")
    return _build(kinds[name], options, field_name)


def _build(kind: type, options: dict, field_name: str) -> Any:
    options = modernise(field_name, options)
    known = {f.name for f in dataclasses.fields(kind)}
    if unknown := sorted(options.keys() - known):
        raise InputError(f"configuration: {field_name} has no option {unknown[0]!r}")
    return kind(**options)
