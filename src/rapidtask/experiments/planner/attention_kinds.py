"""What rows the planner looks at, iteration by iteration, over many worlds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory
from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Table
from rapidtask.experiments.planner.attention import KINDS, attention_weights, relations
from rapidtask.experiments.planner.decodings import UNTRAINED, Decodings
from rapidtask.experiments.planner.distances import setting_title
from rapidtask.experiments.planner.situations import Situations, sample_situations
from rapidtask.experiments.planner.summaries import ITERATIONS

SHADES = ("#2563eb", "#0d9488", "#93b4f5", "#99d5cd", "#fdba74", "#d1d5db", "#eceef1")
"""Colours of the kinds."""
EVEN, FRESH = "even", "fresh"
BLACK = "#111827"


@dataclass(frozen=True, kw_only=True)
class AttentionKinds(Figure[Decodings]):
    """Shares of attention by what a row is to the row that looks at it."""

    name: str = "attention_kinds"
    title: str = "What the planner looks at"
    caption: str = (
        "Share of a row's attention that goes to rows that go on from where it leads, that lead to where it "
        "starts, that start or end where it does, that touch the goal, to itself, and to all others; mean "
        "over rows and 32 new worlds. The first two bars are attention spread evenly and that of fresh "
        "weights in their first iteration: with `match` rows begin with a gain for those that go on. Line: "
        "of the attention to rows that go on, the share on those that bring the agent closest to the goal, "
        "as the maximum of value iteration would choose; dotted: if they were chosen evenly."
    )
    worlds: int = 32

    def table(self, source: Decodings) -> Table:
        """Shares per setting and iteration."""
        rows: Table = []
        fresh = {(s.domain, s.name): s.agent for s in source.settings(origin=UNTRAINED)}
        for setting in source.settings():
            generator = np.random.default_rng(source.seed)
            situations = sample_situations(setting.tested_in, self.worlds, generator)
            memory = situations.memories(int(situations.num_rows.max()))
            used = np.asarray(memory.mask)

            evenly = np.where(used, 1 / used.sum(axis=1, keepdims=True), 0.0)
            shares = {EVEN: np.repeat(evenly[:, None, :], used.shape[1], axis=1)}
            shares[FRESH] = look(fresh[setting.domain, setting.name], situations, memory, 1)[0]
            looked = look(setting.agent, situations, memory, ITERATIONS)
            shares |= {str(i): share for i, share in enumerate(looked, start=1)}
            kinds = relations(memory)
            best = kinds["goes on from it"] & brings_closest(situations)[:, None, :]
            for name, share in shares.items():
                row = {**setting.columns, "iteration": name}
                row |= {kind: float((share * where).sum(-1)[used].mean()) for kind, where in kinds.items()}
                going_on = (share * kinds["goes on from it"]).sum(-1)[used]
                to_best = (share * best).sum(-1)[used]
                there = going_on > 0
                row["best of those that go on"] = float((to_best[there] / going_on[there]).mean())
                rows.append(row)
        return rows

    def plot(self, rows: Table) -> Drawing:
        """Stacked bars per iteration."""
        drawing, parts = style.panels(rows, ("domain", "setting"), 2.8, 3.6, ylabel="attention (%)")
        for axes, ours in parts:
            axes.grid(visible=False)
            places = np.arange(len(ours))
            floor = np.zeros(len(ours))
            for kind, shade in zip(KINDS, SHADES, strict=True):
                heights = np.asarray([100 * row[kind] for row in ours])
                axes.bar(places, heights, bottom=floor, width=0.76, color=shade, label=kind)
                floor += heights
            evenly, _, *best = (100 * row["best of those that go on"] for row in ours)
            label = "of those that go on, on the best"
            axes.plot(places[2:], best, "o-", color=BLACK, ms=3.2, lw=1.3, label=label)
            axes.axhline(evenly, color=BLACK, lw=1, ls=":")
            axes.set_xticks(places, [row["iteration"] for row in ours])
            axes.tick_params(axis="x", labelsize=7)
            axes.set(title=setting_title(ours[0]), xlabel="iteration", ylim=(0, 100))
        style.shared_legend(drawing, where="lower")
        return drawing


def look(agent: EPN, situations: Situations, memory: Memory, iterations: int) -> Float[np.ndarray, "I B N N"]:
    """How much every row looks at every other in each iteration, mean over heads."""
    weights, _ = attention_weights(agent, memory, situations.timesteps(), iterations)
    return np.asarray(weights).mean(axis=2)


def brings_closest(situations: Situations) -> Bool[np.ndarray, "B N"]:
    """Rows whose move leads as close to the goal as any from the same state."""
    world = situations.world
    reached = np.asarray(situations.worlds.next_state)[world, :, : situations.num_moves]  # [B, S, M]
    to_goal = np.asarray(situations.worlds.distance)[
        world[:, None, None], reached, situations.goal[:, None, None]
    ]
    closest = to_goal == to_goal.min(axis=-1, keepdims=True)
    return closest.reshape(len(world), -1)[:, : int(situations.num_rows.max())]
