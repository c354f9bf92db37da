"""How figures look: one colour per agent, quiet axes, lines over seeds, reference policies dashed."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Table
from rapidtask.policies import POLICIES

Y_LABELS = {GOALS: "goals per episode", SHARE: "share of the oracle, last third (%)"}
DASHED = (0, (4, 2))

INK = "#1f2937"
FAINT = "#6b7280"
GRID = "#e5e7eb"
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
    "hand-coded": "hand-coded",
}
"""Reference policies as figures call them."""

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
    if label in COLOURS:
        return COLOURS[label]
    return VARIANTS[sum(label.encode()) % len(VARIANTS)]


def name_of(label: str) -> str:
    """What a figure calls an agent or a reference policy."""
    return NAMES.get(label, label)


def plural(iterations: int) -> str:
    """ "1 iteration", "2 iterations"."""
    return f"{iterations} iteration" + ("" if iterations == 1 else "s")


def new_figure(width: float = 6.4, height: float = 3.6) -> Drawing:
    """An empty drawing, inches."""
    return Drawing(figsize=(width, height), layout="constrained")


def quiet(axes: Axes, *, grid: str = "y") -> None:
    """Faint grid lines behind the data."""
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)  # pyright: ignore[reportArgumentType]
    axes.tick_params(length=3)


def reference_lines(
    axes: Axes, values: Sequence[tuple[str, float]], *, least_gap: float = 0.0, named: bool = True
) -> None:
    """Horizontal lines, with their names at the right end, moved apart where they would overlap."""
    previous = -float("inf")
    for label, value in sorted(values, key=lambda item: item[1]):
        axes.axhline(value, color=colour_of(label), linewidth=1.0, linestyle=DASHED, zorder=1)
        if not named:
            continue
        previous = max(value, previous + least_gap)
        axes.annotate(
            f"{name_of(label)} {value:.1f}",
            (1.01, previous),
            xycoords=("axes fraction", "data"),
            fontsize=7.5,
            color=FAINT,
            va="center",
        )


def bars(
    axes: Axes,
    labels: Sequence[str],
    values: Sequence[float],
    errors: Sequence[float],
    *,
    form: str = "{:.1f}",
    colours: Sequence[str] | None = None,
) -> None:
    """Vertical bars with their value on top."""
    places = range(len(labels))
    drawn = axes.bar(
        places,
        values,
        yerr=errors,
        width=0.68,
        color=colours or [colour_of(label) for label in labels],
        error_kw={"elinewidth": 0.9, "ecolor": INK},
    )
    axes.bar_label(drawn, [form.format(value) for value in values], padding=2, fontsize=8, color=INK)
    axes.set_xticks(list(places), [fill(name_of(label), 11) for label in labels])
    axes.tick_params(axis="x", length=0)
    quiet(axes)


def line_style(label: str) -> dict[str, Any]:
    """How the line of an agent is drawn; reference policies are thin and dashed."""
    if label in POLICIES:
        return {"color": colour_of(label), "linewidth": 1.2, "linestyle": DASHED}
    return {"color": colour_of(label), "linewidth": 2.0, "linestyle": "-"}


def panels(
    rows: Table, key: str | Sequence[str], width: float, height: float, *, ylabel: str = "", **options
) -> tuple[Drawing, list[tuple[Axes, Table]]]:
    """A drawing with one panel for each value of the key columns, and the rows of each.

    Args:
        rows: the table.
        key: column or columns that tell panels apart.
        width: inches of each panel.
        height: inches of the drawing.
        ylabel: label of the first panel's axis.
        **options: of `Figure.subplots`.
    """
    columns = [key] if isinstance(key, str) else key
    groups: dict[tuple, Table] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row)
    drawing = new_figure(width * len(groups), height)
    axes = drawing.subplots(1, len(groups), squeeze=False, **options)[0]
    axes[0].set_ylabel(ylabel)
    for each in axes:
        quiet(each)
    return drawing, list(zip(axes, groups.values(), strict=True))


def shared_legend(drawing: Drawing, *, where: str = "upper", ncols: int = 4) -> None:
    """One legend above or below all panels."""
    found: dict[str, Any] = {}
    for axes in drawing.axes:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    place: Any = f"outside {where} center"
    drawing.legend(list(found.values()), list(found), loc=place, ncols=ncols)


def draw_lines(
    axes: Axes, rows: Table, x: str, y: str, *, line: str = "agent", colours: dict[str, str] | None = None
) -> None:
    """Means over seeds against x with whiskers, one line for each value of a column.

    Args:
        axes: where to draw.
        rows: scores, with the columns named here, their standard errors, and `agent`.
        x: column of the places.
        y: `SHARE` (drawn in percent) or `GOALS`.
        line: column that tells the lines apart.
        colours: colour of each line, if not that of its label.
    """
    factor = 100.0 if y == SHARE else 1.0
    for label in dict.fromkeys(row[line] for row in rows):
        ours = [row for row in rows if row[line] == label]
        agent = ours[0]["agent"]
        places = sorted({row[x] for row in ours})
        points = [mean_over_seeds([row for row in ours if row[x] == place], y, factor) for place in places]
        seeds = len({row.get("source") for row in ours})
        look = line_style(agent) | {"marker": "" if agent in POLICIES else "o", "markersize": 4.5}
        look["color"] = (colours or {}).get(label) or colour_of(label)
        shown = name_of(label) + (f" ({seeds} seeds)" if seeds > 1 else "")
        means, errors = zip(*points, strict=True)
        axes.errorbar(places, means, errors, label=shown, **look)
    axes.set_ylim(0, 106) if y == SHARE else axes.set_ylim(bottom=0)
    quiet(axes)


def mean_over_seeds(rows: Table, column: str, factor: float = 1.0) -> tuple[float, float]:
    """Mean over seeds and its standard error; of one seed, the standard error over its episodes."""
    values = np.asarray([row[column] for row in rows]) * factor
    if len(values) == 1:
        return float(values[0]), float(rows[0].get(f"{column}_stderr") or 0.0) * factor
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
