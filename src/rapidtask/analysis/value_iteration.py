"""The decoded map against value iteration after so many sweeps."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rapidtask.analysis.decoded import Decoded
from rapidtask.analysis.drawing import LIKELIHOOD, panels, setting_title
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.experiments.material import Rows

NAME = "value_iteration"
TITLE = "Agreement with value iteration"
CAPTION = (
    "Correlation, over the states of a map and averaged over maps and decoder seeds, of the decoded expected "
    "distance with what value iteration knows after so many sweeps from the goal: the true distance of every "
    "state that it has reached, and for all others the mean distance of such states. Black frames mark the "
    "number of sweeps that each number of iterations agrees with best, dots as many sweeps as iterations."
)
SWEEPS = 10


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
    """Correlation of decoded maps with the map after so many sweeps, averaged over maps."""
    target = sweep_map(decoded.test.distance, sweeps)
    group = decoded.test.group
    expected = decoded.expected
    return np.mean(
        [map_correlation(expected[..., group == g], target[group == g]) for g in np.unique(group)], axis=0
    )


def map_correlation(maps: Float[np.ndarray, "I R S"], target: Float[np.ndarray, " S"]) -> np.ndarray:
    """Pearson's correlation over states; 0 for a map that is the same everywhere."""
    ours, theirs = maps - maps.mean(-1, keepdims=True), target - target.mean()
    spread = np.sqrt((ours**2).sum(-1) * (theirs**2).sum())
    return (ours @ theirs) / np.maximum(spread, 1e-12)


def table(material: AnalysisMaterial) -> Rows:
    """Agreement for every pair of iterations and sweeps."""
    rows: Rows = []
    for setting, origin in material.main_settings():
        decoded = material.decoded(setting, origin)
        largest = min(SWEEPS, int(decoded.test.distance.max()))
        for sweeps in range(largest + 1):
            for (i, r), correlation in np.ndenumerate(agreement(decoded, sweeps)):
                rows.append(
                    {
                        "domain": setting.domain,
                        "setting": setting.name,
                        "map": origin,
                        "iterations": i + 1,
                        "sweeps": sweeps,
                        "decoder_seed": r,
                        "correlation": float(correlation),
                    }
                )
    return rows


def plot(rows: Rows) -> Figure:
    """Iterations against sweeps, one panel per setting."""
    figure, parts = panels(rows, ("domain", "setting"), 2.9, 3.0)
    for axes, ours in parts:
        axes.grid(visible=False)
        iterations, sweeps = (sorted({row[name] for row in ours}) for name in ("iterations", "sweeps"))
        means = np.asarray(
            [
                [
                    np.mean([r["correlation"] for r in ours if (r["iterations"], r["sweeps"]) == (i, k)])
                    for k in sweeps
                ]
                for i in iterations
            ]
        )
        axes.imshow(means, cmap=LIKELIHOOD, vmin=0.3, vmax=1, aspect="auto", origin="lower")
        for y, i in enumerate(iterations):
            for x, k in enumerate(sweeps):
                dark = means[y, x] > 0.72
                axes.text(
                    x, y, f"{means[y, x]:.2f}".lstrip("0"), ha="center", va="center", fontsize=6,
                    color="white" if dark else "#1f2937",
                )  # fmt: skip
                if k == i:
                    axes.plot(x, y - 0.36, "o", ms=2.4, color="#ea580c")
            best = int(means[y].argmax())
            axes.add_patch(Rectangle((best - 0.48, y - 0.48), 0.96, 0.96, fill=False, ec="#111827", lw=1.3))
        axes.set_xticks(range(len(sweeps)), [str(k) for k in sweeps])
        axes.set_yticks(range(len(iterations)), [str(i) for i in iterations])
        axes.set(title=setting_title(ours[0]), xlabel="sweeps of value iteration")
    parts[0][0].set_ylabel("planner iterations")
    return figure
