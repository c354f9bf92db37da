"""Other worlds and thinking times than trained with: the same weights, their scores as lines."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Table
from rapidtask.experiments.streets.scores import (
    epn_name,
    epns,
    main_symbol_agents,
    reference_rows,
    score_row,
)


@dataclass(frozen=True, kw_only=True)
class MoreIntersections(Figure[Evaluations]):
    """Trained on 5 intersections, evaluated on 5, 7 and 9, with 1, 2 and 4 iterations (paper, Figure 4b)."""

    name: str = "more_intersections"
    title: str = "Trained on 5 intersections, evaluated on 5, 7 and 9 (paper, Figure 4b)"
    caption: str = (
        "EPNs trained and evaluated with the same number of planner iterations, in neighbourhoods of the "
        "held-out city as large as trained on and larger, 200 steps. Whiskers: standard errors over seeds, "
        "or over episodes where there is one seed."
    )
    intersections: tuple[int, ...] = (5, 7, 9)
    references: tuple[str, ...] = ("within-task", "edges-inverse", "oracle")

    def table(self, source: Evaluations) -> Table:
        """Scores of every seed per number of intersections: EPNs that see symbols, those that see pixels."""
        agents = epns(source)
        try:
            agents += epns(source, "pixels")
        except NotAvailable:
            source.say("no EPN that sees pixels, or no frames for it")
        rows: Table = []
        for intersections in self.intersections:
            world = replace(source.world, num_intersections=intersections)
            for epn in agents:
                names = source.seeds(epn.label)
                rows += [{"line": epn_name(epn), **score_row(source, name, world)} for name in names]
            rows += reference_rows(source, self.references, world)
        return rows

    def plot(self, rows: Table) -> Drawing:
        """Goals on the left, share of the oracle on the right."""
        drawing = style.new_figure(8.4, 3.7)
        for axes, column in zip(drawing.subplots(1, 2), (GOALS, SHARE), strict=True):
            shown = [row for row in rows if column == GOALS or row["agent"] != "oracle"]
            style.draw_lines(axes, shown, "intersections", column, line="line")
            axes.set(xlabel="intersections", ylabel=style.Y_LABELS[column])
            axes.set_xticks(sorted({row["intersections"] for row in rows}))
        style.shared_legend(drawing)
        return drawing


@dataclass(frozen=True, kw_only=True)
class MoreIterations(Figure[Evaluations]):
    """More thinking than trained for: planner iterations changed at evaluation."""

    name: str = "more_iterations"
    title: str = "Beyond the paper: more planner iterations than trained with"
    caption: str = (
        "The same weights evaluated with 1 to 8 planner iterations; a ring marks the number trained with. "
        "Left: neighbourhoods as large as trained on; right: larger ones, where paths are longer than any "
        "trained on. Whiskers: standard errors over episodes. Agents trained with a random number of "
        "iterations have no ring."
    )
    iterations: tuple[int, ...] = (1, 2, 4, 6, 8)
    intersections: tuple[int, ...] = (5, 9)
    episodes: int = 300

    def table(self, source: Evaluations) -> Table:
        """Scores of each EPN per number of iterations and of intersections."""
        rows: Table = []
        for intersections in self.intersections:
            world = replace(source.world, num_intersections=intersections)
            for epn in epns(source):
                trained = epn.config.agent.iterations if "random" not in epn.label else None
                for iterations in self.iterations:
                    row = score_row(source, epn.label, world, self.episodes, iterations=iterations)
                    notes = {"line": epn_name(epn), "iterations": iterations, "trained_with": trained}
                    rows.append({**notes, **row})
        return rows

    def plot(self, rows: Table) -> Drawing:
        """Share of the oracle against iterations, a panel per size."""
        drawing, parts = style.panels(
            rows, "intersections", 4.2, 3.7, ylabel=style.Y_LABELS[SHARE], sharey=True
        )
        for axes, ours in parts:
            style.draw_lines(axes, ours, "iterations", SHARE, line="line")
            for row in ours:
                if row["iterations"] == row["trained_with"]:
                    place = (row["iterations"], 100 * row[SHARE])
                    axes.plot(*place, "o", ms=11, mfc="none", mec=style.colour_of(row["line"]), mew=1.5)
            axes.set(xlabel="planner iterations at evaluation")
            axes.set_title(f"{ours[0]['intersections']} intersections")
            axes.set_xticks(sorted({row["iterations"] for row in rows}))
        style.shared_legend(drawing)
        return drawing


@dataclass(frozen=True, kw_only=True)
class LargerMaps(Figure[Evaluations]):
    """Maps several times as large as trained on, in episodes as long as trained on and longer ones."""

    name: str = "larger_maps"
    title: str = "Beyond the paper: maps of 12, 16 and 24 intersections"
    caption: str = (
        "Agents trained on 5 intersections and 200 steps, in larger neighbourhoods of the held-out city. "
        "Left: 200 steps, too few to see the largest maps. Right: 40 steps for each intersection. The EPN is "
        "shown with the planner iterations it was trained with, and with twice as many. Beyond 9 "
        "intersections there are more symbols than in training, which only agents with fixed symbols can "
        "tell apart. Whiskers: standard errors over episodes."
    )
    intersections: tuple[int, ...] = (5, 7, 9, 12, 16, 24)
    steps_per_intersection: int = 40
    references: tuple[str, ...] = ("within-task", "edges-inverse")
    episodes: int = 200

    def table(self, source: Evaluations) -> Table:
        """Scores per number of intersections and length of episodes."""
        epn = source.epn()
        rivals = [label for label in main_symbol_agents(source) if source.agents[label].kind != "epn"]
        rows: Table = []
        for intersections in self.intersections:
            lengths = {
                "fixed": source.world.episode_steps,
                "per intersection": self.steps_per_intersection * intersections,
            }
            for time, length in lengths.items():
                world = replace(source.world, num_intersections=intersections, episode_steps=length)
                ours: Table = []
                for iterations in (epn.config.agent.iterations, 2 * epn.config.agent.iterations):
                    row = score_row(source, epn.label, world, self.episodes, iterations=iterations)
                    ours.append({"line": f"EPN, {style.plural(iterations)}", **row})
                names = (*(label for label in rivals if source.fits(label, world)), *self.references)
                ours += reference_rows(source, names, world, self.episodes)
                rows += [{"line": row["line"], "time": time, **row} for row in ours]
        return rows

    def plot(self, rows: Table) -> Drawing:
        """Share of the oracle against the number of intersections, a panel per length of episodes."""
        drawing, parts = style.panels(rows, "time", 4.4, 3.8, ylabel=style.Y_LABELS[SHARE], sharey=True)
        fixed = min(row["episode_steps"] for row in rows)
        titles = (f"{fixed} steps", f"{self.steps_per_intersection} steps per intersection")
        for (axes, ours), title in zip(parts, titles, strict=True):
            style.draw_lines(axes, ours, "intersections", SHARE, line="line")
            axes.set(xlabel="intersections")
            axes.set_title(title)
            axes.set_xticks(sorted({row["intersections"] for row in rows}))
        style.shared_legend(drawing)
        return drawing


@dataclass(frozen=True, kw_only=True)
class IntermediateNodes(Figure[Evaluations]):
    """Streets walked node by node, not from crossing to crossing: the paper's test of jumpy planning."""

    name: str = "intermediate_nodes"
    title: str = "Beyond the paper: intermediate nodes kept"
    caption: str = (
        "The EPN was trained in worlds where moving forward leads to the next crossing. Here every node on "
        "the way is a state of its own (the paper's proposal to test jumpy planning): 5 intersections then "
        "have about 65 states instead of 24, up to 320, and goals are further apart than any in training. "
        "Share of the oracle in the last third against planner iterations at evaluation, in episodes of 200 "
        "and of 1,000 steps. Dashed: reference policies with the nodes kept. Whiskers: standard errors over "
        "episodes."
    )
    iterations: tuple[int, ...] = (1, 2, 4, 8)
    lengths: tuple[int, ...] = (200, 1000)
    references: tuple[str, ...] = ("within-task", "edges-inverse", "oracle")
    episodes: int = 100

    def table(self, source: Evaluations) -> Table:
        """Scores with and without intermediate nodes."""
        epn = source.epn()
        trained = epn.config.agent.iterations
        rows: Table = []
        for length in self.lengths:
            for kept in (False, True):
                world = replace(source.world, episode_steps=length, keep_intermediate=kept)
                notes = {"intermediate_nodes": "kept" if kept else "left out", "trained_with": trained}
                for iterations in self.iterations:
                    row = score_row(source, epn.label, world, self.episodes, iterations=iterations)
                    rows.append({**notes, "iterations": iterations, **row})
                for name in self.references:
                    row = score_row(source, name, world, self.episodes)
                    rows.append({**notes, "iterations": None, **row})
        return rows

    def plot(self, rows: Table) -> Drawing:
        """A panel per length of episodes."""
        rows = [{**row, "line": f"EPN, intermediate nodes {row['intermediate_nodes']}"} for row in rows]
        lines = dict.fromkeys(row["line"] for row in rows)
        colours = dict(zip(lines, (style.colour_of("EPN"), "#be185d"), strict=True))
        drawing, parts = style.panels(
            rows, "episode_steps", 4.4, 3.6, ylabel=style.Y_LABELS[SHARE], sharey=True
        )
        for axes, ours in parts:
            tried = [row for row in ours if row["iterations"] is not None]
            style.draw_lines(axes, tried, "iterations", SHARE, line="line", colours=colours)
            kept = [row for row in ours if row["iterations"] is None and row["intermediate_nodes"] == "kept"]
            shown = [(row["agent"], 100 * row[SHARE]) for row in kept if row["agent"] != "oracle"]
            style.reference_lines(axes, shown, least_gap=5.0)
            places = sorted({row["iterations"] for row in tried})
            axes.set(xlabel="planner iterations at evaluation", xscale="log")
            axes.set_xticks(places, [str(place) for place in places])
            axes.minorticks_off()
            axes.set_title(f"{ours[0]['episode_steps']:,} steps")
        style.shared_legend(drawing, ncols=2)
        return drawing
