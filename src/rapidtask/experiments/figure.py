"""What a figure of an experiment is: a table, a drawing of it, and the words beside it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, dataclass_transform

from matplotlib.figure import Figure as Drawing

Row = dict[str, Any]
Table = list[Row]

GOALS = "goals_per_episode"
SHARE = "oracle_share_last_third"
"""Columns of most tables."""

Source = TypeVar("Source")
"""What tables are measured with: `Evaluations`, or a kind of them."""


class NotAvailable(Exception):
    """A figure that cannot be made of what is at hand; the message says what is missing."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Figure(ABC, Generic[Source]):
    """A figure; what it measures (sizes, numbers of episodes, reference policies) are its further fields.

    Every kind of figure is a frozen dataclass of keywords, without saying so.
    """

    title: str
    caption: str
    """What is to be seen, and how it was measured."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)

    @property
    def name(self) -> str:
        """Name of its files: `StepsToGoal` writes steps_to_goal.csv."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    @abstractmethod
    def table(self, source: Source) -> Iterable[Row]:
        """Measure, row by row. Raises `NotAvailable` if there is not what the figure shows."""

    @abstractmethod
    def plot(self, rows: Table) -> Drawing:
        """Draw the table."""


@dataclass(frozen=True)
class Experiment:
    """Figures that are made of the same runs and agents, and written to one folder."""

    title: str
    figures: tuple[Figure[Any], ...]
    """In the order of the README."""
    gather: Callable[..., Any]
    """Makes their `Source` of logged runs and settings."""
    domain: str | None = None
    """The domain that runs must be of; any, if None."""
