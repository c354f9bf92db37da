"""How figures look: one colour per agent, quiet axes, reference policies as labelled lines."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


def new_figure(width: float = 6.4, height: float = 3.6) -> Figure:
    """An empty figure, inches."""
    return Figure(figsize=(width, height), layout="constrained")


def quiet(axes: Axes, *, grid: str = "y") -> None:
    """Faint grid lines behind the data."""
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)  # pyright: ignore[reportArgumentType]
    axes.tick_params(length=3)


def reference_lines(axes: Axes, values: Sequence[tuple[str, float]], *, least_gap: float = 0.0) -> None:
    """Horizontal lines with their names at the right end, moved apart where they would overlap."""
    previous = -float("inf")
    for label, value in sorted(values, key=lambda item: item[1]):
        axes.axhline(value, color=colour_of(label), linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
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
