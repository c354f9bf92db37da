"""A decoded map: for every state of one world with a fixed goal, what each decoder says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from rapidtask.analysis.decoded import Decoded
from rapidtask.analysis.decoder import decode
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.situations import Situations, all_states
from rapidtask.analysis.subjects import Setting
from rapidtask.analysis.summaries import decoder_inputs


@dataclass(frozen=True, eq=False)
class DecodedMap:
    """Mean over decoder seeds."""

    situations: Situations
    distance: Int[np.ndarray, " S"]
    """True distance of each state to the goal."""
    likelihood: Float[np.ndarray, "I S"]
    """Likelihood of the true distance after each number of iterations."""
    expected: Float[np.ndarray, "I S"]
    """Expected distance."""


def map_situations(material: AnalysisMaterial, setting: Setting, world: int, goal: int) -> Situations:
    """All states of one of the test's worlds, with symbols drawn from the material's seed."""
    tables = material.test_tables(setting)
    symbols = np.random.default_rng(material.seed).permutation(tables.num_observations)
    symbols = symbols[None, : tables.next_state.shape[1]].astype(np.int32)
    return all_states(tables, np.array([world]), np.array([goal]), symbols)


def decode_map(
    material: AnalysisMaterial, setting: Setting, origin: str, world: int, goal: int
) -> DecodedMap:
    """Read the map of one world with the decoders of a setting."""
    situations = map_situations(material, setting, world, goal)
    trained = material.decoded(setting, origin)
    read = decode(trained.training.decoders, decoder_inputs(material.planner(setting, origin), situations))
    decoded = Decoded(trained.training, situations, read)
    return DecodedMap(
        situations,
        situations.distance,
        np.exp(decoded.of_truth).mean(axis=1),
        decoded.expected.mean(axis=1),
    )
