"""Where frames come from: rendered from the streets, or cropped from panoramas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Int, UInt8

from rapidtask.cities.catalogue import CityEntry
from rapidtask.cities.city_graph import CityGraph
from rapidtask.errors import InputError
from rapidtask.views.panoramas import PanoramaFrames
from rapidtask.views.renderer import VERSION, render_view
from rapidtask.views.scene import HOUR, Scene, heading_between, make_scene
from rapidtask.worlds.frame_store import FRAME_SIZE


@dataclass(frozen=True, eq=False)
class RenderedFrames:
    """Views rendered from the streets, and from the footprints of buildings if the city has them."""

    city: CityGraph
    hour: float = HOUR
    """Hour of the day, 5 to 21."""
    kind: ClassVar[str] = "rendered"
    parallel: ClassVar[bool] = True

    @property
    def version(self) -> str:
        """What makes the pixels; names the buildings too, which are no part of the street graph."""
        name = f"street renderer {VERSION}"
        footprints = self.city.buildings
        return name if footprints is None else f"{name}, buildings {footprints.fingerprint}"

    @cached_property
    def scene(self) -> Scene:
        """The city in three dimensions; built when it is first looked at."""
        return make_scene(self.city, self.hour)

    def make(self, half_edges: Int[np.ndarray, " F"]) -> UInt8[np.ndarray, "F 84 84 3"]:
        """The views at the tails of half-edges toward their heads."""
        frames = np.empty((len(half_edges), FRAME_SIZE, FRAME_SIZE, 3), np.uint8)
        nodes = self.scene.plan.nodes
        for i, half_edge in enumerate(np.asarray(half_edges).tolist()):
            node, towards = int(self.city.tails[half_edge]), int(self.city.neighbours[half_edge])
            frames[i] = render_view(self.scene, nodes[node], heading_between(self.scene, node, towards))
        return frames


FrameSource = RenderedFrames | PanoramaFrames
"""Makes the frames of a city. It is sent to other processes, so it is small until first used."""


def choose_source(entry: CityEntry, hour: float | None = None) -> FrameSource:
    """Panoramas if the city is a StreetLearn dataset that has them, else rendered views.

    Args:
        entry: a city of the catalogue.
        hour: hour of the day of rendered views.

    Raises:
        InputError: if an hour is asked of panoramas.
    """
    city = entry.load()
    if entry.path is None or not entry.path.is_dir():
        return RenderedFrames(city, HOUR if hour is None else hour)
    if hour is not None:
        raise InputError(f"--hour: {entry.path} has panoramas, whose light cannot be chosen")
    return PanoramaFrames(city, entry.path)
