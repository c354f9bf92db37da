"""Which point of a space a trial tries: at random, or where finished trials say it may pay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from rapidtask.errors import InputError
from rapidtask.sweeps.space import Interval, Options, Space

SearchName = Literal["random", "bayes"]
NUM_RANDOM_FIRST = 8
"""Trials at random before the Bayesian search trusts its model."""


def propose(
    search: SearchName,
    space: Space,
    seed: int,
    trial: int,
    finished: Sequence[tuple[Options, float]],
) -> Options:
    """The point that a trial tries: a function of the arguments, so that a sweep can go on where it was.

    Args:
        search: how to choose.
        space: what to choose from.
        seed: of the sweep.
        trial: its number; a random search depends on nothing else.
        finished: points of finished trials and their scores.
    """
    if search == "random":
        return _random(space, np.random.default_rng([seed, trial]))
    return _bayesian(space, seed, trial, finished)


def _random(space: Space, random: np.random.Generator) -> Options:
    def draw(values) -> int | float:
        if isinstance(values, Interval):
            return math.exp(random.uniform(math.log(values.low), math.log(values.high)))
        return values.values[random.integers(len(values.values))]

    return {name: draw(values) for name, values in space.items()}


def _bayesian(space: Space, seed: int, trial: int, finished: Sequence[tuple[Options, float]]) -> Options:
    """Tree-structured Parzen estimator (Bergstra et al. 2011), from Optuna."""
    try:
        import optuna
        from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
    except ImportError:
        raise InputError("--search bayes needs Optuna: pip install 'rapidtask[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    distributions: dict[str, BaseDistribution] = {
        name: FloatDistribution(values.low, values.high, log=True)
        if isinstance(values, Interval)
        else CategoricalDistribution(values.values)
        for name, values in space.items()
    }
    own_seed = (seed * 100_003 + trial) % 2**32
    sampler = optuna.samplers.TPESampler(n_startup_trials=NUM_RANDOM_FIRST, seed=own_seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for options, score in finished:
        known = optuna.trial.create_trial(params=options, distributions=distributions, value=score)
        study.add_trial(known)
    return study.ask(distributions).params
