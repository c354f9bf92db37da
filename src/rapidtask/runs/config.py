"""The configuration of a run, and its form as JSON beside every checkpoint, in names of any version."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import tyro

import rapidtask
from rapidtask.agents import AGENTS
from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPNConfig
from rapidtask.envs.registry import MemoryPlanning, WorldOptions, domain_name, find_domain
from rapidtask.errors import InputError
from rapidtask.learning.config import LearningConfig, Recipe
from rapidtask.options import Count, Seed, check_options

REMOVED = {
    "learning": {
        # Labels that could teach an agent.
        *("value_map_weight", "geometry", "ways", "advice"),
        *("passes", "rho_bar", "c_bar", "auxiliary_weight", "value_weight", "random_iterations"),
        *("stagger", "sum_loss"),
    },
    "agent": {"goal_in_rows"},
}
"""Options of earlier versions that are gone: agents trained with them load as ever."""
EARLIER_VALUES = {"learning": {"normalise_advantages": False, "learned_share": 1.0}}
"""What agents were trained with before an option existed, where it is not the default."""
RENAMED: dict[str, dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "agent": {
        "match": ("compare_places", lambda value: value),
        "match_start": ("comparison_gain", lambda value: value),
        "locate": ("state_in_rows", lambda value: value),
        "boundary": ("goal_as_successor", lambda value: value == "arrival"),
        "write": ("plan_with_newest", lambda value: value == "before"),
    },
    "learning": {"lambda_": ("vtrace_lambda", lambda value: value)},
}
"""New names, and values from the old ones."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that a run's results depend on."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    agent: Any = field(default_factory=EPNConfig)
    """Options of the agent."""
    learning: LearningConfig = field(default_factory=LearningConfig)
    """Options of learning."""
    recipe: Recipe = "fast"
    """What the options of agent and learning start from."""
    seed: Seed = 0
    """Seed of weights, worlds and actions (and of the search, in a sweep)."""
    steps: Count = 1_000_000
    """Environment steps of a whole run."""
    init_from: str | None = None
    """Start from the weights of an agent (a run's folder, an agent file or a pretrained agent's name), whose
    options are then the agent's, instead of fresh ones."""
    new_symbols: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow a world with more symbols than the agent of --init-from met; only fixed symbols can grow."""

    def __post_init__(self) -> None:
        check_options(self)

    def to_json(self) -> dict:
        """As JSON, with the names of world and agent."""
        data = asdict(self)
        data["world"] = {"name": domain_name(self.world), **data["world"]}
        data["agent"] = {"name": agent_name(self.agent), **data["agent"]}
        if self.init_from is None:
            del data["init_from"], data["new_symbols"]
        return {"version": rapidtask.__version__, **data}

    def make_agent(self, *, episode_steps: int | None = None) -> Agent:
        """The run's agent with fresh weights; its memory has room for episodes of so many steps."""
        spec = self.world.spec
        spec = dataclasses.replace(spec, episode_steps=episode_steps or spec.episode_steps)
        return self.agent.make(spec, self.seed)


def dotted(data: dict) -> dict[str, Any]:
    """Options of a run as JSON, by names like those of flags: world.size."""
    flat = {}
    for name, value in data.items():
        flat |= {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def run_config_from_json(data: dict) -> RunConfig:
    """The inverse of `RunConfig.to_json`; a field that is missing or unknown is named."""
    agent = _options(_agent_kind, data, "agent")
    learning = dict(data.get("learning", {}))
    if not isinstance(agent, EPNConfig):
        # Earlier versions named options of single steps for recurrent agents, without effect.
        learning |= {"learned_share": None, "ratio_clip": None}
    return RunConfig(
        world=_options(find_domain, data, "world"),
        agent=agent,
        learning=_build(LearningConfig, learning, "learning"),
        recipe=data.get("recipe", "fast"),
        seed=data.get("seed", 0),
        steps=data.get("steps", 1),
        init_from=data.get("init_from"),
        new_symbols=data.get("new_symbols", False),
    )


def parse_value(kind: Any, text: str, where: str) -> Any:
    """The value of an option of some type, spelled as on the command line; refused with `where` it stands."""
    try:
        with redirect_stderr(io.StringIO()):
            return tyro.cli(kind, args=[text.title() if kind is bool else text])
    except SystemExit:
        expected = getattr(kind, "__name__", kind)
        raise InputError(f"{where}: {text!r} is not what it takes ({expected})") from None


def agent_name(config: Any) -> str:
    """Name of the agent that the options belong to."""
    return next(name for name, kind in AGENTS.items() if isinstance(config, kind))


def modernise(part: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of one part of a configuration (world, agent, learning) as they are called now."""
    options = EARLIER_VALUES.get(part, {}) | options
    for name in REMOVED.get(part, ()):
        options.pop(name, None)
    for old, (new, value) in RENAMED.get(part, {}).items():
        if old in options:
            options[new] = value(options.pop(old))
    # Two options became one.
    if "compare_places" in options:
        in_attention = options.pop("comparison_gain", 4.0) is not None
        kind = "attention" if in_attention else "rows"
        options["comparisons"] = kind if options.pop("compare_places") else "none"
    if "attention" in options:
        k = options.pop("k", 50)
        options["recent_rows"] = k if options.pop("attention") == "nxk" else None
    if not options.pop("shuffle", True):
        options |= {"learned_share": None, "ratio_clip": None}
    return options


def _options(find: Callable[[str], type], data: dict, field_name: str) -> Any:
    options = dict(data.get(field_name, {}))
    name = options.pop("name", None)
    try:
        kind = find(str(name))
    except InputError as error:
        raise InputError(f"configuration: {field_name}.name is {name!r}: {error}") from None
    return _build(kind, options, field_name)


def _agent_kind(name: str) -> type:
    if name not in AGENTS:
        raise InputError(f"expected one of: {', '.join(AGENTS)}")
    return AGENTS[name]


def _build(kind: type, options: dict, field_name: str) -> Any:
    options = modernise(field_name, options)
    known = {f.name for f in dataclasses.fields(kind)}
    if unknown := sorted(options.keys() - known):
        raise InputError(f"configuration: {field_name} has no option {unknown[0]!r}")
    # JSON has no tuples.
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in options.items()})
