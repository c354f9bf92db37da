"""Distances decoded from the planner: losses, accuracy, how far it sees, and value iteration beside it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Int
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Row, Table
from rapidtask.experiments.planner.decoder import DECODED
from rapidtask.experiments.planner.decodings import (
    DOMAINS,
    STRICT,
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


class DecodingLoss(Figure[Decodings]):
    """Training loss of the distance decoders, for each number of planner iterations."""

    title: str = "Decoding the distance to the goal: training loss (paper, supplementary figure a)"
    caption: str = (
        "The EPN is frozen and its policy network replaced by a decoder of the same size, trained to "
        "classify the distance from a random state to a random goal; the memory holds every transition of a "
        "new world. Cross-entropy (nats) while training, for decoders that read the planner after 1 to 16 "
        "iterations: thin lines are three decoder seeds, thick lines their mean. The first torus and the "
        "streets of 5 intersections are what the agents were trained in; the others are larger than any they "
        "met."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        for setting in source.settings():
            training = source.decoded(setting).decoders
            for (i, r, p), loss in np.ndenumerate(training.loss):
                row = {**setting.columns, "iterations": DECODED[i], "decoder_seed": r}
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
            colour, trained = next(shades[domain]), ours[0]["trained_iterations"]
            for axes, column in ((left, "test_loss"), (right, "below_half_at_distance")):
                means = {i: array(seeds, column).mean() for i, seeds in group_by(ours, "iterations").items()}
                label = f"{DOMAINS[domain]}, {setting}"
                axes.plot(list(means), list(means.values()), color=colour, lw=1.8, label=label)
                for row in ours:
                    open_ended = column == "below_half_at_distance" and not row["falls_below_half"]
                    marker, size = ("^", 5) if open_ended else ("o", 3)
                    axes.plot(row["iterations"], row[column], marker, color=colour, ms=size)
                if trained in means:
                    axes.plot(trained, means[trained], "o", ms=10, mfc="none", mec=colour, mew=1.1)
                axes.set(xlabel="planner iterations", xticks=[i for i in means if i not in (3, 5)])
        left.set(ylabel="loss in new worlds (nats)", ylim=(0, None))
        right.set(ylabel="distance where accuracy\nfalls below 50%", ylim=(0, None))
        style.shared_legend(drawing, where="lower", ncols=2)
        return drawing


class Emergence(Figure[Decodings]):
    """The map that learning brought about, and no map: the same decoding of a trained and a fresh planner."""

    title: str = "What emerged: the same decoding of a trained planner and of a fresh one"
    caption: str = (
        "Accuracy of the decoded distance against the distance, in the worlds that agents were trained in, "
        "mean of three decoder seeds. Beside the trained planner one that learned without knowing the "
        "current state and the newest transition (strict, as in the paper), and one with fresh weights, "
        "which shows what decoders make of a planner that computes nothing in particular."
    )

    def table(self, source: Decodings) -> Iterator[Row]:
        for domain in dict.fromkeys(setting.domain for setting in source.settings()):
            nearest = [source.settings(domain, origin)[:1] for origin in (TRAINED, STRICT, UNTRAINED)]
            for near in itertools.chain(*nearest):
                decoded, run = source.decoded(near), near.trained
                reached = group_by(reach_rows(near, decoded), "iterations", "decoder_seed")
                agent = f"recipe {run.config.recipe}, {run.steps / 1e6:.2g}M steps"
                about = {"agent": run.source if near.origin == UNTRAINED else agent, "source": run.source}
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
            place = {"iterations": DECODED[i], "decoder_seed": r, "distance": distance}
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
            "iterations": DECODED[i],
            "trained_iterations": setting.trained.config.agent.iterations,
            "decoder_seed": r,
            "training_loss": float(decoded.decoders.loss[i, r, -1]),
            "test_loss": float(loss),
            "test_accuracy": float(decoded.right[i, r].mean()),
            "below_half_at_distance": distance,
            "falls_below_half": int(falls),
            "largest_distance": distances[-1],
        }


def reach(distances: list[int], accuracies: np.ndarray, level: float = 0.5) -> tuple[float, bool]:
    """The distance at which accuracy first falls below a level, by linear interpolation, and whether it does.

    If it does not, the distance is the largest there was.
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


class ValueIteration(Figure[Decodings]):
    """Iterations of the planner against sweeps of value iteration."""

    title: str = "Agreement with value iteration"
    caption: str = (
        "Correlation, over the states of a map and averaged over maps and decoder seeds, of the decoded "
        "expected distance with what value iteration knows after so many sweeps from the goal: the true "
        "distance of every state that it has reached, and for all others the mean distance of such states. "
        "Black frames mark the number of sweeps that each number of iterations agrees with best, dots as "
        "many sweeps as iterations."
    )
    sweeps: int = 10

    def table(self, source: Decodings) -> Iterator[Row]:
        for setting in source.settings():
            decoded = source.decoded(setting)
            for sweeps in range(min(self.sweeps, int(decoded.test.distance.max())) + 1):
                for (i, r), correlation in np.ndenumerate(agreement(decoded, sweeps)):
                    row = {**setting.columns, "iterations": DECODED[i], "sweeps": sweeps, "decoder_seed": r}
                    yield {**row, "correlation": float(correlation)}

    def plot(self, rows: Table) -> Drawing:
        options = {"ylabel": "planner iterations", "grid": ""}
        drawing, parts = style.panels(rows, ("domain", "setting"), 3.0, 3.0, **options)
        for axes, ours in parts:
            iterations, sweeps = values(ours, "iterations"), values(ours, "sweeps")
            correlation = array(ours, "correlation").reshape(len(sweeps), len(iterations), -1)
            means = correlation.mean(axis=-1).T  # over decoder seeds
            axes.imshow(means, cmap=style.LIKELIHOOD, vmin=0.3, vmax=1, aspect="auto", origin="lower")
            for (y, x), mean in np.ndenumerate(means):
                colour = "white" if mean > 0.72 else style.INK
                words = {"ha": "center", "va": "center", "fontsize": 6, "color": colour}
                axes.text(x, y, f"{mean:.2f}".lstrip("0"), **words)
                if sweeps[x] == iterations[y]:
                    axes.plot(x, y - 0.36, "o", ms=2.4, color=style.GOAL)
            for y, x in enumerate(means.argmax(axis=1)):
                look = {"fill": False, "ec": "#111827", "lw": 1.3}
                axes.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, **look))
            axes.set_xticks(range(len(sweeps)), map(str, sweeps))
            axes.set_yticks(range(len(iterations)), map(str, iterations))
            axes.set(title=setting_title(ours[0]), xlabel="sweeps of value iteration")
        return drawing


def sweep_map(distance: Int[np.ndarray, " K"], sweeps: int) -> Float[np.ndarray, " K"]:
    """Expected distances after so many sweeps of value iteration from the goal.

    After k sweeps the states at most k moves away are known. Of the others it is known only that they are
    further: the best guess is the mean distance of all such states.
    """
    known = distance <= sweeps
    beyond = float(distance[~known].mean()) if not known.all() else 0.0
    return np.where(known, distance, beyond)


def agreement(decoded: Decoded, sweeps: int) -> Float[np.ndarray, "I R"]:
    """Mean over maps of their correlation with the map after so many sweeps; 0 for one without contrast."""
    target, expected, found = sweep_map(decoded.test.distance, sweeps), decoded.expected, []
    for group in np.unique(decoded.test.group):
        states = decoded.test.group == group
        ours = expected[..., states] - expected[..., states].mean(-1, keepdims=True)
        theirs = target[states] - target[states].mean()
        spread = np.sqrt((ours**2).sum(-1) * (theirs**2).sum())
        found.append(ours @ theirs / np.maximum(spread, 1e-12))
    return np.mean(found, axis=0)
