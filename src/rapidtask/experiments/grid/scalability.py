"""All-to-all against the k most recent rows against unique rows (the paper's scalability figure)."""

from __future__ import annotations

from dataclasses import dataclass

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations, TrainedAgent, columns
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Table
from rapidtask.experiments.timing import time_episodes

SHADES = ("#2563eb", "#60a5fa", "#1e3a8a", "#6366f1")


@dataclass(frozen=True, kw_only=True)
class Scalability(Figure[Evaluations]):
    """Score and cost of planners over more and fewer rows."""

    name: str = "scalability"
    title: str = "Planning over all rows, over k, and over unique rows"
    caption: str = (
        "All-to-all and unique are the same weights with two forms of memory: one row per step, or one "
        "counted row per different transition. N×k (k = 50) is an agent of its own, trained on counted rows: "
        "the 50 different transitions experienced last plan; of steps, the same weights with one row per "
        "step, so that the 50 last steps plan, as in the paper. Right: processor milliseconds per step of "
        "one environment, acting in a batch."
    )
    timed_episodes: int = 64

    def table(self, source: Evaluations) -> Table:
        """Scores and cost of the planners."""
        epn = source.epn()
        variants: list[tuple[str, TrainedAgent, str]] = [
            ("all-to-all", epn, "all"),
            ("unique", epn, "unique"),
        ]
        for trained in source.agents.values():
            config = trained.config
            if getattr(config.agent, "recent_rows", None) and config.recipe == epn.config.recipe:
                name = f"N×k (k={config.agent.recent_rows})"
                variants += [(name, trained, "unique"), (f"{name} of steps", trained, "all")]
        if len(variants) < 3:
            source.say("no agent with recent_rows among the shipped ones and the runs")
        rows: Table = []
        for name, trained, memory in variants:
            scores = source.scores(trained.label, memory=memory)
            _, cost = time_episodes(source, trained.label, source.world, self.timed_episodes, memory=memory)
            most = rows[0][GOALS] if rows else scores.goals_per_episode
            if not most:
                raise NotAvailable("the EPN reaches no goal yet: nothing to compare")
            row = {"planner": name, "agent": trained.label, **columns(scores, f"{GOALS}±")}
            row["share_of_all_to_all"] = scores.goals_per_episode / most
            rows.append({**row, **columns(scores, f"{SHARE}±"), **cost})
        return rows

    def plot(self, rows: Table) -> Drawing:
        """Goals, and cost."""
        drawing = style.new_figure(8.6, 3.2)
        names = [row["planner"] for row in rows]
        for axes, column, label in zip(
            drawing.subplots(1, 2),
            (GOALS, "processor_ms_per_step"),
            ("goals per episode", "processor ms per step"),
            strict=True,
        ):
            values = [row[column] for row in rows]
            errors = [row.get(f"{column}_stderr", 0.0) for row in rows]
            style.bars(axes, names, values, errors, form="{:.2f}", colours=SHADES[: len(rows)])
            axes.set(ylabel=label, ylim=(0, max(values) * 1.15))
        return drawing
