"""Configurations of earlier versions in today's names: agents that they trained load as ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

REMOVED = {
    "learning": {
        # Labels that could teach an agent.
        *("value_map_weight", "geometry", "ways", "advice"),
        *("passes", "rho_bar", "c_bar", "auxiliary_weight", "value_weight", "random_iterations"),
        *("stagger", "sum_loss"),
    },
    "agent": {"goal_in_rows"},
}
"""Options that are gone."""
EARLIER_VALUES = {"learning": {"normalise_advantages": False, "learned_share": 1.0}}
"""What agents were trained with before an option existed, where it is not the default."""
RENAMED: dict[str, dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "agent": {
        "match": ("compare_places", lambda value: value),
        "match_start": ("comparison_gain", lambda value: value),
        "locate": ("state_in_rows", lambda value: value),
        "boundary": ("goal_as_successor", lambda value: value == "arrival"),
        "write": ("plan_with_newest", lambda value: value == "before"),
    },
    "learning": {"lambda_": ("vtrace_lambda", lambda value: value)},
}
"""New names, and values from the old ones."""


def modernise(part: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of one part of a configuration (world, agent, learning) as they are called now."""
    options = EARLIER_VALUES.get(part, {}) | options
    for name in REMOVED.get(part, ()):
        options.pop(name, None)
    for old, (new, value) in RENAMED.get(part, {}).items():
        if old in options:
            options[new] = value(options.pop(old))
    # Two options became one.
    if "compare_places" in options:
        in_attention = options.pop("comparison_gain", 4.0) is not None
        kind = "attention" if in_attention else "rows"
        options["comparisons"] = kind if options.pop("compare_places") else "none"
    if "attention" in options:
        k = options.pop("k", 50)
        options["recent_rows"] = k if options.pop("attention") == "nxk" else None
    if not options.pop("shuffle", True):
        options |= {"learned_share": None, "ratio_clip": None}
    return options
