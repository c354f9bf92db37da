"""Grids of other sizes than trained on, with symbols never met."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import NO_EPN, Evaluations, columns
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Table


@dataclass(frozen=True, kw_only=True)
class LargerGrids(Figure[Evaluations]):
    """Share of the oracle against the size of the grid."""

    name: str = "larger_grids"
    title: str = "Beyond the paper: grids of other sizes"
    caption: str = (
        "Share of the oracle in the last third of the episode, on grids from 3×3 to 6×6. Episodes last 100 "
        "steps per 16 cells, so that there is time to explore. An EPN trained on 4×4 meets symbols on larger "
        "grids that it was never trained with (possible with fixed symbols only)."
    )
    sizes: tuple[int, ...] = (3, 4, 5, 6)
    references: tuple[str, ...] = ("within-task", "edges-inverse", "hand-coded", "oracle")
    episodes: int = 500

    def table(self, source: Evaluations) -> Table:
        """Scores per size of the EPNs and of reference policies."""
        epns = [
            label
            for label, trained in source.agents.items()
            if trained.kind == "epn" and trained.config.recipe == "fast"
        ]
        if not epns:
            raise NotAvailable(NO_EPN)
        rows: Table = []
        for size in self.sizes:
            world = replace(source.world, size=size, episode_steps=round(100 * size**2 / 16))
            for label in (*(epn for epn in epns if source.fits(epn, world)), *self.references):
                options = {"new_symbols": True} if label in source.agents else {}
                scores = source.scores(label, world, self.episodes, **options)
                row = {"agent": label, "size": size, "episode_steps": world.episode_steps}
                rows.append({**row, **columns(scores, f"{GOALS}±", f"{SHARE}±", "episodes")})
        return rows

    def plot(self, rows: Table) -> Drawing:
        """One line per agent; the size of training is shaded."""
        drawing = style.new_figure(5.6, 3.4)
        axes = drawing.subplots()
        style.draw_lines(axes, [row for row in rows if row["agent"] != "oracle"], "size", SHARE)
        sizes = sorted({row["size"] for row in rows})
        axes.set(ylabel=style.Y_LABELS[SHARE], xlabel="grid")
        axes.set_xticks(sizes, [f"{size}×{size}" for size in sizes])
        axes.axvspan(3.85, 4.15, color=style.colour_of("EPN"), alpha=0.07, lw=0)
        style.shared_legend(drawing)
        return drawing
