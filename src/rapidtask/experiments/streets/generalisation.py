"""Other worlds and thinking times than trained with: the same weights, their scores as lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from matplotlib.axes import Axes

from rapidtask.envs.street_options import StreetLearn
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import NO_EPN, Evaluations, TrainedAgent, columns, is_plain_epn
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Figure, NotAvailable, Row, Table
from rapidtask.experiments.logged_runs import PIXELS
from rapidtask.experiments.tables import values, where

EPISODES = 500
"""Most episodes of one evaluation in figures with many."""


def score_row(source: Evaluations, name: str, world: StreetLearn, episodes: int = EPISODES, **options) -> Row:
    """Scores of a trained agent, by its label or its name of `Evaluations.load`, or of a reference policy."""
    trained = source.find(name)
    changes = {"new_symbols": True, **options} if trained is not None else {}
    scores = source.scores(name, world, episodes, **changes)
    return {
        "agent": name if trained is None else trained.label,
        "observations": "" if trained is None else trained.observations,
        "source": "reference" if trained is None else trained.source,
        "city": world.sample().places.cities[0].name,
        "intersections": world.neighbourhoods.intersections,
        "episode_steps": world.episode_steps,
        **columns(scores, f"{GOALS}±", "goals_last_third", f"{SHARE}±", "episodes"),
    }


def main_symbol_agents(source: Evaluations) -> list[str]:
    """Labels of the agents that the paper compares, as far as they see symbols."""
    return [label for label in source.main_agents if source.agents[label].observations == "symbols"]


def epns(source: Evaluations, observations: str = "symbols") -> list[TrainedAgent]:
    """The EPNs that only their thinking time tells apart; there must be some that see symbols."""
    found = [each for each in source.agents.values() if is_plain_epn(each, observations)]
    if not found and observations == "symbols":
        raise NotAvailable(NO_EPN)
    return sorted(found, key=lambda epn: (epn.config.agent.iterations, epn.label))


def epn_name(trained: TrainedAgent) -> str:
    """An EPN's name in figures about thinking time: its label, with the number of iterations in any case."""
    kind, pixels, _ = trained.label.partition(PIXELS)
    return f"EPN, {style.plural(trained.config.agent.iterations)}{pixels}" if kind == "EPN" else trained.label


X_LABELS = {
    "intersections": "intersections",
    "iterations": "iterations, or sweeps of values",
    "sweeps": "sweeps of values a step",
}


def share_panels(
    rows: Table, key: str, x: str, size: tuple[float, float], *, xscale: str = "linear", ncols: int = 4
) -> tuple[Drawing, list[tuple[Axes, Table]]]:
    """Share of the oracle against a column, a panel for each value of the key, a line for each of `line`."""
    drawing, parts = style.panels(rows, [key], *size, ylabel=style.Y_LABELS[SHARE], sharey=True)
    for axes, ours in parts:
        style.draw_lines(axes, ours, x, SHARE)
        axes.set(xlabel=X_LABELS[x], xscale=xscale)
        axes.set_xticks(values(rows, x), map(str, values(rows, x)))
        axes.minorticks_off()
    style.shared_legend(drawing, ncols=ncols)
    return drawing, parts


class MoreIntersections(Figure[Evaluations]):
    """Trained on 5 intersections, evaluated on 5, 7 and 9, with 1, 2 and 4 iterations (paper, Figure 4b)."""

    title: str = "Trained on 5 intersections, evaluated on 5, 7 and 9 (paper, Figure 4b)"
    caption: str = (
        "EPNs trained and evaluated with the same number of planner iterations, in neighbourhoods of the "
        "held-out city as large as trained on and larger, 200 steps. Whiskers: standard errors over seeds, "
        "or over episodes where there is one seed."
    )
    intersections: tuple[int, ...] = (5, 7, 9)
    references: tuple[str, ...] = ("within-task", "edges-inverse", "oracle")

    def table(self, source: Evaluations) -> Iterator[Row]:
        for intersections in self.intersections:
            world = replace(source.world, num_intersections=intersections)
            for epn in (*epns(source), *epns(source, "pixels")):
                for name in source.seeds(epn.label):
                    yield {"line": epn_name(epn), **score_row(source, name, world)}
            for name in self.references:
                yield {"line": name, **score_row(source, name, world)}

    def plot(self, rows: Table) -> Drawing:
        drawing, panels = style.subplots(8.4, 3.7, 1, 2)
        for axes, column in zip(panels, (GOALS, SHARE), strict=True):
            shown = [row for row in rows if column == GOALS or row["agent"] != "oracle"]
            style.draw_lines(axes, shown, "intersections", column)
            axes.set(xlabel="intersections", ylabel=style.Y_LABELS[column])
            axes.set_xticks(values(rows, "intersections"))
        style.shared_legend(drawing)
        return drawing


ITERATIONS = "iterations of attention"
ANEW, GOING_ON = "values from nothing at every step", "values from the last step's: thinking while walking"


def with_sweeps(epn: TrainedAgent, sweeps: int) -> dict[str, dict]:
    """Options of an EPN that passes its values on so many moves far at each step, if it has any."""
    options = {"sweeps": sweeps}
    return (
        {ANEW: options, GOING_ON: {**options, "warm_start": True}} if epn.config.agent.value_channels else {}
    )


class MoreIterations(Figure[Evaluations]):
    """More thinking than trained for: planner iterations changed at evaluation."""

    title: str = "Beyond the paper: thinking 1 to 64 times"
    caption: str = (
        "One set of weights, trained on 5 intersections, in neighbourhoods as large as trained on and larger "
        "ones, 40 steps for each intersection: with 1 to 64 iterations of attention a step, values passed on "
        "until they rest; or with as many iterations as in training, and values passed on 1 to 64 moves a "
        "step. A ring marks the iterations trained with on average. Whiskers: standard errors over episodes."
    )
    iterations: tuple[int, ...] = (1, 2, 4, 8, 16, 64)
    intersections: tuple[int, ...] = (5, 9, 24)
    steps_per_intersection: int = 40
    episodes: int = 300
    """Divided by the number of intersections: larger worlds are fewer."""

    def table(self, source: Evaluations) -> Iterator[Row]:
        epn = source.epn()
        for intersections, iterations in product(self.intersections, self.iterations):
            steps, episodes = self.steps_per_intersection * intersections, self.episodes // intersections
            world = replace(source.world, num_intersections=intersections, episode_steps=steps)
            notes = {"iterations": iterations, "trained_with": epn.config.agent.iterations}
            shown = {ITERATIONS: {"iterations": iterations}, **with_sweeps(epn, iterations)}
            for line, options in shown.items():
                yield {"line": line, **notes, **score_row(source, epn.label, world, episodes, **options)}

    def plot(self, rows: Table) -> Drawing:
        drawing, parts = share_panels(rows, "intersections", "iterations", (3.4, 3.7), xscale="log")
        for axes, ours in parts:
            axes.set_title(f"{ours[0]['intersections']} intersections")
            for row in ours:
                if row["line"] == ITERATIONS and row["iterations"] == row["trained_with"]:
                    place = (row["iterations"], 100 * row[SHARE])
                    axes.plot(*place, "o", ms=11, mfc="none", mec=style.colour_of(row["line"]), mew=1.5)
        return drawing


class LargerMaps(Figure[Evaluations]):
    """Maps up to twenty times as large as trained on."""

    title: str = "Beyond the paper: towns of up to 100 intersections"
    caption: str = (
        "Agents trained on 5 intersections, in larger neighbourhoods of the held-out city, 40 steps for each "
        "intersection. "
        "Beyond 9 intersections there are more symbols than in training, which only agents with fixed "
        "symbols can tell apart. Whiskers: standard errors over seeds, or over episodes where there is one "
        "seed."
    )
    intersections: tuple[int, ...] = (5, 9, 16, 24, 50, 100)
    steps_per_intersection: int = 40
    references: tuple[str, ...] = ("within-task", "edges-inverse")
    episodes: int = 200
    """Divided by the number of intersections: larger worlds are fewer."""

    def table(self, source: Evaluations) -> Iterator[Row]:
        epn = source.epn()
        shown = [(epn.label, name) for name in source.seeds(epn.label)]
        shown += [(name, name) for name in self.references]
        rivals = [label for label in main_symbol_agents(source) if source.agents[label].kind != "epn"]
        for intersections in self.intersections:
            steps, episodes = self.steps_per_intersection * intersections, self.episodes // intersections
            world = replace(source.world, num_intersections=intersections, episode_steps=steps)
            fitting = [(label, label) for label in rivals if source.fits(label, world)]
            for line, name in (*shown, *fitting):
                yield {"line": line, **score_row(source, name, world, episodes)}

    def plot(self, rows: Table) -> Drawing:
        drawing, axes = style.subplots(5.6, 4.0)
        style.draw_lines(axes, rows, "intersections", SHARE)
        axes.set(xlabel="intersections", ylabel=style.Y_LABELS[SHARE], xscale="log")
        axes.set_xticks(values(rows, "intersections"), map(str, values(rows, "intersections")))
        axes.minorticks_off()
        style.shared_legend(drawing, ncols=2)
        return drawing


class IntermediateNodes(Figure[Evaluations]):
    """Streets walked node by node, not from crossing to crossing: the paper's test of jumpy planning."""

    title: str = "Beyond the paper: intermediate nodes kept"
    caption: str = (
        "The EPN was trained in worlds where moving forward leads to the next crossing. Here every node on "
        "the way is a state of its own (the paper's proposal to test jumpy planning): 5 intersections then "
        "have about 65 states instead of 24, up to 320, and goals are further apart than any in training. "
        "Share of the oracle in the last third of 1,000 steps against how far values are passed on. Dashed: "
        "reference policies. Whiskers: standard errors over seeds, or over episodes where there is one seed."
    )
    sweeps: tuple[int, ...] = (4, 16, 64)
    episode_steps: int = 1000
    references: tuple[str, ...] = ("within-task", "edges-inverse")
    episodes: int = 16

    def table(self, source: Evaluations) -> Iterator[Row]:
        epn = source.epn()
        if not epn.config.agent.value_channels:
            raise NotAvailable("needs an EPN with values (--agent.value-channels)")
        world = replace(source.world, episode_steps=self.episode_steps, keep_intermediate=True)
        for sweeps in self.sweeps:
            for line, options in with_sweeps(epn, sweeps).items():
                for name in source.seeds(epn.label):
                    row = score_row(source, name, world, self.episodes, **options)
                    yield {"line": line, "sweeps": sweeps, **row}
        for name in self.references:
            yield {"line": name, "sweeps": None, **score_row(source, name, world, self.episodes)}

    def plot(self, rows: Table) -> Drawing:
        tried = [row for row in rows if row["sweeps"] is not None]
        look = {"xscale": "log", "ncols": 1}
        drawing, ((axes, _),) = share_panels(tried, "episode_steps", "sweeps", (4.8, 3.9), **look)
        style.reference_lines(axes, where(rows, sweeps=None), SHARE)
        return drawing
