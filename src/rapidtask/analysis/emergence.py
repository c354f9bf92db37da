"""The map that learning brought about, and no map: the same decoding of a trained and a fresh planner."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rapidtask.analysis.decoding_accuracy import accuracy_rows
from rapidtask.analysis.decoding_reach import reach_rows
from rapidtask.analysis.drawing import iteration_colour, plural
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.subjects import DOMAIN_TITLES, DOMAINS, TRAINED, UNTRAINED
from rapidtask.experiments.material import Rows
from rapidtask.experiments.style import new_figure, quiet

NAME = "emergence"
TITLE = "What emerged: the same decoding of a trained planner and of a fresh one"
CAPTION = (
    "Accuracy of the decoded distance against the distance, in the worlds that agents were trained in, mean "
    "of three decoder seeds. Beside the trained planner one with fresh weights, which shows what decoders "
    "make of a planner that computes nothing in particular."
)
ORIGINS = (TRAINED, UNTRAINED)


def table(material: AnalysisMaterial) -> Rows:
    """Accuracy and reach of every planner there is, with what it is."""
    material.main_subjects()
    rows: Rows = []
    for domain in DOMAINS:
        near, _ = material.settings(domain)
        for origin in ORIGINS:
            subject = material.subjects.get((domain, origin))
            if subject is None or not material.fits(near, origin):
                continue
            decoded = material.decoded(near, origin)
            reached = {
                (row["iterations"], row["decoder_seed"]): row
                for row in reach_rows(near, origin, decoded, subject.config.agent.iterations)
            }
            kept = ("test_loss", "below_half_at_distance", "falls_below_half")
            for row in accuracy_rows(near, origin, decoded):
                of_seed = reached[row["iterations"], row["decoder_seed"]]
                row |= {name: of_seed[name] for name in kept}
                rows.append({**row, "agent": subject.label, "source": subject.source})
    return rows


def plot(rows: Rows) -> Figure:
    """One panel per domain and planner."""
    domains = [domain for domain in DOMAINS if any(row["domain"] == domain for row in rows)]
    origins = [origin for origin in ORIGINS if any(row["map"] == origin for row in rows)]
    figure = new_figure(2.9 * len(origins) + 0.4, 2.7 * len(domains) + 0.5)
    grid = figure.subplots(len(domains), len(origins), squeeze=False, sharey=True)
    for line, domain in zip(grid, domains, strict=True):
        for axes, origin in zip(line, origins, strict=True):
            ours = [row for row in rows if (row["domain"], row["map"]) == (domain, origin)]
            if not ours:
                axes.axis("off")
                axes.text(0.5, 0.5, "no such agent", ha="center", va="center", transform=axes.transAxes)
                continue
            quiet(axes)
            axes.axhline(50, color="#9ca3af", lw=1, ls=":")
            for iterations in sorted({row["iterations"] for row in ours}):
                distances = sorted({row["distance"] for row in ours})
                means = [
                    100 * np.mean(
                        [r["accuracy"] for r in ours if (r["iterations"], r["distance"]) == (iterations, d)]
                    )
                    for d in distances
                ]  # fmt: skip
                colour = iteration_colour(iterations)
                axes.plot(distances, means, "o-", color=colour, ms=2.6, lw=1.5, label=plural(iterations))
            # The recipe and the steps on a line each: panels are narrow.
            title = "\n".join([origin, *str(ours[0]["agent"]).split(", ")])
            axes.set(title=title, ylim=(0, 104), xlabel="distance to the goal (moves)")
            axes.title.set_fontsize(8)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        line[0].set_ylabel(f"{DOMAIN_TITLES[domain]}\ndecoded correctly (%)")
    drawn = next(axes for axes in grid.ravel() if axes.get_legend_handles_labels()[0])
    figure.legend(*drawn.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
