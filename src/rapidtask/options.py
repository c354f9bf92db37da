"""Options of a dataclass, refused at once if they are of another type or out of range."""

from __future__ import annotations

import functools
import math
import sys
import types
import typing
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from rapidtask.errors import InputError


@dataclass(frozen=True)
class Range:
    """Numbers from the lowest to the highest, both allowed; NaN is in none."""

    lowest: float
    highest: float = math.inf

    def __str__(self) -> str:
        if self.lowest == sys.float_info.min:
            return "more than 0" + (f" and at most {self.highest:g}" if self.highest <= 1.0 else "")
        if self.highest < sys.float_info.max:
            return f"{self.lowest:g} to {self.highest:g}"
        return f"at least {self.lowest:g}" if self.lowest > -sys.float_info.max else "a finite number"


Count = Annotated[int, Range(1)]
CountOrZero = Annotated[int, Range(0)]
Seed = Annotated[int, Range(0, 2**63 - 1)]
Share = Annotated[float, Range(0.0, 1.0)]
Finite = Annotated[float, Range(-sys.float_info.max, sys.float_info.max)]
Weight = Annotated[float, Range(0.0, sys.float_info.max)]
Positive = Annotated[float, Range(sys.float_info.min, sys.float_info.max)]


def check_options(options: Any, prefix: str = "") -> None:
    """Refuse the first option that its annotation does not allow; the message starts with its name.

    Commands give the prefix of their flags, "--".
    """
    for name, hint in _hints(type(options)).items():
        value = getattr(options, name)
        if (expected := _refused(value, hint)) is not None:
            raise InputError(f"{prefix}{name} is {value!r}, expected {expected}")


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _refused(value: Any, hint: Any) -> str | None:
    """What was expected in place of a value; None if it is allowed."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        refused, ranges = _refused(value, arguments[0]), [a for a in arguments[1:] if isinstance(a, Range)]
        outside = [str(r) for r in ranges if refused is None and not r.lowest <= value <= r.highest]
        return refused or (outside[0] if outside else None)
    if origin in (typing.Union, types.UnionType):
        refusals = [_refused(value, argument) for argument in arguments]
        return None if None in refusals else " or ".join(r for r in refusals if r is not None)
    if origin is Literal:
        return None if value in arguments else f"one of: {', '.join(map(str, arguments))}"
    if origin is tuple and arguments[1:] == (...,):
        is_row = isinstance(value, tuple) and all(_refused(entry, arguments[0]) is None for entry in value)
        return None if is_row else f"a tuple of {arguments[0].__name__}"
    if hint in (int, float):
        allowed = int if hint is int else (int, float)
        is_number = isinstance(value, allowed) and not isinstance(value, bool)
        return None if is_number else "a whole number" if hint is int else "a number"
    if hint in (bool, str, type(None)):
        words = {bool: "True or False", str: "text", type(None): "None"}
        return None if isinstance(value, hint) else words[hint]
    return None
