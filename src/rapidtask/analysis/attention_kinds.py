"""What rows the planner looks at, iteration by iteration, over many worlds."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from rapidtask.agents.memory import Memory
from rapidtask.analysis.attention import KINDS, attention_weights, relations
from rapidtask.analysis.drawing import panels, setting_title
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.situations import Situations, sample_situations
from rapidtask.analysis.subjects import UNTRAINED, Setting
from rapidtask.analysis.summaries import ITERATIONS
from rapidtask.experiments.material import Rows

NAME = "attention_kinds"
TITLE = "What the planner looks at"
CAPTION = (
    "Share of a row's attention that goes to rows that go on from where it leads, that lead to where it "
    "starts, that start or end where it does, that touch the goal, to itself, and to all others; mean over "
    "rows and 32 new worlds. The first two bars are attention spread evenly and that of fresh weights in "
    "their first iteration: with `match` rows begin with a gain for those that go on. Line: of the attention "
    "to rows that go on, the share on those that bring the agent closest to the goal, as the maximum of "
    "value iteration would choose; dotted: if they were chosen evenly."
)
WORLDS = 32
SHADES = ("#2563eb", "#0d9488", "#93b4f5", "#99d5cd", "#fdba74", "#d1d5db", "#eceef1")
COLOURS = dict(zip(KINDS, SHADES, strict=True))
EVEN, FRESH = "even", "fresh"


def table(material: AnalysisMaterial) -> Rows:
    """Shares per setting and iteration."""
    rows: Rows = []
    for setting, origin in material.main_settings():
        tables = material.test_tables(setting)
        situations = sample_situations(tables, WORLDS, np.random.default_rng(material.seed))
        memory = situations.memories(int(situations.num_rows.max()))
        used = np.asarray(memory.mask)
        evenly = np.where(used, 1 / used.sum(axis=1, keepdims=True), 0.0)
        shares = {EVEN: np.repeat(evenly[:, None, :], used.shape[1], axis=1)}
        shares[FRESH] = look(material, setting, UNTRAINED, situations, memory, 1)[0]
        looked = look(material, setting, origin, situations, memory, ITERATIONS)
        shares |= {str(i): share for i, share in enumerate(looked, start=1)}
        kinds = relations(memory)
        best = kinds["goes on from it"] & _brings_closest(situations)[:, None, :]
        for name, share in shares.items():
            row = {"domain": setting.domain, "setting": setting.name, "map": origin, "iteration": name}
            row |= {kind: float((share * where).sum(-1)[used].mean()) for kind, where in kinds.items()}
            going_on, to_best = ((share * where).sum(-1)[used] for where in (kinds["goes on from it"], best))
            there = going_on > 0
            row["best of those that go on"] = float((to_best[there] / going_on[there]).mean())
            rows.append(row)
    return rows


def look(
    material: AnalysisMaterial,
    setting: Setting,
    origin: str,
    situations: Situations,
    memory: Memory,
    iterations: int,
) -> Float[np.ndarray, "I B N N"]:
    """How much every row looks at every other in each iteration, mean over heads."""
    planner = material.planner(setting, origin)
    weights, _ = attention_weights(planner, memory, situations.timesteps(), iterations)
    return np.asarray(weights).mean(axis=2)


def _brings_closest(situations: Situations) -> np.ndarray:
    """Rows `[B, N]` whose move leads as close to the goal as any from the same state."""
    tables, world = situations.tables, situations.world
    reached = tables.next_state[world]  # [B, S, M]
    to_goal = tables.distance[world[:, None, None], reached, situations.goal[:, None, None]]
    closest = to_goal == to_goal.min(axis=-1, keepdims=True)
    num_rows = int(situations.num_rows.max())
    return closest.reshape(len(world), -1)[:, :num_rows]


def plot(rows: Rows) -> Figure:
    """Stacked bars per iteration."""
    figure, parts = panels(rows, ("domain", "setting"), 2.7, 3.6)
    for axes, ours in parts:
        axes.grid(visible=False)
        places = np.arange(len(ours))
        floor = np.zeros(len(ours))
        for kind in KINDS:
            heights = np.asarray([100 * row[kind] for row in ours])
            axes.bar(places, heights, bottom=floor, width=0.76, color=COLOURS[kind], label=kind)
            floor += heights
        best = {row["iteration"]: 100 * row["best of those that go on"] for row in ours}
        evenly = best.pop(EVEN)
        best.pop(FRESH)
        label = "of those that go on, on the best"
        axes.plot(places[2:], list(best.values()), "o-", color="#111827", ms=3.2, lw=1.3, label=label)
        axes.axhline(evenly, color="#111827", lw=1, ls=":")
        axes.set_xticks(places, [row["iteration"] for row in ours])
        axes.tick_params(axis="x", labelsize=7)
        axes.set(title=setting_title(ours[0]), xlabel="iteration", ylim=(0, 100))
    parts[0][0].set_ylabel("attention (%)")
    figure.legend(*parts[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
