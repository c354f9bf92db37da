"""Accuracy of the decoded distance against the distance, per number of iterations (paper, Figure 4c)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rapidtask.analysis.decoded import Decoded
from rapidtask.analysis.drawing import iteration_colour, panels, plural, setting_title
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.subjects import Setting
from rapidtask.experiments.material import Rows

NAME = "decoding_accuracy"
TITLE = "How far the planner sees (paper, Figure 4c)"
CAPTION = (
    "Share of states whose distance to the goal is decoded correctly, against that distance, in worlds that "
    "neither agent nor decoder was trained on; mean of three decoder seeds, bars from the lowest to the "
    "highest. The dotted line is 50%. Where the planner cannot see that far, a decoder still says the "
    "commonest of the distances that are left, so that one of them may be right by guessing."
)


def table(material: AnalysisMaterial) -> Rows:
    """Accuracy per distance, decoder seed and number of iterations."""
    return [
        row
        for setting, origin in material.main_settings()
        for row in accuracy_rows(setting, origin, material.decoded(setting, origin))
    ]


def accuracy_rows(setting: Setting, origin: str, decoded: Decoded) -> Rows:
    """The rows of one setting and agent."""
    rows: Rows = []
    for distance in decoded.distances:
        likelihood = decoded.likelihood(distance)
        for (i, r), accuracy in np.ndenumerate(decoded.accuracy(distance)):
            rows.append(
                {
                    "domain": setting.domain,
                    "setting": setting.name,
                    "map": origin,
                    "iterations": i + 1,
                    "decoder_seed": r,
                    "distance": distance,
                    "accuracy": float(accuracy),
                    "likelihood_of_truth": float(likelihood[i, r]),
                    "pairs": int((decoded.test.distance == distance).sum()),
                }
            )
    return rows


def plot(rows: Rows) -> Figure:
    """One panel per setting."""
    figure, parts = panels(rows, ("domain", "setting"), 2.7, 3.3, sharey=True)
    for axes, ours in parts:
        axes.axhline(50, color="#9ca3af", lw=1, ls=":")
        for iterations in sorted({row["iterations"] for row in ours}):
            by_distance: dict[int, list[float]] = {}
            for row in ours:
                if row["iterations"] == iterations:
                    by_distance.setdefault(row["distance"], []).append(100 * row["accuracy"])
            distances = sorted(by_distance)
            means = np.asarray([np.mean(by_distance[d]) for d in distances])
            low, high = (np.asarray([f(by_distance[d]) for d in distances]) for f in (min, max))
            axes.errorbar(
                distances,
                means,
                np.maximum(np.stack([means - low, high - means]), 0),  # rounding makes equal ones differ
                color=iteration_colour(iterations),
                lw=1.6,
                elinewidth=0.8,
                marker="o",
                markersize=2.6,
                label=plural(iterations),
            )
        axes.set(title=setting_title(ours[0]), xlabel="distance to the goal (moves)", ylim=(0, 104))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    parts[0][0].set_ylabel("decoded correctly (%)")
    figure.legend(*parts[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure
