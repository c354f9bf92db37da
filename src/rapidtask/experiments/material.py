"""What figures are made of: logged runs, trained agents, and evaluations, each of which is run only once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rapidtask.agents.agent import Agent
from rapidtask.envs.registry import MemoryPlanning, domain_name
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.evaluation import Scores
from rapidtask.evaluation.play import Episodes, play
from rapidtask.evaluation.scores import score
from rapidtask.experiments.runs import PIXELS, LoggedRun, kind_label
from rapidtask.learning.agent_files import load_agent
from rapidtask.learning.run_config import RunConfig, agent_name
from rapidtask.policies import Policy, make_policy
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained.cards import list_pretrained
from rapidtask.pretrained.load import fit_agent, load_pretrained
from rapidtask.pretrained.ship import agent_file

Rows = list[dict[str, Any]]
"""A table: one dictionary per row."""

ExperimentWorld = MemoryPlanning | StreetLearn
"""Worlds that there are experiments in."""


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

    @property
    def observations(self) -> str:
        """What it sees: symbols or pixels."""
        return "pixels" if getattr(self.config.world, "frames", None) is not None else "symbols"


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
    world: Any = field(default_factory=MemoryPlanning)
    """The world that agents are compared in, an `ExperimentWorld`."""
    frames: str | None = None
    """Directory of frame stores, for agents that see pixels."""
    pixel_episodes: int = 500
    """Most episodes per evaluation of an agent that sees pixels: each embeds dozens of frames."""
    score_greedy: bool = True
    """Whether trained agents are scored with greedy actions too."""
    say: Callable[[str], None] = lambda text: None
    """Told what is under way."""
    _completed: dict[tuple, np.ndarray] = field(default_factory=dict)
    _seeds: dict[str, Contender] = field(default_factory=dict)

    @property
    def main_contenders(self) -> list[str]:
        """Labels of the agents that the paper compares, without variants of them."""
        return [label for label in self.contenders if is_main(label)]

    def epn(self) -> Contender:
        """The EPN that figures about one agent show."""
        for contender in self.contenders.values():
            if contender.label == "EPN":
                return contender
        raise NotAvailable("no trained EPN: none is shipped, and none of the runs trained one")

    def find(self, name: str) -> Contender | None:
        """A trained agent by its label, or by its name of `seeds`; None if there is none."""
        return self.contenders.get(name) or self._seeds.get(name)

    def seeds(self, label: str) -> list[str]:
        """Names of the agents of all runs that differ from the one shown only by their seed, itself included.

        Where there are no such runs, its label alone.
        """
        shown = self.contenders.get(label)
        names: list[str] = []
        for run in self.runs:
            if shown is None or not same_but_seed(run.config, shown.config):
                continue
            name = f"{label}, {run.folder.name}"
            if name not in self._seeds:
                try:
                    agent, config = load_agent(agent_file(run.folder))
                except InputError:
                    continue
                self._seeds[name] = Contender(label, agent, config, f"run {run.folder.name}")
            names.append(name)
        return names or [label]

    def references(self, names: Sequence[str]) -> list[str]:
        """Reference policies that differ from each other here.

        Where the world is no torus, the hand-coded agent is the planner over edges and their inverses.
        """
        if not isinstance(self.world, StreetLearn):
            return list(names)
        return list(dict.fromkeys("edges-inverse" if name == "hand-coded" else name for name in names))

    def world_of(self, name: str, world: ExperimentWorld | None = None) -> ExperimentWorld:
        """The world, by default the common one, as an agent or policy is to see it."""
        world = world or self.world
        assert world is not None
        contender = self.find(name)
        if isinstance(world, StreetLearn) and contender is not None and contender.observations == "pixels":
            return dataclasses.replace(world, frames=self.frames)
        return world

    def policy(
        self, name: str, world: ExperimentWorld, *, greedy: bool = False, new_symbols: bool = False, **options
    ) -> Policy:
        """A trained agent by its label, or a reference policy by its name, for a world."""
        environment = world.make()
        contender = self.find(name)
        if contender is None:
            return make_policy(name, environment)
        fitted, _ = fit_agent(
            contender.agent, contender.config, environment, new_symbols=new_symbols, **options
        )
        return make_learned_policy(fitted, environment, greedy=greedy)

    def completed(
        self, name: str, world: ExperimentWorld | None = None, episodes: int | None = None, **options
    ) -> np.ndarray:
        """Whether each step completed a task, `[T, E]`."""
        world, episodes = self.world_of(name, world), self._episodes(name, episodes)
        key = (name, world, episodes, tuple(sorted(options.items())))
        if key not in self._completed:
            self.say(f"{name}: {episodes} episodes of {world.episode_steps} steps, {describe(world)}")
            policy = self.policy(name, world, **options)
            self._completed[key] = play(world.make(), policy, episodes, self.seed).completed
        return self._completed[key]

    def scores(
        self, name: str, world: ExperimentWorld | None = None, episodes: int | None = None, **options
    ) -> Scores:
        """Scores against the oracle in the same worlds."""
        oracle = self.completed("oracle", self.world_of(name, world), self._episodes(name, episodes))
        completed = self.completed(name, world, episodes, **options)
        return score(name, completed, oracle, seed=self.seed, world={})

    def trace(self, name: str, episodes: int, seed: int | None = None, **options) -> Episodes:
        """Everything that happened in a few episodes; an evaluation over the same ones need not run again."""
        self.say(f"{name}: {episodes} episodes, step by step")
        world = self.world_of(name)
        policy = self.policy(name, world, **options)
        seed = self.seed if seed is None else seed
        trace = play(world.make(), policy, episodes, seed)
        if seed == self.seed:
            key = (name, world, episodes, tuple(sorted(options.items())))
            self._completed.setdefault(key, trace.completed)
        return trace

    def _episodes(self, name: str, episodes: int | None) -> int:
        episodes = episodes or self.episodes
        contender = self.find(name)
        if contender is not None and contender.observations == "pixels":
            return min(episodes, self.pixel_episodes)
        return episodes


def describe(world: ExperimentWorld) -> str:
    """A world in a few words."""
    if not isinstance(world, StreetLearn):
        return f"{world.size}×{world.size}"
    return f"{world.city}, {world.neighbourhoods.intersections} intersections"


def gather(
    runs: Sequence[LoggedRun], *, shipped: bool = True, folder: Path | None = None, **settings: Any
) -> Material:
    """The material of an experiment's figures.

    Of each kind of agent the shipped one is shown, else that of the best run. Agents that see pixels are
    left out if there are no frames.

    Args:
        runs: logged runs.
        shipped: whether to use the agents that come with the package.
        folder: where these are, if not in the package.
        **settings: fields of `Material`.
    """
    material = Material(runs, **settings)
    found: dict[str, Contender] = {}
    for card in list_pretrained(folder) if shipped else []:
        if card.world == domain_name(material.world):
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
    if material.frames is None:
        found = {label: c for label, c in found.items() if c.observations == "symbols"}
    material.contenders = dict(sorted(found.items(), key=lambda item: in_order(item[0])))
    return material


def same_but_seed(one: RunConfig, other: RunConfig) -> bool:
    """Whether two runs have the same options, apart from seed, devices, and where frames are kept."""

    def common(config: RunConfig) -> RunConfig:
        learning = dataclasses.replace(config.learning, cpu_devices=1)
        world = config.world
        if isinstance(world, StreetLearn) and world.frames is not None:
            world = dataclasses.replace(world, frames="frames")
        return dataclasses.replace(config, world=world, learning=learning, seed=0)

    return common(one) == common(other)


def is_main(label: str) -> bool:
    """Whether a label is that of an agent that the paper compares, and of no variant."""
    return label.removesuffix(PIXELS) in MAIN_LABELS


def in_order(label: str) -> tuple:
    """Key to sort labels by: EPN first, then the rivals, then variants; symbols before pixels."""
    kind = label.removesuffix(PIXELS)
    return (
        MAIN_LABELS.index(kind) if kind in MAIN_LABELS else len(MAIN_LABELS),
        kind,
        label != kind,
    )
