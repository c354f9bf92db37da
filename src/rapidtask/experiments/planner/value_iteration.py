"""The decoded map against value iteration after so many sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from matplotlib.patches import Rectangle

from rapidtask.experiments import style
from rapidtask.experiments.figure import Drawing, Figure, Row, Table
from rapidtask.experiments.planner.decodings import Decoded, Decodings, setting_title
from rapidtask.experiments.tables import array, values


@dataclass(frozen=True, kw_only=True)
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
                    row = {**setting.columns, "iterations": i + 1, "sweeps": sweeps, "decoder_seed": r}
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

    A sweep tells each state its distance if a neighbour's is known, so that after k sweeps the states at most
    k moves away are known. Of the others it is known only that they are further: the best guess is the mean
    distance of all such states.
    """
    known = distance <= sweeps
    beyond = float(distance[~known].mean()) if not known.all() else 0.0
    return np.where(known, distance, beyond)


def agreement(decoded: Decoded, sweeps: int) -> Float[np.ndarray, "I R"]:
    """Pearson's correlation of decoded maps with the map after so many sweeps, averaged over maps.

    It is 0 for a map that is the same everywhere.
    """
    target, expected, found = sweep_map(decoded.test.distance, sweeps), decoded.expected, []
    for group in np.unique(decoded.test.group):
        states = decoded.test.group == group
        ours = expected[..., states] - expected[..., states].mean(-1, keepdims=True)
        theirs = target[states] - target[states].mean()
        spread = np.sqrt((ours**2).sum(-1) * (theirs**2).sum())
        found.append(ours @ theirs / np.maximum(spread, 1e-12))
    return np.mean(found, axis=0)
