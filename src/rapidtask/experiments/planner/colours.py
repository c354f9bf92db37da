"""Colours of the figures about planners."""

from __future__ import annotations

from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap

LIKELIHOOD = LinearSegmentedColormap.from_list("likelihood", ["#e3e6eb", "#9ec5f4", "#2563eb", "#172554"])
"""From grey (wrong, or not known) to blue (known)."""
ATTENTION = LinearSegmentedColormap.from_list("attention", ["#e9ebef", "#fdba74", "#ea580c", "#7c2d12"])
DISTANCE = colormaps["viridis_r"]
"""Bright near the goal, dark far from it."""
GOAL = "#ea580c"


def iteration_colour(iteration: int, iterations: int = 6):
    """From light to dark as the planner thinks longer."""
    return colormaps["viridis_r"](0.12 + 0.88 * (iteration - 1) / max(1, iterations - 1))
