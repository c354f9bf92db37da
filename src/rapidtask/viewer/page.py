"""Recordings as one self-contained HTML page."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image

import rapidtask
from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.viewer.network_export import export_network
from rapidtask.viewer.recording import Recording
from rapidtask.viewer.value_readout import ValueMap
from rapidtask.viewer.world_map import describe_world

STYLES = ("style.css", "parts.css")
SCRIPTS = (
    *("data.js", "network.js", "drawing.js", "torus_map.js", "street_map.js", "graph_map.js"),
    *("charts.js", "watch.js", "compare.js", "game.js", "playground.js", "main.js"),
)
"""Parts of the page in the order that they are inlined."""
UNKNOWN = 255
"""Byte of a value map where nothing is known."""


def make_page(
    environment: Environment,
    recordings: Sequence[Recording],
    *,
    title: str,
    views: UInt8[np.ndarray, "S H W 3"] | None = None,
) -> str:
    """The page of recordings of one world: the watched policy first, then those it is compared with.

    The title names the world; `views` show what each state looks like, if there is more to see than symbols.
    """
    if not recordings:
        raise InputError("a page needs at least one recording")
    first = recordings[0]
    world, symbols = int(first.episode.world), np.asarray(first.episode.symbols)
    for other in recordings:
        if int(other.episode.world) != world or not np.array_equal(other.episode.symbols, symbols):
            raise InputError(f"{other.name} was recorded in another world than {first.name}")
    data = {
        "version": rapidtask.__version__,
        "title": title,
        "seed": first.seed,
        "world": describe_world(environment, world, symbols),
        "views": None if views is None else as_addresses(views),
        "runs": [describe_recording(recording) for recording in recordings],
    }
    static = resources.files("rapidtask.viewer") / "static"
    read = lambda *names: "\n".join((static / name).read_text(encoding="utf-8") for name in names)  # noqa: E731
    page = read("page.html")
    fills = {
        "/*styles*/": read(*STYLES),
        "/*scripts*/": read(*SCRIPTS),
        # In a script element "</" could end it early, and "<!--<script>" swallow its end.
        "/*data*/": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    }
    for mark, content in fills.items():
        before, found, after = page.partition(mark)
        assert found, mark
        page = before + content + after
    return page


def describe_recording(recording: Recording) -> dict[str, Any]:
    """A recording as JSON."""
    network, why_not = None, "this policy is not a learned agent"
    if recording.agent is not None:
        try:
            network, why_not = export_network(recording.agent), None
        except InputError as error:
            why_not = str(error)
    episode = recording.episode
    return {
        "name": recording.name,
        "place": episode.state.tolist(),
        "goal": episode.goal.tolist(),
        "action": episode.action.tolist(),
        "completed": episode.completed.astype(int).tolist(),
        "probability": _rounded(recording.probability),
        "value": _rounded(recording.value),
        "value_map": None if recording.value_map is None else describe_value_map(recording.value_map),
        "network": network,
        "why_no_network": why_not,
    }


def describe_value_map(value_map: ValueMap) -> dict[str, Any]:
    """A value map as JSON: a byte per step, iteration and state."""
    value = np.nan_to_num(value_map.value * (UNKNOWN - 1), nan=UNKNOWN).round()
    distance = np.where(value_map.distance < 0, UNKNOWN, value_map.distance)
    return {
        "shape": list(value_map.value.shape),
        "value": _base64(value.astype(np.uint8).tobytes()),
        "distance": _base64(distance.astype(np.uint8).tobytes()),
        "no_path": value_map.no_path,
        "agreement": _rounded(value_map.agreement),
        "chance": round(value_map.chance, 6),
        "fitted_steps": value_map.fitted_steps,
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _rounded(array: np.ndarray | None) -> list | None:
    return None if array is None else np.asarray(array, np.float64).round(6).tolist()


def as_addresses(frames: UInt8[np.ndarray, "S H W 3"]) -> list[str]:
    """Each frame as a JPEG in a data address, so that the page holds it."""
    addresses = []
    for frame in frames:
        file = io.BytesIO()
        Image.fromarray(frame).save(file, "JPEG", quality=85)
        addresses.append(f"data:image/jpeg;base64,{_base64(file.getvalue())}")
    return addresses
