"""What figures about planners are made from: frozen EPNs, and distances decoded from them, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from rapidtask.agents.epn import EPN, EPNConfig
from rapidtask.agents.planner import AllToAll
from rapidtask.envs.episode import to_numpy
from rapidtask.envs.registry import MemoryPlanning, domain_name
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.experiments.evaluations import NO_EPN, Evaluations, TrainedAgent, gather
from rapidtask.experiments.figure import NotAvailable, Row
from rapidtask.experiments.logged_runs import LoggedRun
from rapidtask.experiments.planner.decoder import Decoders, decode, decoder_inputs, train_decoders
from rapidtask.experiments.planner.situations import Situations, all_states, sample_maps, sample_situations
from rapidtask.pretrained.load import fit_agent
from rapidtask.runs.config import RunConfig

DOMAINS = {"memory-planning": "Memory&Planning Game", "streetlearn": "One-Shot StreetLearn"}
"""Titles of the domains, by name."""
TRAINED, STRICT, UNTRAINED = "trained", "strict", "untrained"
"""How a planner came by its map: by learning; so too, but knowing neither the current state nor the newest
transition before the readout, as in the paper; or not at all (a control with fresh weights)."""
LONGEST = 28
"""Largest distance that has a class of its own, if there are so large ones."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A planner, and worlds to decode distances in."""

    domain: str
    name: str
    """What figures call the worlds."""
    origin: str
    """`TRAINED`, `STRICT` or `UNTRAINED`."""
    trained: TrainedAgent
    """The agent as it was trained."""
    agent: EPN
    """The same weights, fitted to the worlds."""
    worlds: Any
    """Options of the worlds that decoders are trained on."""
    test_worlds: Any
    """Options of those that they are tested on."""

    @property
    def columns(self) -> dict[str, str]:
        """What tells the rows of this setting apart in tables."""
        return {"domain": self.domain, "setting": self.name, "map": self.origin}

    @property
    def tested_in(self) -> Any:
        """The worlds of the test, on the host: a `World` of NumPy arrays."""
        return to_numpy(self.test_worlds.make().pool.worlds)


def setting_title(row: Row) -> str:
    """Title of the panel of a setting, from any of its rows."""
    return f"{DOMAINS[row['domain']]}\n{row['setting']}"


@dataclass(frozen=True, eq=False)
class Decoded:
    """Test situations as read by the decoders of every iteration (I) and seed (R)."""

    decoders: Decoders
    test: Situations
    log_likelihood: Float[np.ndarray, "I R K C"]
    """Of each distance in each situation."""
    fewest_pairs: int = 20
    """Distances with fewer pairs in the test are not reported."""

    @property
    def target(self) -> Int[np.ndarray, " K"]:
        """The true distance, with all beyond the last class in it."""
        return np.minimum(self.test.distance, self.log_likelihood.shape[-1] - 1)

    @property
    def of_truth(self) -> Float[np.ndarray, "I R K"]:
        """Log-likelihood of the true distance."""
        return np.take_along_axis(self.log_likelihood, self.target[None, None, :, None], axis=-1)[..., 0]

    @property
    def loss(self) -> Float[np.ndarray, "I R"]:
        """Mean cross-entropy in the test's worlds."""
        return -self.of_truth.mean(axis=-1)

    @property
    def right(self) -> Float[np.ndarray, "I R K"]:
        """1 where the likeliest distance is the true one."""
        return (self.log_likelihood.argmax(-1) == self.target).astype(float)

    @property
    def expected(self) -> Float[np.ndarray, "I R K"]:
        """Expected distance."""
        return np.exp(self.log_likelihood) @ np.arange(self.log_likelihood.shape[-1])

    @property
    def distances(self) -> list[int]:
        """Distances with enough pairs in the test; not the last class, which stands for all further ones."""
        counts = np.bincount(self.test.distance)[: self.log_likelihood.shape[-1] - 1]
        return [d for d in range(len(counts)) if counts[d] >= self.fewest_pairs]

    def accuracy(self, distance: int) -> Float[np.ndarray, "I R"]:
        """Share of pairs at this distance that are read correctly."""
        return self.right[..., self.test.distance == distance].mean(axis=-1)

    def likelihood(self, distance: int) -> Float[np.ndarray, "I R"]:
        """Mean likelihood of the truth at this distance."""
        return np.exp(self.of_truth[..., self.test.distance == distance]).mean(axis=-1)


@dataclass
class Decodings(Evaluations):
    """Planners and what was decoded from them; the label of an agent is its domain and origin."""

    train_situations: int = 8000
    """Situations that decoders learn from, each in a world of its own (streets: in one of the pool)."""
    test_situations: int = 3000
    """About as many situations to test them in: all states of as many worlds as it takes."""
    updates: int = 500
    """Updates of the decoders."""
    num_seeds: int = 3
    """Decoders of each iteration."""
    fewest_pairs: int = 20
    """Distances with fewer pairs in the test are not reported."""
    street_worlds: int = 1024
    """Neighbourhoods of training cities that decoders are trained on."""
    street_test_worlds: int = 256
    """Neighbourhoods of the held-out city that they are tested on."""
    _decoded: dict[tuple, Decoded] = field(default_factory=dict)

    @property
    def how(self) -> str:
        """How most figures were measured, for the README."""
        return (
            f"{self.num_seeds} decoder seeds, {self.updates} updates on {self.train_situations} situations, "
            f"about {self.test_situations} to test"
        )

    def settings(self, domain: str | None = None, origin: str = TRAINED) -> list[Setting]:
        """What the EPNs of an origin fit: per domain the worlds of training, then larger ones."""
        found: list[Setting] = []
        for name in DOMAINS if domain is None else (domain,):
            if (trained := self.agents.get(f"{name}, {origin}")) is None:
                continue
            for title, worlds, test_worlds in self._worlds(name):
                try:
                    agent, _ = fit_agent(trained.agent, trained.config, test_worlds.make(), new_symbols=True)
                except InputError as error:
                    self.say(f"{title}: left out: {error}")
                    continue
                assert isinstance(agent, EPN)
                assert isinstance(agent.planner, AllToAll)
                found.append(Setting(name, title, origin, trained, agent, worlds, test_worlds))
        if not found and origin == TRAINED:
            raise NotAvailable(NO_EPN if domain is None else f"{NO_EPN} in {DOMAINS[domain]}")
        return found

    def _worlds(self, domain: str) -> list[tuple[str, Any, Any]]:
        """Names and options of worlds for decoders to learn in and to be tested in; seeds of their own."""
        if domain == "memory-planning":
            # New symbols make a new world of the one torus.
            tori = (MemoryPlanning(), MemoryPlanning(size=6))
            return [(f"{torus.size}×{torus.size} torus", torus, torus) for torus in tori]
        near = StreetLearn(pool_size=self.street_worlds, seed=self.seed + 1)
        pools = {5: near, 12: replace(near, num_intersections=12)}
        test = {"pool_size": self.street_test_worlds, "seed": self.seed + 2}
        return [(f"{n} intersections", pool, replace(pool.held_out(), **test)) for n, pool in pools.items()]

    def decoded(self, setting: Setting) -> Decoded:
        """Distances decoded from a planner in all states of worlds that no decoder was trained on."""
        key = tuple(setting.columns.values())
        if key not in self._decoded:
            generator = np.random.default_rng((self.seed, list(DOMAINS).index(setting.domain)))
            learned_in, tested_in = to_numpy(setting.worlds.make().pool.worlds), setting.tested_in
            train = sample_situations(learned_in, self.train_situations, generator)
            count = max(1, round(self.test_situations / float(tested_in.num_states.mean())))
            test = sample_maps(tested_in, count, generator)
            self.say(f"{setting.name}, {setting.origin}: planning in {len(train)} situations")
            inputs = decoder_inputs(setting.agent, train)
            num_classes = min(LONGEST, int(train.distance.max())) + 2
            self.say(f"{setting.name}, {setting.origin}: training decoders")
            sizes = {"num_seeds": self.num_seeds, "updates": self.updates}
            decoders = train_decoders(inputs, num_classes, seed=self.seed, **sizes)
            self.say(f"{setting.name}, {setting.origin}: testing decoders")
            self._decoded[key] = self._read(setting, decoders, test)
        return self._decoded[key]

    def map_situations(self, setting: Setting, world: int, goal: int) -> Situations:
        """All states of one of the test's worlds, with symbols drawn from the seed."""
        worlds = setting.tested_in
        symbols = np.random.default_rng(self.seed).permutation(worlds.num_observations)
        symbols = symbols[None, : worlds.next_state.shape[1]].astype(np.int32)
        return all_states(worlds, np.array([world]), np.array([goal]), symbols)

    def decode_map(self, setting: Setting, situations: Situations) -> Decoded:
        """What the decoders of a setting say in other situations than the test's."""
        return self._read(setting, self.decoded(setting).decoders, situations)

    def _read(self, setting: Setting, decoders: Decoders, situations: Situations) -> Decoded:
        read = decode(decoders, decoder_inputs(setting.agent, situations))
        return Decoded(decoders, situations, read, self.fewest_pairs)


def gather_decodings(
    runs: Sequence[LoggedRun], *, shipped: bool = True, frames: str | None = None, **settings: Any
) -> Decodings:
    """Per domain the EPN that other figures show, the strict one, and a fresh one of the first one's shape.

    Agents that see pixels are not decoded: `frames` is unused. Other settings are fields of `Decodings`.
    """
    agents: dict[str, TrainedAgent] = {}
    for world in (MemoryPlanning(), StreetLearn()):
        domain = domain_name(world)
        ours = [run for run in runs if domain_name(run.config.world) == domain]
        found = gather(ours, shipped=shipped, world=world).agents.values()
        found = [trained for trained in found if can_be_decoded(trained.config)]
        if not found:
            continue
        shown = found[0]
        fresh = TrainedAgent("EPN", shown.config.make_agent(), shown.config, "fresh weights")
        agents |= {f"{domain}, {TRAINED}": shown, f"{domain}, {UNTRAINED}": fresh}
        agents |= {f"{domain}, {STRICT}": other for other in found[1:] if ", strict" in other.label}
    return Decodings(runs, agents, **settings)


def can_be_decoded(config: RunConfig) -> bool:
    """Whether it is an EPN of the usual worlds that sees symbols, plans, and lets all rows attend to all."""
    world, agent = config.world, config.agent
    if not isinstance(agent, EPNConfig) or agent.recent_rows is not None or agent.iterations < 1:
        return False
    if isinstance(world, MemoryPlanning):
        return world.size == MemoryPlanning().size
    return isinstance(world, StreetLearn) and world.frames is None and world.rules == "paper"
