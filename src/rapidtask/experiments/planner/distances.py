"""Distances decoded from the planner: losses, accuracy against the distance, how far it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Row, Table
from rapidtask.experiments.planner.decodings import (
    DOMAINS,
    TRAINED,
    UNTRAINED,
    Decoded,
    Decodings,
    Setting,
    setting_title,
)
from rapidtask.experiments.tables import array, group_by, values

SETTING_COLOURS = {
    "memory-planning": ("#93b4f5", "#1d4ed8"),
    "streetlearn": ("#fdba74", "#c2410c"),
}
"""Of the two settings of each domain."""


@dataclass(frozen=True, kw_only=True)
class DecodingLoss(Figure[Decodings]):
    """Training loss of the distance decoders, for each number of planner iterations."""

    title: str = "Decoding the distance to the goal: training loss (paper, supplementary figure a)"
    caption: str = (
        "The EPN is frozen and its policy network replaced by a decoder of the same size, trained to "
        "classify the distance from a random state to a random goal; the memory holds every transition of a "
        "new world. Cross-entropy (nats) while training, for decoders that read the planner after 1 to 6 "
        "iterations: thin lines are three decoder seeds, thick lines their mean. The first torus and the "
        "streets of 5 intersections are what the agents were trained in; the others are larger than any they "
        "met."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        for setting in source.settings():
            training = source.decoded(setting).training
            for (i, r, p), loss in np.ndenumerate(training.loss):
                row = {**setting.columns, "iterations": i + 1, "decoder_seed": r}
                yield {**row, "update": int(training.update[p]), "training_loss": float(loss)}

    def plot(self, rows: Table) -> Drawing:
        drawing, parts = style.panels(rows, ("domain", "setting"), 2.8, 3.3, ylabel="training loss (nats)")
        for axes, ours in parts:
            updates = values(ours, "update")
            for iterations, same in group_by(ours, "iterations").items():
                colour = style.iteration_colour(iterations)
                curves = array(same, "training_loss").reshape(-1, len(updates)).T  # a column for each seed
                axes.plot(updates, curves, color=colour, lw=0.6, alpha=0.5)
                axes.plot(updates, curves.mean(1), color=colour, lw=1.8, label=style.plural(iterations))
            axes.set(title=setting_title(ours[0]), xlabel="updates", ylim=(0, None))
        style.shared_legend(drawing, where="lower", ncols=6)
        return drawing


@dataclass(frozen=True, kw_only=True)
class DecodingAccuracy(Figure[Decodings]):
    """Accuracy of the decoded distance against the distance, per number of iterations (paper, Figure 4c)."""

    title: str = "How far the planner sees (paper, Figure 4c)"
    caption: str = (
        "Share of states whose distance to the goal is decoded correctly, against that distance, in worlds "
        "that neither agent nor decoder was trained on; mean of three decoder seeds, bars from the lowest to "
        "the highest. The dotted line is 50%. Where the planner cannot see that far, a decoder still says "
        "the commonest of the distances that are left, so that one of them may be right by guessing."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        for setting in source.settings():
            yield from accuracy_rows(setting, source.decoded(setting))

    def plot(self, rows: Table) -> Drawing:
        return accuracy_panels(rows, "setting", setting_title)


@dataclass(frozen=True, kw_only=True)
class DecodingReach(Figure[Decodings]):
    """The distance at which decoding falls below 50%, and the loss, against the number of iterations."""

    title: str = "What each iteration adds"
    caption: str = (
        "Left: cross-entropy of the decoded distance in new worlds. Right: the distance at which accuracy "
        "falls below 50%, between whole distances by interpolation; a triangle marks settings in which it "
        "never does, at the largest distance there is. Dots are three decoder seeds, lines their mean; the "
        "agents were trained with as many iterations as the ring marks."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        for setting in source.settings():
            yield from reach_rows(setting, source.decoded(setting))

    def plot(self, rows: Table) -> Drawing:
        drawing, (left, right) = style.subplots(8.4, 3.4, 1, 2)
        shades = {domain: iter(colours) for domain, colours in SETTING_COLOURS.items()}
        for (domain, setting), ours in group_by(rows, "domain", "setting").items():
            look = {"color": next(shades[domain]), "label": f"{DOMAINS[domain]}, {setting}"}
            draw_against_iterations(left, ours, "test_loss", **look)
            draw_against_iterations(right, ours, "below_half_at_distance", **look)
        left.set(ylabel="loss in new worlds (nats)", ylim=(0, None))
        right.set(ylabel="distance where accuracy\nfalls below 50%", ylim=(0, None))
        style.shared_legend(drawing, where="lower", ncols=2)
        return drawing


@dataclass(frozen=True, kw_only=True)
class Emergence(Figure[Decodings]):
    """The map that learning brought about, and no map: the same decoding of a trained and a fresh planner."""

    title: str = "What emerged: the same decoding of a trained planner and of a fresh one"
    caption: str = (
        "Accuracy of the decoded distance against the distance, in the worlds that agents were trained in, "
        "mean of three decoder seeds. Beside the trained planner one with fresh weights, which shows what "
        "decoders make of a planner that computes nothing in particular."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        for domain in dict.fromkeys(setting.domain for setting in source.settings()):
            for origin in (TRAINED, UNTRAINED):
                near = source.settings(domain, origin)[0]
                decoded, run = source.decoded(near), near.trained
                reached = group_by(reach_rows(near, decoded), "iterations", "decoder_seed")
                agent = f"recipe {run.config.recipe}, {run.steps / 1e6:.2g}M steps"
                about = {"agent": agent if origin == TRAINED else run.source, "source": run.source}
                for row in accuracy_rows(near, decoded):
                    (seed,) = reached[row["iterations"], row["decoder_seed"]]
                    names = ("test_loss", "below_half_at_distance", "falls_below_half")
                    yield {**row, **{name: seed[name] for name in names}, **about}

    def plot(self, rows: Table) -> Drawing:
        title = lambda row: f"{DOMAINS[row['domain']]}\n{row['map']}: {row['agent']}"  # noqa: E731
        return accuracy_panels(rows, "map", title, whiskers=False)


def accuracy_rows(setting: Setting, decoded: Decoded) -> Iterator[Row]:
    """Accuracy in one setting."""
    for distance in decoded.distances:
        likelihood, pairs = decoded.likelihood(distance), int((decoded.test.distance == distance).sum())
        for (i, r), accuracy in np.ndenumerate(decoded.accuracy(distance)):
            place = {"iterations": i + 1, "decoder_seed": r, "distance": distance}
            found = {"accuracy": float(accuracy), "likelihood_of_truth": float(likelihood[i, r])}
            yield {**setting.columns, **place, **found, "pairs": pairs}


def reach_rows(setting: Setting, decoded: Decoded) -> Iterator[Row]:
    """Losses and reach in one setting."""
    distances = decoded.distances
    accuracies = np.stack([decoded.accuracy(d) for d in distances], axis=-1)  # [I, R, distances]
    for (i, r), loss in np.ndenumerate(decoded.loss):
        distance, falls = reach(distances, accuracies[i, r])
        yield {
            **setting.columns,
            "iterations": i + 1,
            "trained_iterations": setting.trained.config.agent.iterations,
            "decoder_seed": r,
            "training_loss": float(decoded.training.loss[i, r, -1]),
            "test_loss": float(loss),
            "test_accuracy": float(decoded.right[i, r].mean()),
            "below_half_at_distance": distance,
            "falls_below_half": int(falls),
            "largest_distance": distances[-1],
        }


def reach(distances: list[int], accuracies: np.ndarray, level: float = 0.5) -> tuple[float, bool]:
    """The distance at which accuracy first falls below a level, between distances by linear interpolation.

    Returns:
        The distance, and whether accuracy did fall below: if not, the distance is the largest there was.
    """
    below = np.flatnonzero(accuracies < level)
    if not len(below):
        return float(distances[-1]), False
    # From the distance before, if there is one; accuracy falls between the two, `interp` wants it to rise.
    around = slice(max(0, below[0] - 1), below[0] + 1)
    return float(np.interp(-level, -accuracies[around], distances[around])), True


def accuracy_panels(rows: Table, key: str, title: Callable[[dict], str], *, whiskers: bool = True) -> Drawing:
    """Mean accuracy of decoder seeds and their range against the distance; a panel per domain and key."""
    ylabel = "decoded correctly (%)"
    drawing, parts = style.panels(rows, ("domain", key), 2.8, 3.3, ylabel=ylabel, sharey=True)
    for axes, panel in parts:
        axes.axhline(50, color="#9ca3af", lw=1, ls=":")
        for iterations, ours in group_by(panel, "iterations").items():
            distances = values(ours, "distance")
            accuracy = 100 * array(ours, "accuracy").reshape(len(distances), -1)  # a column for each seed
            means, low, high = accuracy.mean(1), accuracy.min(1), accuracy.max(1)
            # Rounding makes equal ones differ.
            errors = np.maximum(np.stack([means - low, high - means]), 0) if whiskers else None
            look = {"color": style.iteration_colour(iterations), "label": style.plural(iterations)}
            marks = {"lw": 1.6, "elinewidth": 0.8, "marker": "o", "markersize": 2.6}
            axes.errorbar(distances, means, errors, **look, **marks)
        axes.set(title=title(panel[0]), xlabel="distance to the goal (moves)", ylim=(0, 104))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    style.shared_legend(drawing, where="lower", ncols=6)
    return drawing


def draw_against_iterations(axes: Axes, rows: Table, column: str, *, color: str, label: str) -> None:
    """Seeds as dots, or triangles where accuracy never falls; their mean as a line."""
    means = {i: array(seeds, column).mean() for i, seeds in group_by(rows, "iterations").items()}
    axes.plot(list(means), list(means.values()), color=color, lw=1.8, label=label)
    for row in rows:
        open_ended = column == "below_half_at_distance" and not row["falls_below_half"]
        marker, size = ("^", 5) if open_ended else ("o", 3)
        axes.plot(row["iterations"], row[column], marker, color=color, ms=size)
    trained = rows[0]["trained_iterations"]
    if trained in means:
        axes.plot(trained, means[trained], "o", ms=10, mfc="none", mec=color, mew=1.1)
    axes.set(xlabel="planner iterations", xticks=list(means))
