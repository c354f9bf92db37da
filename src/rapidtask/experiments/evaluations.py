"""What figures are made from: logged runs, trained agents, and evaluations, each of which is run once."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.warm_start import WarmStart
from rapidtask.envs.registry import MemoryPlanning, domain_name
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.evaluation import Scores
from rapidtask.evaluation.play import Episodes, episode_keys, play, play_batch
from rapidtask.evaluation.scores import score
from rapidtask.experiments.figure import NotAvailable
from rapidtask.experiments.logged_runs import PIXELS, LoggedRun, kind_label
from rapidtask.policies import Policy, make_policy
from rapidtask.policies.learned import make_learned_policy
from rapidtask.pretrained.cards import list_pretrained
from rapidtask.pretrained.load import fit_agent, load_pretrained
from rapidtask.runs.agent_files import agent_file, load_agent
from rapidtask.runs.config import RunConfig, agent_name

MAIN_LABELS = ("EPN", "MERLIN", "MRA", "LSTM")
"""The agents that the paper compares, in the order of tables and figures."""
NO_AGENT = "no trained agent: none is shipped, and no run has one"
NO_EPN = "no trained EPN: none is shipped, and none of the runs trained one"


@dataclass(frozen=True)
class TrainedAgent:
    """A trained agent that figures show."""

    label: str
    agent: Agent
    config: RunConfig
    source: str
    """Name of the shipped agent, or folder of the run."""
    steps: int = 0
    """Environment steps of its training."""

    @property
    def kind(self) -> str:
        """epn, lstm, merlin, mra or transformer."""
        return agent_name(self.config.agent)

    @property
    def observations(self) -> str:
        """What it sees: symbols or pixels."""
        return "pixels" if getattr(self.config.world, "frames", None) is not None else "symbols"


@dataclass
class Evaluations:
    """Runs, agents, and what agents and reference policies scored."""

    runs: Sequence[LoggedRun] = ()
    agents: dict[str, TrainedAgent] = field(default_factory=dict)
    """By label, in the order of the figures."""
    episodes: int = 2000
    """Episodes per evaluation."""
    seed: int = 7
    """Seed of the evaluations' worlds."""
    world: Any = field(default_factory=MemoryPlanning)
    """The world that agents are compared in: `MemoryPlanning` or `StreetLearn`."""
    frames: str | None = None
    """Directory of frame stores, for agents that see pixels."""
    pixel_episodes: int = 500
    """Most episodes per evaluation of an agent that sees pixels: each embeds dozens of frames."""
    say: Callable[[str], None] = lambda text: None
    """Told what is under way."""
    _completed: dict[tuple, np.ndarray] = field(default_factory=dict)
    _of_runs: dict[str, TrainedAgent] = field(default_factory=dict)

    @property
    def how(self) -> str:
        """How figures were measured, for the README."""
        return f"{self.episodes} episodes per evaluation"

    @property
    def main_agents(self) -> list[str]:
        """Labels of the agents that the paper compares, without variants of them."""
        return [label for label in self.agents if is_main(label)]

    def epn(self) -> TrainedAgent:
        """The EPN that figures about one agent show."""
        if "EPN" not in self.agents:
            raise NotAvailable(NO_EPN)
        return self.agents["EPN"]

    def find(self, name: str) -> TrainedAgent | None:
        """A trained agent by its label, or by its name of `load`; None if there is none."""
        return self.agents.get(name) or self._of_runs.get(name)

    def load(self, runs: Sequence[LoggedRun]) -> list[str]:
        """Load the agents of runs, as far as they have some; returns the names to evaluate them by."""
        names = {f"{run.label}, {run.folder}": run for run in runs}
        for name in names.keys() - self._of_runs.keys():
            if trained := agent_of(names[name]):
                self._of_runs[name] = trained
        return [name for name in names if name in self._of_runs]

    def seeds(self, label: str) -> list[str]:
        """Agents of the runs that differ from the one shown only by their seed; if none, its label alone."""
        shown = self.agents.get(label)
        same = [run for run in self.runs if shown is not None and same_but_seed(run.config, shown.config)]
        return self.load(same) or [label]

    def world_of(self, name: str, world: Any = None) -> Any:
        """The world, by default the common one, as an agent or policy is to see it."""
        world = world or self.world
        return dataclasses.replace(world, frames=self.frames) if self._sees_pixels(name) else world

    def policy(
        self,
        name: str,
        world: Any,
        *,
        greedy: bool = False,
        new_symbols: bool = False,
        warm_start: bool = False,
        **options,
    ) -> Policy:
        """A trained agent by its label, or a reference policy by its name, for a world."""
        environment = world.make()
        trained = self.find(name)
        if trained is None:
            return make_policy(name, environment)
        fitted, _ = fit_agent(trained.agent, trained.config, environment, new_symbols=new_symbols, **options)
        return make_learned_policy(WarmStart(fitted) if warm_start else fitted, environment, greedy=greedy)

    def fits(self, label: str, world: Any) -> bool:
        """Whether an agent's weights can act in a world, with new symbols if need be."""
        try:
            self.policy(label, self.world_of(label, world), new_symbols=True)
        except InputError as error:
            self.say(f"{label}: left out: {error}")
            return False
        return True

    def completed(self, name: str, world: Any = None, episodes: int | None = None, **options) -> np.ndarray:
        """Whether each step completed a task, `[T, E]`."""
        world, episodes = self.world_of(name, world), self._episodes(name, episodes)
        key = (name, world, episodes, tuple(sorted(options.items())))
        if key not in self._completed:
            self.say(f"{name}: {episodes} episodes of {world.episode_steps} steps")
            policy = self.policy(name, world, **options)
            self._completed[key] = play(world.make(), policy, episodes, self.seed).completed
        return self._completed[key]

    def scores(self, name: str, world: Any = None, episodes: int | None = None, **options) -> Scores:
        """Scores against the oracle in the same worlds."""
        oracle = self.completed("oracle", self.world_of(name, world), self._episodes(name, episodes))
        completed = self.completed(name, world, episodes, **options)
        return score(name, completed, oracle, seed=self.seed, sources=self.world.sources())

    def trace(self, name: str, episodes: int) -> Episodes:
        """Everything that happened in a few episodes."""
        self.say(f"{name}: {episodes} episodes, step by step")
        world = self.world_of(name)
        return play(world.make(), self.policy(name, world), episodes, self.seed)

    def time_episodes(self, name: str, world: Any, episodes: int, **options) -> tuple[np.ndarray, dict]:
        """Whether each step completed a task, `[T, E]`, and milliseconds per step and environment as columns.

        Processor time, summed over threads, hardly depends on what else the machine does; the clock does.
        """
        environment, policy = world.make(), self.policy(name, world, **options)
        keys = episode_keys(self.seed, episodes)
        compiled = play_batch.lower(environment, policy, keys).compile()
        wall, processor = time.perf_counter(), time.process_time()
        completed = compiled(environment, policy, keys).completed
        steps = world.episode_steps * episodes
        return completed, {
            "processor_ms_per_step": (time.process_time() - processor) * 1e3 / steps,
            "wall_ms_per_step": (time.perf_counter() - wall) * 1e3 / steps,
        }

    def _episodes(self, name: str, episodes: int | None) -> int:
        most = min(self.episodes, self.pixel_episodes) if self._sees_pixels(name) else self.episodes
        return min(episodes or most, most)

    def _sees_pixels(self, name: str) -> bool:
        trained = self.find(name)
        return trained is not None and trained.observations == "pixels"


def columns(scores: Scores, *names: str) -> dict[str, Any]:
    """Scores as columns of a table; a name that ends in "±" stands for the mean and its standard error."""
    found: dict[str, Any] = {}
    for name in names:
        plain = name.removesuffix("±")
        found[plain] = getattr(scores, plain)
        if plain != name:
            found[f"{plain}_stderr"] = getattr(scores, f"{plain}_stderr")
    return found


def gather(runs: Sequence[LoggedRun], *, shipped: bool = True, **settings: Any) -> Evaluations:
    """Runs, and of each kind of agent the shipped one, else the best run's.

    Agents that see pixels are left out if there are no frames. Settings are fields of `Evaluations`.
    """
    evaluations = Evaluations(runs, **settings)
    found: dict[str, TrainedAgent] = {}
    for card in list_pretrained() if shipped else []:
        if card.world == domain_name(evaluations.world):
            agent, config = load_pretrained(card.name)
            label = kind_label(config)
            # A second shipped agent of one kind is told apart by its own name.
            label = label if label not in found else card.name
            found[label] = TrainedAgent(label, agent, config, card.name, card.steps)
    for run in sorted(runs, key=lambda run: -run.final_goals):
        # A run without a checkpoint yet: its log still gives a curve.
        if run.label not in found and (trained := agent_of(run)):
            found[run.label] = trained
    for label in sorted(found, key=in_order):
        if evaluations.frames is not None or found[label].observations == "symbols":
            evaluations.agents[label] = found[label]
    return evaluations


def agent_of(run: LoggedRun) -> TrainedAgent | None:
    """The agent that a run trained; None if it has written none yet."""
    try:
        agent, config = load_agent(agent_file(run.folder))
    except InputError:
        return None
    return TrainedAgent(run.label, agent, config, f"run {run.folder.name}", run.steps)


def same_but_seed(one: RunConfig, other: RunConfig) -> bool:
    """Whether two runs have the same options, apart from seed, devices, and where frames are kept."""

    def common(config: RunConfig) -> RunConfig:
        learning = dataclasses.replace(config.learning, cpu_devices=1)
        world = config.world
        if isinstance(world, StreetLearn) and world.frames is not None:
            world = dataclasses.replace(world, frames="frames")
        return dataclasses.replace(config, world=world, learning=learning, seed=0)

    return common(one) == common(other)


def is_plain_epn(agent: TrainedAgent | LoggedRun, observations: str) -> bool:
    """Whether an EPN of streets differs from the one that figures show only in its thinking time."""
    config = agent.config
    return (
        isinstance(config.agent, EPNConfig)
        and config.agent.recent_rows is None
        and config.recipe == "fast"
        and agent.observations == observations
        and " intersections" not in agent.label
    )


def is_main(label: str) -> bool:
    """Whether a label is that of an agent that the paper compares, and of no variant."""
    return label.removesuffix(PIXELS) in MAIN_LABELS


def in_order(label: str) -> tuple:
    """Key to sort labels by: EPN first, then the rivals, then variants; symbols before pixels."""
    kind = label.removesuffix(PIXELS)
    place = MAIN_LABELS.index(kind) if kind in MAIN_LABELS else len(MAIN_LABELS)
    return (place, kind, label != kind)
