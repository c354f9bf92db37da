"""Where the planner's rows look: kinds of rows over many worlds, and one row on the map."""

from __future__ import annotations

from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Polygon

from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import TimeStep
from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Row, Table
from rapidtask.experiments.planner.decodings import UNTRAINED, Decodings, setting_title
from rapidtask.experiments.planner.maps import (
    PICTURED,
    DrawnMap,
    draw_states,
    read_line,
    street_map,
    torus_map,
)
from rapidtask.experiments.planner.situations import Situations, sample_situations
from rapidtask.experiments.tables import array, group_by, where
from rapidtask.worlds.torus import OFFSETS

KINDS = {
    "goes on from it": "#2563eb",
    "leads to it": "#0d9488",
    "starts there too": "#93b4f5",
    "ends there too": "#99d5cd",
    "touches the goal": "#fdba74",
    "itself": "#d1d5db",
    "elsewhere": "#eceef1",
}
"""What a row may be to the row that looks at it, and its colour; "itself" counts before all others, then the
first that holds."""
FROM_GOAL = 3
"""How far from the goal the row starts that is watched, if the map is so large."""
TOP = 0.5
"""Attention that has the darkest colour."""


@eqx.filter_jit
def attention_weights(
    agent: EPN, memory: Memory, timestep: TimeStep, iterations: int
) -> Float[Array, "I B H N N"]:
    """How much every row looks at every other in each iteration, for each head."""
    plan = agent.plan(memory, timestep, agent.embed(), iterations, with_attention=True)
    return jnp.stack(plan.attention)


def look(agent: EPN, situations: Situations, memory: Memory, iterations: int) -> Float[np.ndarray, "I B N N"]:
    """How much every row looks at every other in each iteration, mean over heads."""
    return np.asarray(attention_weights(agent, memory, situations.timesteps(), iterations)).mean(axis=2)


def relations(memory: Memory) -> dict[str, Bool[np.ndarray, "B N N"]]:
    """For each kind, which rows (last axis) are that to which (second axis); every pair in use has one."""
    origin, successor, mask = (np.asarray(x) for x in (memory.origin, memory.successor, memory.mask))
    pair = lambda mine, yours: mine[:, :, None] == yours[:, None, :]  # noqa: E731
    goal = np.asarray(memory.goal)[:, None]
    holds = {
        "itself": np.eye(origin.shape[1], dtype=bool)[None],
        "goes on from it": pair(successor, origin),
        "leads to it": pair(origin, successor),
        "starts there too": pair(origin, origin),
        "ends there too": pair(successor, successor),
        "touches the goal": ((origin == goal) | (successor == goal))[:, None, :],
    }
    names = (*holds, "elsewhere")
    first = np.select(list(holds.values()), range(len(holds)), default=len(holds))
    used = mask[:, :, None] & mask[:, None, :]
    return {kind: used & (first == names.index(kind)) for kind in KINDS}


class AttentionKinds(Figure[Decodings]):
    """Shares of attention by what a row is to the row that looks at it."""

    title: str = "What the planner looks at"
    caption: str = (
        "Share of a row's attention that goes to rows that go on from where it leads, that lead to where it "
        "starts, that start or end where it does, that touch the goal, to itself, and to all others; mean "
        "over rows and 32 new worlds. The first two bars are attention spread evenly and that of fresh "
        "weights in their first iteration, which may begin with a gain for those that go on. Line: "
        "of the attention to rows that go on, the share on those that bring the agent closest to the goal, "
        "as the maximum of value iteration would choose; dotted: if they were chosen evenly."
    )
    worlds: int = 32

    def table(self, source: Decodings) -> Iterator[Row]:
        fresh = {(s.domain, s.name): s.agent for s in source.settings(origin=UNTRAINED)}
        for setting in source.settings():
            generator = np.random.default_rng(source.seed)
            situations = sample_situations(setting.tested_in, self.worlds, generator)
            memory = situations.memories(int(situations.num_rows.max()))
            used = np.asarray(memory.mask)
            evenly = np.where(used, 1 / used.sum(axis=1, keepdims=True), 0.0)
            shares = {"even": np.repeat(evenly[:, None, :], used.shape[1], axis=1)}
            shares["fresh"] = look(fresh[setting.domain, setting.name], situations, memory, 1)[0]
            looked = look(setting.agent, situations, memory, PICTURED)
            shares |= {str(i): share for i, share in enumerate(looked, start=1)}
            kinds = relations(memory)
            best = kinds["goes on from it"] & brings_closest(situations)[:, None, :]
            for name, share in shares.items():
                towards = {kind: (share * pairs).sum(-1)[used] for kind, pairs in kinds.items()}
                going_on, to_best = towards["goes on from it"], (share * best).sum(-1)[used]
                there = going_on > 0
                yield {
                    **setting.columns,
                    "iteration": name,
                    **{kind: float(each.mean()) for kind, each in towards.items()},
                    "best of those that go on": float((to_best[there] / going_on[there]).mean()),
                }

    def plot(self, rows: Table) -> Drawing:
        black, options = style.colour_of("oracle"), {"ylabel": "attention (%)", "grid": ""}
        drawing, parts = style.panels(rows, ("domain", "setting"), 2.8, 3.6, **options)
        for axes, ours in parts:
            places, floor = np.arange(len(ours)), np.zeros(len(ours))
            for kind, colour in KINDS.items():
                heights = 100 * array(ours, kind)
                axes.bar(places, heights, bottom=floor, width=0.76, color=colour, label=kind)
                floor += heights
            evenly, _, *best = 100 * array(ours, "best of those that go on")
            label = "of those that go on, on the best"
            axes.plot(places[2:], best, "o-", color=black, ms=3.2, lw=1.3, label=label)
            axes.axhline(evenly, color=black, lw=1, ls=":")
            axes.set_xticks(places, [row["iteration"] for row in ours])
            axes.tick_params(axis="x", labelsize=7)
            axes.set(title=setting_title(ours[0]), xlabel="iteration", ylim=(0, 100))
        style.shared_legend(drawing, where="lower")
        return drawing


def brings_closest(situations: Situations) -> Bool[np.ndarray, "B N"]:
    """Rows whose move leads as close to the goal as any from the same state."""
    world = situations.world
    reached = np.asarray(situations.worlds.next_state)[world, :, : situations.num_moves]  # [B, S, M]
    distance = np.asarray(situations.worlds.distance)[world, :, situations.goal]  # [B, S]
    to_goal = np.take_along_axis(distance[..., None], reached, axis=1)
    closest = to_goal == to_goal.min(axis=-1, keepdims=True)
    return closest.reshape(len(world), -1)[:, : int(situations.num_rows.max())]


def watch_one(drawn: DrawnMap) -> tuple[int, int, Float[np.ndarray, "I S M"]]:
    """The state and move of one row, the longest so far from the goal, and its attention to every row."""
    situations = drawn.situations
    distance, num_moves = situations.distance, situations.num_moves
    state = int(np.argmax(np.where(distance == min(FROM_GOAL, distance.max()), drawn.lengths, -1)))
    after = distance[situations.worlds.next_state[situations.world[0], state]]
    move = int(np.flatnonzero(after == distance[state] - 1)[0])  # the first that leads closer
    here = situations.take(np.array([state]))
    weights = look(drawn.setting.agent, here, here.memories(int(here.num_rows[0])), PICTURED)
    return state, move, weights[:, 0, state * num_moves + move].reshape(PICTURED, -1, num_moves)


class GridAttention(Figure[Decodings]):
    """The torus, each cell in four triangles: the rows of its four moves."""

    title: str = "Where one row looks, on the torus"
    caption: str = (
        "Each cell holds four rows of the memory, one for each move, drawn as the triangle on that side. "
        "Colour: how much the framed row, a move towards the goal (star), attends to each row in each "
        "iteration."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        torus = torus_map(source)
        *watched, attention = watch_one(torus)
        for (i, s, m), weight in np.ndenumerate(attention):
            row = {"iteration": i + 1, **torus.places[s], "move": m, "attention": float(weight)}
            marks = {"is_watched": int([s, m] == watched), "is_goal": torus.is_goal(s)}
            yield {**torus.columns, **row, **marks}

    def plot(self, rows: Table) -> Drawing:
        drawing, parts = panel_per_iteration(rows, 7.4, 5.0)
        sides = (-0.55, rows[0]["size"] - 0.45)
        for axes, ours in parts:
            axes.set(xlim=sides, ylim=sides, aspect="equal")
            for row in sorted(ours, key=lambda row: row["is_watched"]):
                middle, (dx, dy) = np.array([row["x"], row["y"]]), OFFSETS[row["move"]]
                # From the middle of the cell to the two corners on the side of the move.
                corners = np.array([[0.04 * dx, 0.04 * dy], [dx - dy, dy + dx], [dx + dy, dy - dx]])
                corners[1:] *= 0.46
                colour = style.ATTENTION(min(1.0, row["attention"] / TOP))
                edge, width = (style.INK, 1.6) if row["is_watched"] else ("white", 0.4)
                drawn = {"fc": colour, "ec": edge, "lw": width, "zorder": 2 + row["is_watched"]}
                axes.add_patch(Polygon(middle + corners, **drawn))
                if row["is_goal"] and row["move"] == 0:
                    axes.plot(*middle, "*", ms=11, color=style.GOAL, mec="white", mew=0.8, zorder=4)
        return drawing


class StreetAttention(Figure[Decodings]):
    """The street map in the colours of attention."""

    title: str = "Where one row looks, on the street map"
    caption: str = (
        "The same neighbourhood and goal (star) as in the maps above. Colour: how much one row, a move "
        "towards the goal from the state of the black half street, attends to the rows that start at each "
        "state (three moves together) in each iteration."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        streets = street_map(source)
        state, move, attention = watch_one(streets)
        watched = {"watched_move": streets.situations.worlds.rules.actions[move]}
        for (i, s), weight in np.ndenumerate(attention.sum(axis=-1)):
            row = {"iteration": i + 1, "state": s, "attention": float(weight), "is_watched": int(s == state)}
            marks = {**watched, "is_goal": streets.is_goal(s)}
            yield {**streets.columns, **row, **marks, **streets.places[s]}

    def plot(self, rows: Table) -> Drawing:
        drawing, parts = panel_per_iteration(rows, 8.4, 5.4)
        for axes, ours in parts:
            (watched,) = where(ours, is_watched=1)
            line = read_line(watched["half_street"])
            axes.plot(*line.T, color=style.INK, lw=7.5, solid_capstyle="round", zorder=1)
            draw_states(axes, ours, "attention", style.ATTENTION, Normalize(0, TOP))
        return drawing


def panel_per_iteration(rows: Table, width: float, height: float) -> tuple[Drawing, list[tuple[Axes, Table]]]:
    """Panels in two lines with one scale of colours, and the rows of each."""
    groups = group_by(rows, "iteration")
    drawing, panels = style.subplots(width, height, 2, -(-len(groups) // 2), grid="")
    scale = ScalarMappable(Normalize(0, TOP), style.ATTENTION)
    drawing.colorbar(scale, ax=panels, shrink=0.6, label="attention", extend="max")
    for axes, iteration in zip(panels.flat, groups, strict=True):
        axes.set_title(f"iteration {iteration}", loc="center")
        axes.axis("off")
    return drawing, list(zip(panels.flat, groups.values(), strict=True))
