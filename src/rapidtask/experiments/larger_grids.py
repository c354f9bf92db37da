"""Grids of other sizes than trained on, with symbols never met."""

from __future__ import annotations

import dataclasses

from matplotlib.figure import Figure

from rapidtask.errors import InputError
from rapidtask.experiments.material import Contender, Material, NotAvailable, Rows
from rapidtask.experiments.style import colour_of, name_of, new_figure, quiet

NAME = "larger_grids"
TITLE = "Beyond the paper: grids of other sizes"
CAPTION = (
    "Share of the oracle in the last third of the episode, on grids from 3×3 to 6×6. Episodes last 100 "
    "steps per 16 cells, so that there is time to explore. An EPN trained on 4×4 meets symbols on larger "
    "grids that it was never trained with (possible with fixed symbols only)."
)
SIZES = (3, 4, 5, 6)
REFERENCES = ("within-task", "edges-inverse", "hand-coded")
EPISODES = 500


def table(material: Material) -> Rows:
    """Scores per size of the EPNs and of reference policies."""
    epns = [c for c in material.contenders.values() if c.kind == "epn" and c.config.recipe == "fast"]
    if not epns:
        raise NotAvailable("no trained EPN: none is shipped, and none of the runs trained one")
    rows: Rows = []
    for size in SIZES:
        world = dataclasses.replace(material.world, size=size, episode_steps=round(100 * size**2 / 16))
        for label in (*(epn.label for epn in epns if fits(epn, material, world)), *REFERENCES, "oracle"):
            options = {"new_symbols": True} if label in material.contenders else {}
            scores = material.scores(label, world, min(EPISODES, material.episodes), **options)
            rows.append(
                {
                    "agent": label,
                    "size": size,
                    "episode_steps": world.episode_steps,
                    "goals_per_episode": scores.goals_per_episode,
                    "goals_per_episode_stderr": scores.goals_per_episode_stderr,
                    "oracle_share_last_third": scores.oracle_share_last_third,
                    "oracle_share_last_third_stderr": scores.oracle_share_last_third_stderr,
                    "episodes": scores.episodes,
                }
            )
    return rows


def fits(contender: Contender, material: Material, world) -> bool:
    """Whether an agent's weights can act in a world of this size."""
    try:
        material.policy(contender.label, world, new_symbols=True)
    except InputError as error:
        material.say(f"{contender.label}: left out at {world.size}×{world.size}: {error}")
        return False
    return True


def plot(rows: Rows) -> Figure:
    """Share of the oracle against the size of the grid."""
    figure = new_figure(5.6, 3.4)
    axes = figure.subplots()
    quiet(axes)
    for label in dict.fromkeys(row["agent"] for row in rows):
        if label == "oracle":
            continue
        points = [row for row in rows if row["agent"] == label]
        reference = label in REFERENCES
        axes.errorbar(
            [row["size"] for row in points],
            [100 * row["oracle_share_last_third"] for row in points],
            [100 * row["oracle_share_last_third_stderr"] for row in points],
            color=colour_of(label),
            marker="" if reference else "o",
            markersize=5,
            linewidth=1.2 if reference else 2.0,
            linestyle=(0, (4, 2)) if reference else "-",
            label=name_of(label),
        )
    sizes = sorted({row["size"] for row in rows})
    axes.set(ylabel="share of the oracle, last third (%)", xlabel="grid", ylim=(0, 106))
    axes.set_xticks(sizes, [f"{size}×{size}" for size in sizes])
    axes.axvspan(3.85, 4.15, color="#2563eb", alpha=0.07, lw=0)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
