"""Whose planner is analysed, and in which worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rapidtask.agents.epn import EPN, EPNConfig
from rapidtask.agents.planner import AllToAll
from rapidtask.envs.registry import MemoryPlanning, domain_name
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.experiments.material import Contender
from rapidtask.experiments.runs import LoggedRun
from rapidtask.learning.agent_files import load_agent
from rapidtask.learning.run_config import RunConfig
from rapidtask.pretrained.cards import list_pretrained
from rapidtask.pretrained.load import load_pretrained
from rapidtask.pretrained.ship import agent_file

DOMAINS = ("memory-planning", "streetlearn")
DOMAIN_TITLES = {"memory-planning": "Memory&Planning Game", "streetlearn": "One-Shot StreetLearn"}

TRAINED, UNTRAINED = "trained", "untrained"
"""How a planner came by its map: by learning, or not at all (a control with fresh weights)."""

STREET_WORLDS = 1024
"""Neighbourhoods of training cities that decoders are trained on."""
STREET_TEST_WORLDS = 256
"""Neighbourhoods of the held-out city that they are tested on."""


@dataclass(frozen=True)
class Setting:
    """Worlds to decode distances in."""

    domain: str
    name: str
    """What figures call it."""
    worlds: Any
    """Options of the worlds that decoders are trained on."""
    test_worlds: Any
    """Options of those that they are tested on."""


def settings_of(domain: str, seed: int) -> tuple[Setting, Setting]:
    """The worlds that agents of a domain were trained in, and larger ones; seeds of their own."""
    if domain == "memory-planning":
        near, far = MemoryPlanning(), MemoryPlanning(size=6)
        # New symbols make a new world of the one torus.
        return Setting(domain, "4×4 torus", near, near), Setting(domain, "6×6 torus", far, far)
    near = StreetLearn(pool_size=STREET_WORLDS, seed=seed + 1)
    far = replace(near, num_intersections=12)
    test = {"pool_size": STREET_TEST_WORLDS, "seed": seed + 2}
    return (
        Setting(domain, "5 intersections", near, replace(near.held_out(), **test)),
        Setting(domain, "12 intersections", far, replace(far.held_out(), **test)),
    )


def describe(config: RunConfig, steps: int) -> str:
    """A trained agent in a few words: recipe and steps."""
    return f"recipe {config.recipe}, {steps / 1e6:.2g}M steps"


def find_subjects(
    runs: Sequence[LoggedRun], *, shipped: bool = True, folder: Path | None = None
) -> dict[tuple[str, str], Contender]:
    """The EPN to analyse in each domain, by (domain, origin of its map).

    Of those trained the shipped one, else that of the best run; and a fresh one of the same shape, as a
    control.
    """
    found: dict[tuple[str, str], Contender] = {}
    for card in list_pretrained(folder) if shipped else []:
        if card.agent == "epn":
            agent, config = load_pretrained(card.name, folder=folder)
            key = (card.world, TRAINED)
            if can_be_analysed(config) and key not in found:
                found[key] = Contender(describe(config, card.steps), agent, config, card.name)
    for run in sorted(runs, key=lambda run: -run.final_goals):
        key = (domain_name(run.config.world), TRAINED)
        if key in found or not can_be_analysed(run.config):
            continue
        try:
            agent, config = load_agent(agent_file(run.folder))
        except InputError:
            continue  # no checkpoint yet
        found[key] = Contender(describe(config, run.steps), agent, config, f"run {run.folder.name}")
    for domain in DOMAINS:
        model = found.get((domain, TRAINED))
        if model is not None:
            agent = model.config.make_agent()
            found[domain, UNTRAINED] = Contender("fresh weights", agent, model.config, "fresh weights")
    return found


def can_be_analysed(config: RunConfig) -> bool:
    """Whether it is an EPN of the usual worlds that sees symbols, plans, and lets all rows attend to all."""
    world, agent = config.world, config.agent
    if not isinstance(agent, EPNConfig) or agent.attention != "all_to_all" or agent.iterations < 1:
        return False
    if isinstance(world, MemoryPlanning):
        return world.size == MemoryPlanning().size
    return isinstance(world, StreetLearn) and world.frames is None and world.rules == "paper"


def planner_of(contender: Contender) -> EPN:
    """The agent, which `can_be_analysed` has found to be an EPN."""
    agent = contender.agent
    assert isinstance(agent, EPN)
    assert isinstance(agent.planner, AllToAll)
    return agent
