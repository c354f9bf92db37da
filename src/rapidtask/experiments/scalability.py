"""All-to-all against the k most recent rows against unique rows (the paper's scalability figure)."""

from __future__ import annotations

from matplotlib.figure import Figure

from rapidtask.experiments.material import Contender, Material, NotAvailable, Rows
from rapidtask.experiments.style import bars, new_figure
from rapidtask.experiments.timing import time_episodes

NAME = "scalability"
TITLE = "Planning over all rows, over k, and over unique rows"
CAPTION = (
    "All-to-all and unique are the same weights with two forms of memory: one row per step, or one "
    "counted row per different transition. N×k (k = 50) is an agent of its own, trained on counted rows: "
    "the 50 different transitions experienced last plan; of steps, the same weights with one row per step, "
    "so that the 50 last steps plan, as in the paper. "
    "Right: processor milliseconds per step of one environment, acting in a batch."
)
TIMED_EPISODES = 64


def table(material: Material) -> Rows:
    """Scores and cost of the planners."""
    epn = material.epn()
    variants: list[tuple[str, Contender, dict]] = [
        ("all-to-all", epn, {"memory": "all"}),
        ("unique", epn, {"memory": "unique"}),
    ]
    for contender in material.contenders.values():
        config = contender.config
        if getattr(config.agent, "attention", "") == "nxk" and config.recipe == epn.config.recipe:
            name = f"N×k (k={config.agent.k})"
            variants.append((name, contender, {"memory": "unique"}))
            variants.append((f"{name} of steps", contender, {"memory": "all"}))
    if len(variants) < 3:
        material.say("no agent with attention=nxk among the shipped ones and the runs")
    rows: Rows = []
    for name, contender, options in variants:
        scores = material.scores(contender.label, **options)
        timed = time_episodes(material, contender.label, material.world, TIMED_EPISODES, **options)
        most = rows[0]["goals_per_episode"] if rows else scores.goals_per_episode
        if not most:
            raise NotAvailable("the EPN reaches no goal yet: nothing to compare")
        rows.append(
            {
                "planner": name,
                "agent": contender.label,
                "goals_per_episode": scores.goals_per_episode,
                "goals_per_episode_stderr": scores.goals_per_episode_stderr,
                "share_of_all_to_all": scores.goals_per_episode / most,
                "oracle_share_last_third": scores.oracle_share_last_third,
                "oracle_share_last_third_stderr": scores.oracle_share_last_third_stderr,
                **timed.columns(),
            }
        )
    return rows


def plot(rows: Rows) -> Figure:
    """Goals, and cost."""
    figure = new_figure(8.6, 3.2)
    left, right = figure.subplots(1, 2)
    names = [row["planner"] for row in rows]
    colours = ["#2563eb", "#60a5fa", "#1e3a8a", "#6366f1"][: len(rows)]
    goals = [row["goals_per_episode"] for row in rows]
    errors = [row["goals_per_episode_stderr"] for row in rows]
    bars(left, names, goals, errors, form="{:.2f}", colours=colours)
    left.set(ylabel="goals per episode", ylim=(0, max(goals) * 1.15))
    times = [row["processor_ms_per_step"] for row in rows]
    bars(right, names, times, [0.0] * len(rows), form="{:.2f}", colours=colours)
    right.set(ylabel="processor ms per step", ylim=(0, max(times) * 1.15))
    return figure
