"""The paper's recipe beside the fast one: what either teaches in the same time."""

from __future__ import annotations

from dataclasses import dataclass

from rapidtask.experiments import style
from rapidtask.experiments.curves import curve_rows, draw_curves, reference_rows
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Figure, NotAvailable, Table

BELIEVED_STEPS = 1e9
"""Order of magnitude of the paper's training; believed, not measured."""
LABELS = ("EPN", "EPN, recipe paper")


@dataclass(frozen=True, kw_only=True)
class Recipes(Figure[Evaluations]):
    """Training curves of the EPN with both recipes."""

    name: str = "recipes"
    title: str = "EPN: recipe `paper` beside recipe `fast`"
    caption: str = (
        "The same agent's goals per episode on held-out worlds against environment steps (logarithmic). "
        "`paper`: V-trace and RMSprop, the paper's block; it was run for as long as the curve goes, which is "
        "far shorter than the paper's training is believed to have been (order 10⁹ steps, shaded; an "
        "estimate, the paper gives no number that we know of). `fast`: residual block, comparisons given, "
        "and Muon."
    )
    references: tuple[str, ...] = ("within-task", "hand-coded", "oracle")

    def table(self, source: Evaluations) -> Table:
        """Evaluations of the all-to-all EPN's runs with both recipes, and reference policies."""
        rows = [row for row in curve_rows(source, ("fast", "paper")) if row["agent"] in LABELS]
        if not any(row["recipe"] == "paper" for row in rows):
            raise NotAvailable("no run of the EPN with recipe paper among --runs")
        return rows + reference_rows(source, self.references)

    def plot(self, rows: Table) -> Drawing:
        """Both recipes against the logarithm of steps, up to the paper's."""
        drawing = style.new_figure(6.8, 3.6)
        axes = drawing.subplots()
        draw_curves(axes, rows, "steps")
        axes.set_xscale("log")
        axes.set_xlim(0.8 * min(row["steps"] for row in rows if "steps" in row), 3 * BELIEVED_STEPS)
        shade = {"color": style.COLOURS["EPN, recipe paper"], "alpha": 0.18, "lw": 0}
        axes.axvspan(BELIEVED_STEPS / 3, 3 * BELIEVED_STEPS, **shade)
        words = {"ha": "center", "va": "bottom", "fontsize": 7.5, "color": style.FAINT}
        axes.annotate("the paper's\ntraining\n(believed)", (BELIEVED_STEPS, 1.0), **words)
        for line in axes.get_lines():
            label = str(line.get_label())
            if label.startswith("EPN") and "recipe" not in label:
                line.set_label(label.replace("EPN", "EPN, recipe fast"))
        axes.set(xlabel="environment steps", ylabel="goals per episode")
        style.shared_legend(drawing, ncols=2)
        return drawing
