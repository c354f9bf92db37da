"""The paper's recipe beside the fast one: what either teaches in the same time."""

from __future__ import annotations

from matplotlib.figure import Figure

from rapidtask.experiments.material import Material, NotAvailable, Rows
from rapidtask.experiments.style import COLOURS, FAINT, new_figure
from rapidtask.experiments.training_curves import curve_rows, draw_curves, reference_rows

NAME = "recipes"
TITLE = "EPN: recipe `paper` beside recipe `fast`"
CAPTION = (
    "The same agent's goals per episode on held-out worlds against environment steps (logarithmic). "
    "`paper`: V-trace and RMSprop, the paper's block; it was run for as long as the "
    "curve goes, which is far shorter than the paper's training is believed to have been (order 10⁹ "
    "steps, shaded; an estimate, the paper gives no number that we know of). `fast`: residual "
    "block, comparisons given, and Muon."
)
BELIEVED_STEPS = 1e9
"""Order of magnitude of the paper's training; believed, not measured."""
REFERENCES = ("within-task", "hand-coded", "oracle")


def table(material: Material) -> Rows:
    """Evaluations of the all-to-all EPN's runs with both recipes, and reference policies."""
    rows = [row for row in curve_rows(material, ("fast", "paper")) if row["agent"] in LABELS]
    if not any(row["recipe"] == "paper" for row in rows):
        raise NotAvailable("no run of the EPN with recipe paper among --runs")
    return rows + reference_rows(material, REFERENCES)


LABELS = ("EPN", "EPN, recipe paper")


def plot(rows: Rows) -> Figure:
    """Both recipes against the logarithm of steps, up to the paper's."""
    figure = new_figure(6.8, 3.6)
    axes = figure.subplots()
    draw_curves(axes, rows, "steps")
    first = min(row["steps"] for row in rows if "steps" in row)
    axes.set_xscale("log")
    axes.set_xlim(first * 0.8, 3 * BELIEVED_STEPS)
    axes.axvspan(BELIEVED_STEPS / 3, 3 * BELIEVED_STEPS, color=COLOURS["EPN, recipe paper"], alpha=0.18, lw=0)
    axes.annotate(
        "the paper's\ntraining\n(believed)",
        (BELIEVED_STEPS, 1.0),
        ha="center",
        va="bottom",
        fontsize=7.5,
        color=FAINT,
    )
    for line in axes.get_lines():
        label = str(line.get_label())
        if label.startswith("EPN") and "recipe" not in label:
            line.set_label(label.replace("EPN", "EPN, recipe fast"))
    axes.set(xlabel="environment steps", ylabel="goals per episode")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
