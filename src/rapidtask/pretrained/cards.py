"""The card of a shipped agent: how it was trained and what it scored, as JSON beside its weights.

`tools/ship_agent.py` writes both.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rapidtask.errors import InputError
from rapidtask.runs.checkpoint import SUFFIX

FOLDER = Path(__file__).parent
"""Where the weights and cards of the shipped agents are."""


@dataclass(frozen=True)
class Card:
    """How a shipped agent came to be."""

    name: str
    agent: str
    """Kind of agent: epn, lstm, merlin, mra or transformer."""
    world: str
    """Domain it was trained in."""
    recipe: str
    command: str
    """The command that trained it."""
    steps: int
    """Environment steps of its training, all phases counted."""
    minutes: float
    """Minutes of its training, all phases counted, compilation left out."""
    seed: int
    """Seed of the run that is shipped."""
    seeds: list[dict[str, Any]]
    """Each run with the same command, by its seed: goals at its end, steps, minutes."""
    machine: str
    """Where it was trained."""
    commit: str
    """Commit of the code that trained it."""
    date: str
    parameters: int
    """Numbers that were learned."""
    precision: str
    """Type that the weights are stored in; they are always used as float32."""
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    """`sampled` and `greedy` actions: goals per episode, share of the oracle, each with standard error."""
    notes: str = ""


def card_path(name: str, folder: Path | None = None) -> Path:
    """Where a shipped agent's card is kept."""
    return (folder or FOLDER) / f"{name}.json"


def weights_path(name: str, folder: Path | None = None) -> Path:
    """Where a shipped agent's weights are kept."""
    return (folder or FOLDER) / f"{name}{SUFFIX}"


def pretrained_names(folder: Path | None = None) -> list[str]:
    """Names of the shipped agents."""
    return sorted(path.stem for path in (folder or FOLDER).glob(f"*{SUFFIX}"))


def list_pretrained(folder: Path | None = None) -> list[Card]:
    """The cards of all shipped agents, those of the package or of a folder."""
    return [read_card(name, folder) for name in pretrained_names(folder)]


def find_pretrained(name: str, folder: Path | None = None) -> Path:
    """The weights of a shipped agent; an unknown name is refused with the known ones."""
    names = pretrained_names(folder)
    if name not in names:
        raise InputError(f"unknown pretrained agent {name!r}; known: {', '.join(names) or 'none'}")
    return weights_path(name, folder)


def read_card(name: str, folder: Path | None = None) -> Card:
    """Read a card; a field that is missing or unknown is named."""
    path = card_path(name, folder)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: the pretrained agent {name!r} has no card") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: not a card, expected a JSON object")
    fields = {f.name: f for f in dataclasses.fields(Card)}
    if unknown := sorted(data.keys() - fields.keys()):
        raise InputError(f"{path}: unknown field {unknown[0]!r}")
    required = {n for n, f in fields.items() if f.default is f.default_factory is dataclasses.MISSING}
    if missing := sorted(required - data.keys()):
        raise InputError(f"{path}: field {missing[0]!r} is missing")
    return Card(**data)
