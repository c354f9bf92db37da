"""How the figures of the analysis look: one colour per iteration, one panel per setting."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure

from rapidtask.analysis.subjects import DOMAIN_TITLES
from rapidtask.experiments.material import Rows
from rapidtask.experiments.style import new_figure, quiet

LIKELIHOOD = LinearSegmentedColormap.from_list("likelihood", ["#e3e6eb", "#9ec5f4", "#2563eb", "#172554"])
"""From grey (wrong, or not known) to blue (known)."""
ATTENTION = LinearSegmentedColormap.from_list("attention", ["#e9ebef", "#fdba74", "#ea580c", "#7c2d12"])
GOAL = "#ea580c"


def iteration_colour(iteration: int, iterations: int = 6):
    """From light to dark as the planner thinks longer."""
    return colormaps["viridis_r"](0.12 + 0.88 * (iteration - 1) / max(1, iterations - 1))


def distance_colours() -> Colormap:
    """Bright near the goal, dark far from it."""
    return colormaps["viridis_r"]


def plural(iterations: int) -> str:
    """ "1 iteration", "2 iterations"."""
    return f"{iterations} iteration" + ("" if iterations == 1 else "s")


def panels(
    rows: Rows, key: Sequence[str], width: float = 3.1, height: float = 3.1, **options
) -> tuple[Figure, list[tuple[Axes, Rows]]]:
    """A figure with one panel for each value of the key columns, and the rows of each."""
    groups: dict[tuple, Rows] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    figure = new_figure(width * len(groups) + 0.4, height)
    axes = figure.subplots(1, len(groups), squeeze=False, **options)[0]
    for each in axes:
        quiet(each)
    return figure, list(zip(axes, groups.values(), strict=True))


def setting_title(row: dict) -> str:
    """Title of the panel of a setting."""
    return f"{DOMAIN_TITLES[row['domain']]}\n{row['setting']}"
