"""Training curves of all agents with the reference policies (paper, Figure 2b)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rapidtask.experiments.material import MAIN_LABELS, Material, NotAvailable, Rows, in_order, is_main
from rapidtask.experiments.style import colour_of, new_figure, quiet, reference_lines

NAME = "training_curves"
TITLE = "Learning the Memory&Planning Game (paper, Figure 2b)"
CAPTION = (
    "Goals per episode on held-out worlds while training, recipe `fast`, sampled actions: thin lines are "
    "seeds, thick lines their mean, a dot the end of the longest run. Left against environment steps, "
    "right against minutes on this machine, compilation left out. Dashed: reference policies. The paper's "
    "agents trained for a number of steps believed to be of order 10⁹."
)

REFERENCES = ("within-task", "edges", "edges-inverse", "hand-coded", "oracle")
GRID_POINTS = 200


def curve_rows(material: Material, recipes: tuple[str, ...]) -> Rows:
    """Every evaluation that the runs logged."""
    return [
        {
            "agent": run.label,
            "observations": run.observations,
            "recipe": run.config.recipe,
            "run": run.folder.name,
            "seed": run.config.seed,
            "steps": record["steps"],
            "minutes": record["seconds"] / 60,
            "goals_per_episode": record["evaluation_goals_per_episode"],
            "oracle_share_last_third": record["evaluation_oracle_share_last_third"],
        }
        for run in material.runs
        if run.config.recipe in recipes and size_of(run.config.world) == size_of(material.world)
        for record in run.evaluations
    ]


def size_of(world: Any) -> int | None:
    """Side of a grid: goals on grids of different sizes do not belong on one axis."""
    return getattr(world, "size", None)


def reference_rows(material: Material, names: tuple[str, ...]) -> Rows:
    """Goals per episode of the reference policies."""
    return [
        {"agent": name, "recipe": "reference", "goals_per_episode": material.scores(name).goals_per_episode}
        for name in material.references(names)
    ]


def table(material: Material) -> Rows:
    """Evaluations of the runs with recipe `fast`, and reference policies."""
    rows = curve_rows(material, ("fast",))
    if not rows:
        raise NotAvailable("no run with evaluations in its log; name some with --runs")
    return rows + reference_rows(material, REFERENCES)


def main_table(material: Material) -> Rows:
    """The same without variants of the agents, which have figures of their own."""
    rows = [row for row in table(material) if row["recipe"] == "reference" or is_main(row["agent"])]
    if all(row["recipe"] == "reference" for row in rows):
        raise NotAvailable(f"no run of {', '.join(MAIN_LABELS)} with evaluations in its log")
    return rows


def plot(rows: Rows) -> Figure:
    """Curves against steps and against minutes; agents that see pixels below those that see symbols."""
    groups = sorted({row["observations"] for row in rows if "observations" in row}, reverse=True)
    figure = new_figure(8.6, 0.5 + 3.2 * len(groups))
    panels = figure.subplots(len(groups), 2, sharey=True, width_ratios=(1.15, 1), squeeze=False)
    handles: dict[str, Any] = {}
    for (by_steps, by_minutes), group in zip(panels, groups, strict=True):
        ours = [row for row in rows if row.get("observations", group) == group]
        draw_curves(by_steps, ours, "steps")
        draw_curves(by_minutes, ours, "minutes")
        most = max(row["steps"] for row in ours if "steps" in row)
        by_steps.set(xlabel="environment steps (millions)", ylabel="goals per episode")
        by_steps.xaxis.set_major_formatter(lambda value, place: f"{value / 1e6:g}")
        by_steps.set_xlim(0, most * 1.02)
        by_minutes.set(xlabel="minutes of training")
        by_minutes.set_xlim(left=0)
        if len(groups) > 1:
            by_steps.set_title(group)
        drawn, labels = by_steps.get_legend_handles_labels()
        handles |= dict(zip(labels, drawn, strict=True))
    figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=5)
    return figure


def draw_curves(axes: Axes, rows: Rows, x: str) -> None:
    """Thin lines for seeds, a thick one for the mean of each agent, and the reference lines."""
    curves = [row for row in rows if row["recipe"] != "reference"]
    references = [(row["agent"], row["goals_per_episode"]) for row in rows if row["recipe"] == "reference"]
    quiet(axes)
    for label in sorted({row["agent"] for row in curves}, key=in_order):
        seeds = []
        for run in dict.fromkeys(row["run"] for row in curves if row["agent"] == label):
            ours = [r for r in curves if (r["agent"], r["run"]) == (label, run)]
            points = [(r[x], r["goals_per_episode"]) for r in ours]
            seeds.append(np.asarray(sorted(points)).T)
        for places, goals in seeds:
            axes.plot(places, goals, color=colour_of(label), linewidth=0.8, alpha=0.4)
        places, mean = mean_curve(seeds)
        shown = f"{label} ({len(seeds)} seeds)" if len(seeds) > 1 else label
        axes.plot(places, mean, color=colour_of(label), linewidth=2.0, label=shown)
        axes.plot(places[-1], mean[-1], "o", markersize=4, color=colour_of(label))
    top = max([value for _, value in references], default=0.0)
    axes.set_ylim(0, max(top * 1.06, 1))
    if axes.get_subplotspec() is None or axes.get_subplotspec().is_last_col():  # pyright: ignore[reportOptionalMemberAccess]
        reference_lines(axes, references, least_gap=0.045 * top)
    else:
        for label, value in references:
            axes.axhline(value, color=colour_of(label), linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)


def mean_curve(curves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean of curves `[2, n]` at common places, as far as all of them go."""
    if len(curves) == 1:
        return curves[0][0], curves[0][1]
    first = max(curve[0, 0] for curve in curves)
    last = min(curve[0, -1] for curve in curves)
    if last <= first:  # they do not overlap: the longest stands for all
        longest = max(curves, key=lambda curve: curve[0, -1])
        return longest[0], longest[1]
    places = np.linspace(first, last, GRID_POINTS)
    return places, np.mean([np.interp(places, *curve) for curve in curves], axis=0)
