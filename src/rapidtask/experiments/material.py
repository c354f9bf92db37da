"""What figures are made of: logged runs, trained agents, and evaluations, each of which is run only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rapidtask.agents.agent import Agent
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError
from rapidtask.evaluation import Scores
from rapidtask.evaluation.episodes import EpisodeTrace, run_episodes, trace_episodes
from rapidtask.evaluation.scores import score
from rapidtask.experiments.runs import LoggedRun, kind_label
from rapidtask.learning.agent_files import load_agent
from rapidtask.learning.run_config import RunConfig, agent_name
from rapidtask.policies import Policy, make_policy
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained.cards import list_pretrained
from rapidtask.pretrained.load import fit_agent, load_pretrained
from rapidtask.pretrained.ship import agent_file

Rows = list[dict[str, Any]]
"""A table: one dictionary per row."""


MAIN_LABELS = ("EPN", "MERLIN", "MRA", "LSTM")
"""The agents that the paper compares, in the order of tables and figures."""


class NotAvailable(Exception):
    """A figure that cannot be drawn from the material at hand; the message says what is missing."""


@dataclass(frozen=True)
class Contender:
    """A trained agent that figures show."""

    label: str
    agent: Agent
    config: RunConfig
    source: str
    """Name of the shipped agent, or folder of the run."""

    @property
    def kind(self) -> str:
        """epn, lstm, merlin or mra."""
        return agent_name(self.config.agent)


@dataclass
class Material:
    """Runs, agents and evaluations."""

    runs: Sequence[LoggedRun] = ()
    contenders: dict[str, Contender] = field(default_factory=dict)
    """Trained agents by label, in the order of the figures."""
    episodes: int = 2000
    """Episodes per evaluation."""
    seed: int = 7
    """Seed of the evaluations' worlds."""
    world: MemoryPlanning = field(default_factory=MemoryPlanning)
    """The world that agents are compared in."""
    score_greedy: bool = True
    """Whether trained agents are scored with greedy actions too."""
    say: Callable[[str], None] = lambda text: None
    """Told what is under way."""
    _completed: dict[tuple, np.ndarray] = field(default_factory=dict)

    @property
    def main_contenders(self) -> list[str]:
        """Labels of the agents that the paper compares, without variants of them."""
        return [label for label in self.contenders if label in MAIN_LABELS]

    def epn(self) -> Contender:
        """The EPN that figures about one agent show."""
        for contender in self.contenders.values():
            if contender.label == "EPN":
                return contender
        raise NotAvailable("no trained EPN: none is shipped, and none of the runs trained one")

    def policy(
        self, name: str, world: MemoryPlanning, *, greedy: bool = False, new_symbols: bool = False, **options
    ) -> Policy:
        """A trained agent by its label, or a reference policy by its name, for a world."""
        environment = world.make()
        if name not in self.contenders:
            return make_policy(name, environment)
        contender = self.contenders[name]
        fitted, _ = fit_agent(
            contender.agent, contender.config, environment, new_symbols=new_symbols, **options
        )
        return make_learned_policy(fitted, environment, greedy=greedy)

    def completed(
        self, name: str, world: MemoryPlanning | None = None, episodes: int | None = None, **options
    ) -> np.ndarray:
        """Whether each step completed a task, `[T, E]`."""
        world, episodes = world or self.world, episodes or self.episodes
        key = (name, world, episodes, tuple(sorted(options.items())))
        if key not in self._completed:
            self.say(f"{name}: {episodes} episodes of {world.episode_steps} steps, {world.size}×{world.size}")
            policy = self.policy(name, world, **options)
            self._completed[key] = run_episodes(world.make(), policy, episodes, self.seed)
        return self._completed[key]

    def scores(
        self, name: str, world: MemoryPlanning | None = None, episodes: int | None = None, **options
    ) -> Scores:
        """Scores against the oracle in the same worlds."""
        oracle = self.completed("oracle", world, episodes)
        completed = self.completed(name, world, episodes, **options)
        return score(name, completed, oracle, seed=self.seed, world={})

    def trace(self, name: str, episodes: int, seed: int | None = None, **options) -> EpisodeTrace:
        """Everything that happened in a few episodes."""
        self.say(f"{name}: {episodes} episodes, step by step")
        policy = self.policy(name, self.world, **options)
        return trace_episodes(self.world.make(), policy, episodes, self.seed if seed is None else seed)


def gather(
    runs: Sequence[LoggedRun], *, shipped: bool = True, folder: Path | None = None, **settings: Any
) -> Material:
    """The material of the Memory&Planning figures.

    Of each kind of agent the shipped one is shown, else that of the best run.

    Args:
        runs: logged runs.
        shipped: whether to use the agents that come with the package.
        folder: where these are, if not in the package.
        **settings: fields of `Material`.
    """
    found: dict[str, Contender] = {}
    for card in list_pretrained(folder) if shipped else []:
        if card.world == "memory-planning":
            agent, config = load_pretrained(card.name, folder=folder)
            label = kind_label(config)
            # A second shipped agent of one kind is told apart by its own name.
            label = label if label not in found else card.name
            found[label] = Contender(label, agent, config, card.name)
    for run in sorted(runs, key=lambda run: -run.final_goals):
        if run.label not in found:
            try:
                agent, config = load_agent(agent_file(run.folder))
            except InputError:
                continue  # no checkpoint yet: its log still gives a curve
            found[run.label] = Contender(run.label, agent, config, f"run {run.folder.name}")
    return Material(runs, dict(sorted(found.items(), key=lambda item: in_order(item[0]))), **settings)


def in_order(label: str) -> tuple:
    """Key to sort labels by: EPN first, then the rivals, then variants."""
    return (MAIN_LABELS.index(label) if label in MAIN_LABELS else len(MAIN_LABELS), label)
