"""What the figures of the analysis are made of: planners, and distances decoded from them, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rapidtask.agents.epn import EPN
from rapidtask.analysis.decoded import Decoded
from rapidtask.analysis.decoder import NUM_SEEDS, UPDATES, decode, train_decoders
from rapidtask.analysis.situations import Situations, Tables, sample_maps, sample_situations, tables_of
from rapidtask.analysis.subjects import (
    DOMAINS,
    TRAINED,
    Setting,
    find_subjects,
    planner_of,
    settings_of,
)
from rapidtask.analysis.summaries import decoder_inputs
from rapidtask.errors import InputError
from rapidtask.experiments.material import Contender, Material, NotAvailable
from rapidtask.experiments.runs import LoggedRun
from rapidtask.pretrained.load import fit_agent

LONGEST = 28
"""Largest distance that has a class of its own, if there are so large ones."""


@dataclass
class AnalysisMaterial(Material):
    """Planners and what was decoded from them."""

    subjects: dict[tuple[str, str], Contender] = field(default_factory=dict)
    """EPNs by domain and origin of their map."""
    train_situations: int = 8000
    """Situations that decoders learn from, each in a world of its own (streets: in one of the pool)."""
    test_situations: int = 3000
    """About as many situations to test them in: all states of as many worlds as it takes."""
    updates: int = UPDATES
    """Updates of the decoders."""
    num_seeds: int = NUM_SEEDS
    """Decoders of each iteration."""
    _decoded: dict[tuple, Decoded] = field(default_factory=dict)

    @property
    def how(self) -> str:
        """How most figures were measured, for the README."""
        return (
            f"{self.num_seeds} decoder seeds, {self.updates} updates on {self.train_situations} situations, "
            f"about {self.test_situations} to test"
        )

    def settings(self, domain: str) -> tuple[Setting, Setting]:
        """The worlds an agent of the domain was trained in, and larger ones."""
        return settings_of(domain, self.seed)

    def main_subjects(self) -> dict[str, str]:
        """Per domain that has a trained EPN, the origin of the map of the one that most figures show."""
        shown = {domain: TRAINED for domain in DOMAINS if (domain, TRAINED) in self.subjects}
        if not shown:
            raise NotAvailable("no trained EPN: none is shipped, and none of the runs trained one")
        return shown

    def main_settings(self) -> list[tuple[Setting, str]]:
        """Every setting that the trained EPNs fit, with the origin of their map."""
        return [
            (setting, origin)
            for domain, origin in self.main_subjects().items()
            for setting in self.settings(domain)
            if self.fits(setting, origin)
        ]

    def fits(self, setting: Setting, origin: str) -> bool:
        """Whether an EPN can act in a setting's worlds."""
        try:
            self.planner(setting, origin)
        except InputError as error:
            self.say(f"{setting.name}: left out: {error}")
            return False
        return True

    def planner(self, setting: Setting, origin: str) -> EPN:
        """The EPN of a setting's domain, fitted to its worlds."""
        subject = self.subjects[setting.domain, origin]
        environment = setting.test_worlds.make()
        fitted, config = fit_agent(subject.agent, subject.config, environment, new_symbols=True)
        return planner_of(Contender(subject.label, fitted, config, subject.source))

    def decoded(self, setting: Setting, origin: str) -> Decoded:
        """Distances decoded from an EPN's planner."""
        key = (setting.domain, setting.name, origin)
        if key not in self._decoded:
            planner = self.planner(setting, origin)
            generator = np.random.default_rng((self.seed, DOMAINS.index(setting.domain)))
            train = sample_situations(tables_of(setting.worlds.make().pool), self.train_situations, generator)
            test = self.sample_test(setting, generator)
            self.say(f"{setting.name}, {origin}: planning in {len(train)} situations")
            inputs = decoder_inputs(planner, train)
            num_classes = min(LONGEST, int(train.distance.max())) + 2
            self.say(f"{setting.name}, {origin}: training decoders")
            training = train_decoders(
                inputs, num_classes, seed=self.seed, num_seeds=self.num_seeds, updates=self.updates
            )
            self.say(f"{setting.name}, {origin}: testing decoders")
            read = decode(training.decoders, decoder_inputs(planner, test))
            self._decoded[key] = Decoded(training, test, read)
        return self._decoded[key]

    def sample_test(self, setting: Setting, generator: np.random.Generator) -> Situations:
        """All states of worlds that no decoder was trained on, each world with one goal."""
        tables = tables_of(setting.test_worlds.make().pool)
        count = max(1, round(self.test_situations / tables.num_states.mean()))
        return sample_maps(tables, count, generator)

    def test_tables(self, setting: Setting) -> Tables:
        """The tables of the test's worlds."""
        return tables_of(setting.test_worlds.make().pool)


def gather_analysis(
    runs: Sequence[LoggedRun], *, shipped: bool = True, folder: Path | None = None, **settings: Any
) -> AnalysisMaterial:
    """The material of the analysis.

    Args:
        runs: logged runs of any domain, for agents of which none is shipped.
        shipped: whether to use the agents that come with the package.
        folder: where these are, if not in the package.
        **settings: fields of `AnalysisMaterial`.
    """
    subjects = find_subjects(runs, shipped=shipped, folder=folder)
    labels = {f"{domain}, {origin}": contender for (domain, origin), contender in subjects.items()}
    return AnalysisMaterial(runs=runs, contenders=labels, subjects=subjects, **settings)
