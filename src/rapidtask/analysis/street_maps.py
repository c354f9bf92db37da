"""The decoded map on the map of a 12-intersection neighbourhood (paper, Figure 4d, supplementary b)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from rapidtask.analysis.decoded_maps import decode_map
from rapidtask.analysis.drawing import GOAL, LIKELIHOOD, distance_colours, plural
from rapidtask.analysis.material import AnalysisMaterial
from rapidtask.analysis.street_geometry import choose_map, half_streets, line_text, read_line
from rapidtask.analysis.subjects import Setting
from rapidtask.experiments.material import NotAvailable, Rows
from rapidtask.experiments.style import new_figure

HOW_TO_READ = (
    "Each street is drawn in two halves, one for each state: the half at the end where the agent stands, "
    "looking along the street. The star marks the goal state. Of 256 neighbourhoods of the held-out city the "
    "one drawn was chosen for a map that is easy to read and a long way to the goal, before anything was "
    "decoded. Mean of three decoder seeds."
)


def street_setting(material: AnalysisMaterial) -> tuple[Setting, str]:
    """The largest street worlds that the street EPN fits, and the origin of its map."""
    found = [pair for pair in material.main_settings() if pair[0].domain == "streetlearn"]
    if not found:
        raise NotAvailable("no EPN trained on streets: none is shipped, and none of the runs trained one")
    return found[-1]


def chosen_map(setting: Setting) -> tuple[int, int]:
    """World and goal of the map that is drawn."""
    return choose_map(setting.test_worlds.sample())


def table(material: AnalysisMaterial) -> Rows:
    """Every state of the neighbourhood, after each number of iterations."""
    setting, origin = street_setting(material)
    world, goal = chosen_map(setting)
    decoded = decode_map(material, setting, origin, world, goal)
    lines = half_streets(setting.test_worlds.sample().places, world)
    return [
        {
            "setting": setting.name,
            "map": origin,
            "iterations": i + 1,
            "state": state,
            "is_goal": int(state == goal),
            "distance": int(decoded.distance[state]),
            "likelihood_of_truth": float(decoded.likelihood[i, state]),
            "expected_distance": float(decoded.expected[i, state]),
            "half_street": line_text(line),
        }
        for i in range(len(decoded.likelihood))
        for state, line in enumerate(lines)
    ]


@dataclass(frozen=True)
class StreetMapFigure:
    """A figure of street maps: the truth, then one map for each number of iterations."""

    NAME: str
    TITLE: str
    CAPTION: str
    column: str
    colours: Callable[[], Colormap]
    table: Callable[[AnalysisMaterial], Rows] = table

    def plot(self, rows: Rows) -> Figure:
        """Truth and six maps, with the scales in the last panel."""
        figure = new_figure(9.6, 5.4)
        grid = figure.subplots(2, 4).ravel()
        first = [row for row in rows if row["iterations"] == 1]
        far = max(row["distance"] for row in rows)
        distances = Normalize(0, far)
        draw_states(grid[0], first, [row["distance"] for row in first], distance_colours(), distances)
        grid[0].set_title("true distance", loc="center")
        norm = distances if self.column == "expected_distance" else Normalize(0, 1)
        for axes, i in zip(grid[1:], sorted({row["iterations"] for row in rows}), strict=False):
            ours = [row for row in rows if row["iterations"] == i]
            draw_states(axes, ours, [row[self.column] for row in ours], self.colours(), norm)
            axes.set_title(plural(i), loc="center")
        grid[-1].axis("off")
        scales = [(distance_colours(), distances, "distance to the goal (moves)")]
        if self.column != "expected_distance":
            scales.append((self.colours(), norm, "likelihood of the true distance"))
        for place, (colours, scale, label) in zip((0.62, 0.22), scales, strict=False):
            inset = grid[-1].inset_axes((0.02, place, 0.94, 0.09))
            figure.colorbar(ScalarMappable(scale, colours), cax=inset, orientation="horizontal", label=label)
        return figure


def draw_states(
    axes: Axes,
    rows: Rows,
    values: list[float],
    colours: Colormap,
    norm: Normalize,
    *,
    width: float = 4.2,
) -> None:
    """The half streets of all states in the colours of their values, and the goal."""
    lines = [read_line(row["half_street"]) for row in rows]
    drawn = LineCollection(lines, linewidths=width, capstyle="round", cmap=colours, norm=norm, zorder=2)
    drawn.set_array(np.asarray(values, float))
    axes.add_collection(drawn)
    goal = next((i for i, row in enumerate(rows) if row["is_goal"]), None)
    if goal is not None:
        middle = lines[goal].mean(axis=0)
        axes.plot(*middle, "*", ms=13, color=GOAL, mec="white", mew=0.8, zorder=4)
    points = np.concatenate(lines)
    low, high = points.min(0), points.max(0)
    room = 0.05 * float((high - low).max())
    axes.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room), aspect="equal")
    axes.axis("off")


LIKELIHOOD_MAP = StreetMapFigure(
    "street_likelihood",
    "The map in the planner, on the street map (paper, Figure 4d)",
    "Likelihood that decoders give to the true distance of each state to a fixed goal, after 1 to 6 planner "
    "iterations. " + HOW_TO_READ,
    "likelihood_of_truth",
    lambda: LIKELIHOOD,
)
DISTANCE_MAP = StreetMapFigure(
    "street_distance",
    "The decoded distances on the street map (paper, supplementary figure b)",
    "Distance to the goal that decoders expect of each state, after 1 to 6 planner iterations, beside the "
    "true one. " + HOW_TO_READ,
    "expected_distance",
    distance_colours,
)
