"""What a sweep searches: intervals and choices of the options of learning and of the agent."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from rapidtask.agents.epn import EPNConfig
from rapidtask.errors import InputError
from rapidtask.runs.config import RunConfig, parse_value


class Interval(NamedTuple):
    """Any number from low to high, uniform in its logarithm."""

    low: float
    high: float


Space = dict[str, Interval | list]
"""An interval or a list of choices for each option that is searched, by its name: `learning.discount`."""
UNROLLS = "learning.minibatch_unrolls"
"""The size of a minibatch as the paper counts it, in unrolls; the option `minibatch_size` counts steps."""
LEARNING_RATE = "learning.learning_rate=1e-3:2e-2"
PAPER_TABLE = (
    "learning.learning_rate=1e-5:4e-4",
    "learning.entropy=1e-3:1e-2",
    "learning.discount=0.9,0.95",
    "learning.rollout_steps=10,20,40",
    f"{UNROLLS}=32,64,128",
)
"""The paper's table of hyper-parameters (appendix); its learning rates are RMSprop's."""
SPACES = {
    "fast": (LEARNING_RATE, "learning.entropy=1e-3:1e-1", "learning.discount=0.8,0.9,0.95,0.98"),
    "paper": PAPER_TABLE,
}
"""Spaces by the name of the recipe that they belong to."""


def read_space(words: Sequence[str], config: RunConfig) -> Space:
    """The space that the words of `--space` describe, the later ones added to the earlier.

    Each is an option with choices or an interval (`learning.discount=0.9,0.95`,
    `learning.learning_rate=1e-3:2e-2`), a file of such words, or the name of a space; by default that of the
    configuration's recipe. What is wrong is named: the flag or the file, and the option.
    """
    space: Space = {}
    for word in words or [config.recipe]:
        source, inside = "--space", [word]
        if word in SPACES:
            inside = named_space(word, config)
        elif "=" not in word:
            try:
                source, inside = word, shlex.split(Path(word).read_text(encoding="utf-8"), comments=True)
            except (OSError, ValueError):
                known = ", ".join(SPACES)
                raise InputError(f"--space {word}: not OPTION=VALUES, a file of them, or {known}") from None
        for option in inside:
            name, _, text = option.partition("=")
            space[name] = _parse_values(name, text, config, source)
    return space


def named_space(name: str, config: RunConfig) -> list[str]:
    """The words of a space as far as it fits the optimiser, and the paper's 1 to 4 heads of an EPN."""
    words = list(SPACES[name])
    if config.learning.optimiser != "rmsprop":
        words[0] = LEARNING_RATE
    if isinstance(config.agent, EPNConfig):
        words.append("agent.num_heads=" + ",".join(str(n) for n in (1, 2, 4) if config.agent.width % n == 0))
    return words


def _parse_values(name: str, text: str, config: RunConfig, source: str) -> Interval | list:
    """What `LOW:HIGH` or `A,B,C` stands for, each value spelled as on the command line."""
    part, _, field = name.partition(".")
    options = {"learning": config.learning, "agent": config.agent}.get(part)
    kind = int if name == UNROLLS else get_type_hints(type(options)).get(field)
    if kind is None:
        raise InputError(f"{source}: {name}: neither learning nor the agent has such an option")
    words = text.replace(":", ",").split(",")
    values = [parse_value(kind, word, f"{source}: {name}") for word in words]
    if ":" not in text:
        return values
    if len(values) != 2 or type(values[0]) not in (int, float) or not 0 < values[0] < values[1]:
        raise InputError(f"{source}: {name}: {text} is no interval LOW:HIGH of numbers, 0 < LOW < HIGH")
    return Interval(*values)


def with_point(config: RunConfig, point: dict[str, Any]) -> RunConfig:
    """The configuration with a point of its space put in; entropy keeps the shape of its schedule."""
    changes: dict[str, dict[str, Any]] = {"learning": {}, "agent": {}}
    for name, value in point.items():
        part, _, field = name.partition(".")
        changes[part][field] = value
    before, learning = config.learning, changes["learning"]
    if unrolls := learning.pop("minibatch_unrolls", None):
        unroll = learning.get("rollout_steps", before.rollout_steps) or config.world.spec.episode_steps + 1
        learning |= {"minibatch_size": unrolls * unroll, "num_envs": max(unrolls, before.num_envs)}
    if "entropy" in learning and before.entropy:
        learning.setdefault("entropy_end", learning["entropy"] * before.entropy_end / before.entropy)
    agent = replace(config.agent, **changes["agent"])
    return replace(config, learning=replace(before, **learning), agent=agent)
