"""An EPN as data for the page, which runs it itself: options, and weights as base64 float32.

The page's network (static/network.js) implements what is listed here and nothing else. An agent with an
option or a weight that is not listed is refused, instead of being run as if it had none.
"""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import Any

import numpy as np

from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPN
from rapidtask.agents.planner import AllToAll
from rapidtask.agents.vision import PixelEncoder
from rapidtask.errors import InputError
from rapidtask.runs.checkpoint import named_arrays

OPTIONS = {
    *("width", "num_heads", "iterations", "block", "memory", "recent_rows", "readout_width"),
    "learned_iterations",
    *("comparisons", "state_in_rows", "symbols", "vision"),
    *("goal_as_successor", "plan_with_newest", "value_channels", "sweeps"),
}
"""Options of the EPN that the page's network knows."""

WEIGHTS = re.compile(
    r"planner\.(block|to_memory|to_itself)\."
    r"(attention\.to_(query|key|value|output)\.weight|attention\.to_output\.bias"
    r"|(attention|mlp)_norm\.(scale|offset)|mlp\.layers\[[01]\]\.(weight|bias))"
    r"|row\.((origin|successor|goal)\.weight|action|match|locate)"
    r"|(match_gain|readout_match|policy_match|state_in\.weight|encoder\.table)"
    r"|values\.(unknown|(source|to_row)\.(weight|bias))"
    r"|(readout|policy)\.layers\[[01]\]\.(weight|bias)|(logits|value)\.(weight|bias)"
)
"""Names of the weights of the EPN that the page's network knows."""


def export_network(agent: Agent) -> dict[str, Any]:
    """The network as JSON: options, slots of the memory, and every weight's place in one array of float32.

    Raises:
        InputError: if the page's network cannot run this agent.
    """
    if not isinstance(agent, EPN):
        raise InputError(f"the page cannot run a {type(agent).__name__}, only an EPN")
    if isinstance(agent.encoder, PixelEncoder):
        raise InputError("the page cannot run an agent that sees pixels")
    if agent.config.block not in ("paper", "residual", "recall"):
        raise InputError(f"the page's network does not know the block {agent.config.block!r}")
    options = dataclasses.asdict(agent.config)
    weights = {name: np.asarray(array, np.float32) for name, array in named_arrays(agent)}
    if unknown := sorted({*options} - OPTIONS) or [name for name in weights if not WEIGHTS.fullmatch(name)]:
        raise InputError(f"the page's network does not know the EPN's {unknown[0]}")
    # Fixed and learned symbols are both a table to the page.
    weights["encoder.table"] = np.asarray(agent.embed().table, np.float32)
    index, offset = {}, 0
    for name, array in weights.items():
        index[name] = {"offset": offset, "shape": list(array.shape)}
        offset += array.size
    flat = np.concatenate([array.ravel() for array in weights.values()]).astype("<f4")
    return {
        "options": options,
        "blocks": ["planner.block"]
        if isinstance(agent.planner, AllToAll)
        else ["planner.to_memory", "planner.to_itself"],
        "num_slots": agent.num_slots,
        "num_weights": sum(np.asarray(array).size for _, array in named_arrays(agent)),
        "index": index,
        "weights": base64.b64encode(flat.tobytes()).decode(),
    }
