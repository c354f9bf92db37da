"""What a street world looks like: the view of each state as a small picture in the page."""

from __future__ import annotations

import base64
import io

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from rapidtask.envs.environment import Environment
from rapidtask.views.sources import RenderedFrames
from rapidtask.worlds.frame_store import half_edges_of


def render_street_views(environment: Environment, world: int) -> UInt8[np.ndarray, "S 84 84 3"] | None:
    """The view of each state of a street world, rendered from the streets; None for other worlds."""
    places = environment.pool.places
    if places is None:
        return None
    count = places.num_states[world]
    city = places.cities[places.city[world]]
    tail, first = places.tail[world, :count], places.first[world, :count]
    return RenderedFrames(city).make(half_edges_of(city, tail, first))


def as_addresses(frames: UInt8[np.ndarray, "S H W 3"]) -> list[str]:
    """Each frame as a JPEG in a data address, so that the page holds it."""
    addresses = []
    for frame in frames:
        file = io.BytesIO()
        Image.fromarray(frame).save(file, "JPEG", quality=85)
        addresses.append(f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}")
    return addresses
