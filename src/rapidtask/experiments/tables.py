"""Rows of tables: those wanted, in groups, and as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import numpy as np

from rapidtask.experiments.figure import Row, Table


def where(rows: Table, **columns: Any) -> Table:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in columns.items())]


def group_by(rows: Iterable[Row], *columns: str) -> dict[Any, Table]:
    """The rows of each value of a column, or of each tuple of several, in order of appearance."""
    key, groups = itemgetter(*columns), {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def values(rows: Table, column: str) -> list:
    """The different values of a column, in ascending order."""
    return sorted({row[column] for row in rows})


def array(rows: Table, column: str) -> np.ndarray:
    """A column as an array."""
    return np.asarray([row[column] for row in rows])
