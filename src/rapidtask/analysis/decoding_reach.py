"""The distance at which decoding falls below 50%, and the loss, against the number of iterations."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rapidtask.analysis.decoded import Decoded, reach
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.subjects import DOMAIN_TITLES, Setting
from rapidtask.experiments.material import Rows
from rapidtask.experiments.style import new_figure, quiet

NAME = "decoding_reach"
TITLE = "What each iteration adds"
CAPTION = (
    "Left: cross-entropy of the decoded distance in new worlds. Right: the distance at which accuracy falls "
    "below 50%, between whole distances by interpolation; a triangle marks settings in which it never does, "
    "at the largest distance there is. Dots are three decoder seeds, lines their mean; the agents were "
    "trained with as many iterations as the ring marks."
)
COLOURS = {
    ("memory-planning", 0): "#93b4f5",
    ("memory-planning", 1): "#1d4ed8",
    ("streetlearn", 0): "#fdba74",
    ("streetlearn", 1): "#c2410c",
}
"""Of the two settings of each domain."""


def table(material: AnalysisMaterial) -> Rows:
    """Losses and reach per setting, number of iterations and decoder seed."""
    return [
        row
        for setting, origin in material.main_settings()
        for row in reach_rows(
            setting,
            origin,
            material.decoded(setting, origin),
            material.subjects[setting.domain, origin].config.agent.iterations,
        )
    ]


def reach_rows(setting: Setting, origin: str, decoded: Decoded, trained_iterations: int) -> Rows:
    """The rows of one setting and agent."""
    rows: Rows = []
    distances = decoded.distances
    accuracies = np.stack([decoded.accuracy(d) for d in distances], axis=-1)  # [I, R, distances]
    for (i, r), loss in np.ndenumerate(decoded.loss):
        distance, falls = reach(distances, accuracies[i, r])
        rows.append(
            {
                "domain": setting.domain,
                "setting": setting.name,
                "map": origin,
                "iterations": i + 1,
                "trained_iterations": trained_iterations,
                "decoder_seed": r,
                "training_loss": float(decoded.training.loss[i, r, -1]),
                "test_loss": float(loss),
                "test_accuracy": float(decoded.right[i, r].mean()),
                "below_half_at_distance": distance,
                "falls_below_half": int(falls),
                "largest_distance": distances[-1],
            }
        )
    return rows


def plot(rows: Rows) -> Figure:
    """Loss and reach against iterations."""
    figure = new_figure(8.4, 3.4)
    left, right = figure.subplots(1, 2)
    settings = list(dict.fromkeys((row["domain"], row["setting"]) for row in rows))
    for domain, setting in settings:
        ours = [row for row in rows if (row["domain"], row["setting"]) == (domain, setting)]
        place = [s for d, s in settings if d == domain].index(setting)
        colour = COLOURS[domain, min(place, 1)]
        label = f"{DOMAIN_TITLES[domain]}, {setting}"
        draw_against_iterations(left, ours, "test_loss", colour, label)
        draw_against_iterations(right, ours, "below_half_at_distance", colour, label)
    left.set(xlabel="planner iterations", ylabel="loss in new worlds (nats)", ylim=(0, None))
    right.set(xlabel="planner iterations", ylabel="distance where accuracy\nfalls below 50%", ylim=(0, None))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def draw_against_iterations(axes: Axes, rows: Rows, column: str, colour: str, label: str) -> None:
    """Seeds as dots, or triangles where accuracy never falls; their mean as a line."""
    quiet(axes)
    iterations = sorted({row["iterations"] for row in rows})
    means = [np.mean([row[column] for row in rows if row["iterations"] == i]) for i in iterations]
    axes.plot(iterations, means, color=colour, lw=1.8, label=label)
    for row in rows:
        open_ended = column == "below_half_at_distance" and not row["falls_below_half"]
        marker = "^" if open_ended else "o"
        axes.plot(row["iterations"], row[column], marker, color=colour, ms=5 if open_ended else 3)
    trained = rows[0]["trained_iterations"]
    if trained in iterations:
        at = means[iterations.index(trained)]
        axes.plot(trained, at, "o", ms=10, mfc="none", mec=colour, mew=1.1)
    axes.set_xticks(iterations)
