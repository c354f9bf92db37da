"""Rows of the planner: the transitions of an episodic memory, embedded."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float, Int
from numpy.random import Generator

from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.layers import Linear, draw_normal
from rapidtask.agents.memory import Memory


class RowEmbedding(eqx.Module):
    """A memory row with the goal appended, as one vector: a linear map of the embeddings."""

    action: Float[Array, "A D"]
    origin: Linear | None
    successor: Linear | None
    goal: Linear | None
    match: Float[Array, "2 D"] | None
    """What a row gains if its successor, or its origin, is the goal."""
    locate: Float[Array, "2 D"] | None
    """What a row gains if its successor, or its origin, is the current state."""

    def __init__(
        self,
        width: int,
        num_actions: int,
        rng: Generator,
        *,
        embedded: bool,
        compared: bool,
        with_state: bool,
    ):
        self.origin = self.successor = self.goal = self.match = self.locate = None
        if embedded:
            self.origin, self.successor, self.goal = (Linear(width, width, rng, bias=False) for _ in range(3))
        self.action = draw_normal(rng, num_actions, width)
        if compared:
            self.match = draw_normal(rng, 2, width)
        if with_state:
            self.locate = draw_normal(rng, 2, width)

    def __call__(
        self, memory: Memory, here: Int[Array, " B"], goal: Int[Array, " B"], embeddings: Embeddings
    ) -> Float[Array, "B N D"]:
        """Embed the rows."""
        rows = self.action[memory.action]
        places = (
            (self.origin, memory.origin),
            (self.successor, memory.successor),
            (self.goal, goal[:, None]),
        )
        for part, place in places:
            if part is not None:
                rows += embeddings.project(part.weight, place)
        for gain, place in ((self.match, goal), (self.locate, here)):
            if gain is not None:
                rows += embeddings.similarity(memory.successor, place[:, None])[..., None] * gain[0]
                rows += embeddings.similarity(memory.origin, place[:, None])[..., None] * gain[1]
        return rows
