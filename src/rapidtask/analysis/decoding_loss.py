"""Training loss of the distance decoders, for each number of planner iterations (supplementary figure a)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rapidtask.analysis.drawing import iteration_colour, panels, plural, setting_title
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.experiments.material import Rows

NAME = "decoding_loss"
TITLE = "Decoding the distance to the goal: training loss (paper, supplementary figure a)"
CAPTION = (
    "The EPN is frozen and its policy network replaced by a decoder of the same size, trained to classify "
    "the distance from a random state to a random goal; the memory holds every transition of a new world. "
    "Cross-entropy (nats) while training, for decoders that read the planner after 1 to 6 iterations: thin "
    "lines are three decoder seeds, thick lines their mean. The first torus and the streets of 5 "
    "intersections are what the agents were trained in; the others are larger than any they met."
)


def table(material: AnalysisMaterial) -> Rows:
    """Loss along the training of each decoder."""
    rows: Rows = []
    for setting, origin in material.main_settings():
        training = material.decoded(setting, origin).training
        for (i, r, p), loss in np.ndenumerate(training.loss):
            rows.append(
                {
                    "domain": setting.domain,
                    "setting": setting.name,
                    "map": origin,
                    "iterations": i + 1,
                    "decoder_seed": r,
                    "update": int(training.update[p]),
                    "training_loss": float(loss),
                }
            )
    return rows


def plot(rows: Rows) -> Figure:
    """One panel per setting."""
    figure, parts = panels(rows, ("domain", "setting"), 2.7, 3.3)
    for axes, ours in parts:
        for iterations in sorted({row["iterations"] for row in ours}):
            curves = [
                sorted(
                    (row["update"], row["training_loss"])
                    for row in ours
                    if (row["iterations"], row["decoder_seed"]) == (iterations, seed)
                )
                for seed in sorted({row["decoder_seed"] for row in ours})
            ]
            points = np.asarray(curves)
            colour = iteration_colour(iterations)
            for curve in points:
                axes.plot(curve[:, 0], curve[:, 1], color=colour, lw=0.6, alpha=0.5)
            mean = points.mean(axis=0)
            axes.plot(mean[:, 0], mean[:, 1], color=colour, lw=1.8, label=plural(iterations))
        axes.set(title=setting_title(ours[0]), xlabel="updates", ylim=(0, None))
    parts[0][0].set_ylabel("training loss (nats)")
    figure.legend(*parts[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure
