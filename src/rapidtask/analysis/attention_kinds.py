"""What rows the planner looks at, iteration by iteration, over many worlds."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rapidtask.analysis.attention import KINDS, attention_weights, relations
from rapidtask.analysis.drawing import panels, setting_title
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.situations import sample_situations
from rapidtask.analysis.summaries import ITERATIONS
from rapidtask.experiments.material import Rows

NAME = "attention_kinds"
TITLE = "What the planner looks at"
CAPTION = (
    "Share of a row's attention that goes to rows that go on from where it leads, that lead to where it "
    "starts, that start or end where it does, to itself, and to all others; mean over rows and 32 new "
    "worlds. The first bar is attention spread evenly. Line: of the attention to rows that go on, the share "
    "on those that bring the agent closest to the goal, as the maximum of value iteration would; dotted: if "
    "they were chosen evenly."
)
WORLDS = 32
COLOURS = dict(zip(KINDS, ("#2563eb", "#0d9488", "#93b4f5", "#99d5cd", "#d1d5db", "#eceef1"), strict=True))
EVENLY = 0
"""Number of iterations that stands for attention spread evenly."""


def table(material: AnalysisMaterial) -> Rows:
    """Shares per setting that agents were trained in and number of the iteration."""
    rows: Rows = []
    for setting, origin in material.main_settings():
        tables = material.test_tables(setting)
        situations = sample_situations(tables, WORLDS, np.random.default_rng(material.seed))
        memory = situations.memories(int(situations.num_rows.max()))
        planner = material.planner(setting, origin)
        weights, _ = attention_weights(planner, memory, situations.timesteps(), ITERATIONS)
        # After the head mean: [I, B, N, N]
        looked = np.asarray(weights).mean(axis=2)
        used = np.asarray(memory.mask)
        evenly = used[:, None, :] / used.sum(axis=1)[:, None, None] * np.ones_like(looked[0])
        kinds = relations(memory)
        best = kinds["goes on from it"] & _brings_closest(situations)[:, None, :]
        for i, share in enumerate([evenly, *looked]):
            row = {"domain": setting.domain, "setting": setting.name, "map": origin, "iteration": i}
            row |= {kind: float((share * where).sum(-1)[used].mean()) for kind, where in kinds.items()}
            going_on, to_best = ((share * where).sum(-1)[used] for where in (kinds["goes on from it"], best))
            there = going_on > 0
            row["best of those that go on"] = float((to_best[there] / going_on[there]).mean())
            rows.append(row)
    return rows


def _brings_closest(situations) -> np.ndarray:
    """Rows `[B, N]` whose move leads as close to the goal as any from the same state."""
    tables, world = situations.tables, situations.world
    reached = tables.next_state[world]  # [B, S, M]
    to_goal = tables.distance[world[:, None, None], reached, situations.goal[:, None, None]]
    closest = to_goal == to_goal.min(axis=-1, keepdims=True)
    num_rows = int(situations.num_rows.max())
    return closest.reshape(len(world), -1)[:, :num_rows]


def plot(rows: Rows) -> Figure:
    """Stacked bars per iteration."""
    figure, parts = panels(rows, ("domain", "setting"), 2.7, 3.5)
    for axes, ours in parts:
        axes.grid(visible=False)
        places = [row["iteration"] for row in ours]
        floor = np.zeros(len(ours))
        for kind in KINDS:
            heights = np.asarray([100 * row[kind] for row in ours])
            axes.bar(places, heights, bottom=floor, width=0.76, color=COLOURS[kind], label=kind)
            floor += heights
        label = "of those that go on, on the best"
        best = [100 * row["best of those that go on"] for row in ours]
        axes.plot(places[1:], best[1:], "o-", color="#ea580c", ms=3.5, lw=1.4, label=label)
        axes.axhline(best[EVENLY], color="#ea580c", lw=1, ls=":")
        axes.set_xticks(places, ["even", *map(str, places[1:])])
        axes.set(title=setting_title(ours[0]), xlabel="iteration", ylim=(0, 100))
    parts[0][0].set_ylabel("attention (%)")
    figure.legend(*parts[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
