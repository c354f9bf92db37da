"""How figures look: one colour per agent, quiet axes, lines over seeds, reference policies dashed."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Table
from rapidtask.experiments.tables import array, group_by
from rapidtask.policies import POLICIES

Y_LABELS = {GOALS: "goals per episode", SHARE: "share of the oracle, last third (%)"}
FACTORS = {GOALS: 1.0, SHARE: 100.0}
"""Shares are drawn in percent."""
DASHED = (0, (4, 2))

INK = "#1f2937"
FAINT = "#6b7280"
GRID = "#e5e7eb"
WHISKERS = {"elinewidth": 0.9, "ecolor": INK}
COLOURS = {
    "EPN": "#2563eb",
    "MERLIN": "#ea580c",
    "MRA": "#9333ea",
    "LSTM": "#0d9488",
    "EPN, recipe paper": "#93b4f5",
    "EPN, 1 iteration": "#94a3b8",
    "EPN, 2 iterations": "#0ea5e9",
    "EPN, 4 iterations": "#2563eb",
    "EPN, 4 iterations, pixels": "#7aa2f7",
    "EPN, 8 iterations": "#1e3a8a",
    "EPN, random iterations": "#be185d",
    "EPN, intermediate nodes left out": "#2563eb",
    "EPN, intermediate nodes kept": "#be185d",
    "EPN, pixels": "#7aa2f7",
    "MERLIN, pixels": "#fdba74",
    "MRA, pixels": "#d8b4fe",
    "LSTM, pixels": "#7cd5cb",
    "random": "#d1d5db",
    "random-walk": "#c4c9d1",
    "within-task": "#9ca3af",
    "edges": "#9ca3af",
    "edges-inverse": "#848b98",
    "hand-coded": "#4b5563",
    "oracle": "#111827",
}
VARIANTS = ("#1e3a8a", "#60a5fa", "#0891b2", "#be185d")
"""Colours of agents without one of their own."""

NAMES = {
    "random-walk": "random walk",
    "within-task": "within-task optimum",
    "edges": "edge planner",
    "edges-inverse": "edge planner + inverses",
}
"""Reference policies as figures call them."""

LIKELIHOOD = LinearSegmentedColormap.from_list("likelihood", ["#e3e6eb", "#9ec5f4", "#2563eb", "#172554"])
"""From grey (wrong, or not known) to blue (known)."""
ATTENTION = LinearSegmentedColormap.from_list("attention", ["#e9ebef", "#fdba74", "#ea580c", "#7c2d12"])
DISTANCE = colormaps["viridis_r"]
"""Bright near the goal, dark far from it."""
GOAL = "#ea580c"

SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "rapidtask",
    "svg.fonttype": "path",
}


def colour_of(label: str) -> str:
    """The colour of an agent or a reference policy."""
    return COLOURS.get(label) or VARIANTS[sum(label.encode()) % len(VARIANTS)]


def iteration_colour(iteration: int):
    """From light to dark as the planner thinks longer, up to 16 iterations."""
    return colormaps["viridis_r"](0.12 + 0.22 * np.log2(iteration))


def name_of(label: str) -> str:
    """What a figure calls an agent or a reference policy."""
    return NAMES.get(label, label)


def plural(count: int, what: str = "iteration") -> str:
    """ "1 iteration", "2 iterations"."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def subplots(
    width: float, height: float, rows: int = 1, columns: int = 1, *, grid: Any = "y", **options
) -> tuple[Drawing, Any]:
    """A drawing, inches, and its axes as `Figure.subplots` gives them, with faint grid lines if any."""
    drawing = Drawing(figsize=(width, height), layout="constrained")
    axes = drawing.subplots(rows, columns, **options)
    for each in drawing.axes:
        each.set_axisbelow(True)
        each.tick_params(length=3)
        if grid:
            each.grid(axis=grid, color=GRID, linewidth=0.8)
    return drawing, axes


def reference_lines(axes: Axes, rows: Table, column: str = GOALS, *, named: bool = True) -> None:
    """Horizontal lines, with their names at the right end, moved apart where they would overlap."""
    least_gap = 0.05 * (100 if column == SHARE else max(array(rows, column), default=0.0))
    previous = -float("inf")
    for row in sorted(rows, key=lambda row: row[column]):
        label, value = row["agent"], FACTORS[column] * row[column]
        axes.axhline(value, color=colour_of(label), linewidth=1.0, linestyle=DASHED, zorder=1)
        previous = max(value, previous + least_gap)
        if named:
            words = f"{name_of(label)} {value:.1f}"
            across, look = axes.get_yaxis_transform(), {"fontsize": 7.5, "color": FAINT, "va": "center"}
            axes.text(1.01, previous, words, transform=across, **look)


def bars(
    axes: Axes,
    labels: Sequence[str],
    heights: Sequence[float],
    errors: Sequence[float],
    *,
    form: str = "{:.1f}",
    colours: Sequence[str] | None = None,
) -> None:
    """Vertical bars with their value on top."""
    places, colours = range(len(labels)), colours or [colour_of(label) for label in labels]
    drawn = axes.bar(places, heights, 0.68, yerr=errors, color=colours, error_kw=WHISKERS)
    axes.bar_label(drawn, fmt=form, padding=2, fontsize=8, color=INK)
    axes.set_xticks(places, [fill(name_of(label), 11) for label in labels])


def line_style(label: str, **marks: Any) -> dict[str, Any]:
    """How the line of an agent is drawn, with marks if any; reference policies are thin and dashed."""
    if label in POLICIES:
        return {"color": colour_of(label), "linewidth": 1.2, "linestyle": DASHED}
    return {"color": colour_of(label), "linewidth": 2.0, "linestyle": "-", **marks}


def panels(
    rows: Table, keys: Sequence[str], width: float, height: float, *, ylabel: str = "", **options
) -> tuple[Drawing, list[tuple[Axes, Table]]]:
    """A drawing with one panel of this width for each value of the key columns, and the rows of each."""
    groups = group_by(rows, *keys)
    drawing, axes = subplots(width * len(groups), height, 1, len(groups), squeeze=False, **options)
    axes[0, 0].set_ylabel(ylabel)
    return drawing, list(zip(axes[0], groups.values(), strict=True))


def shared_legend(drawing: Drawing, *, where: str = "upper", ncols: int = 4) -> None:
    """One legend above or below all panels."""
    found: dict[str, Any] = {}
    for axes in drawing.axes:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    place: Any = f"outside {where} center"
    drawing.legend(list(found.values()), list(found), loc=place, ncols=ncols)


def draw_lines(axes: Axes, rows: Table, x: str, y: str, *, line: str = "line") -> None:
    """Means over seeds of `SHARE` or `GOALS`, one line for each value of a column."""
    for label, ours in group_by(rows, line).items():
        points = group_by(ours, x).items()
        points = sorted((place, *mean_over_seeds(same, y, FACTORS[y])) for place, same in points)
        places, means, errors = zip(*points, strict=True)
        seeds = len({row.get("source") for row in ours})
        shown = name_of(label) + (f" ({seeds} seeds)" if seeds > 1 else "")
        look = line_style(ours[0]["agent"], marker="o", markersize=4.5, color=colour_of(label))
        axes.errorbar(places, means, errors, label=shown, **look)
    axes.set_ylim(0, 106) if y == SHARE else axes.set_ylim(bottom=0)


def draw_band(axes: Axes, rows: Table, x_column: str, y_column: str, **look) -> None:
    """A line, and two standard errors around it shaded."""
    x, y, error = (array(rows, name) for name in (x_column, y_column, f"{y_column}_stderr"))
    axes.plot(x, y, **look)
    axes.fill_between(x, y - 2 * error, y + 2 * error, color=look["color"], alpha=0.15, linewidth=0)


def mean_over_seeds(rows: Table, column: str, factor: float = 1.0) -> tuple[float, float]:
    """Mean over seeds and its standard error; of one seed, the standard error over its episodes."""
    found = array(rows, column) * factor
    if len(found) == 1:
        return float(found[0]), float(rows[0].get(f"{column}_stderr") or 0.0) * factor
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))
