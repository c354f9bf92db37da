"""The Episodic Planning Network (paper, section 4): a planner over an episodic memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import AgentOutput
from rapidtask.agents.encoders import Embeddings, Encoder, OrthonormalEncoder
from rapidtask.agents.episodic import EpisodicAgent
from rapidtask.agents.layers import Linear, Mlp
from rapidtask.agents.memory import Memory, empty_memory, most_recent, remember
from rapidtask.agents.planner import AllToAll, Block, BlockName, MostRecent
from rapidtask.agents.vision import Vision, make_encoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.errors import InputError


@dataclass(frozen=True)
class EPNConfig:
    """Options of the Episodic Planning Network; the defaults are the paper's."""

    width: int = 64
    """Size of embeddings, rows and hidden layers, D."""
    num_heads: int = 1
    """Attention heads, 1 to 4 in the paper."""
    iterations: int = 3
    """Planner iterations; may be changed at evaluation. 0 reads the memory without planning."""
    block: BlockName = "paper"
    """The planner's iteration: B ← MLP(ReLU(B + MHA(LN(B)))), the pre-norm residual block, the same that
    starts from the rows each time, or one of the two that the paper's footnote found worse."""
    memory: Literal["all", "unique"] = "unique"
    """One row per step, or one counted row per different transition: the same function, another cost."""
    recent_rows: int | None = None
    """How many of the most recent rows plan, attending to all (the paper's Nxk, k); by default every row."""
    compare_places: bool = False
    """Give rows the comparisons they cannot cheaply learn: which places are equal."""
    comparison_gain: float | None = 4.0
    """First gain of equal places in attention: of each head's own kind, "look at the rows that go on from
    where I lead" the first head's, "… at those that lead to where I start" the second's, and so on; the
    others start at 0. None gives comparisons to rows and readout alone, not to attention."""
    state_in_rows: bool = False
    """With compared places: tell rows before planning, not only after it, whether they touch the current
    state."""
    readout_width: int | None = None
    """Hidden units of the network that reads rows out after planning; by default `width`."""
    goal_in_rows: bool = True
    """Tell rows the goal before planning; else only the policy knows it."""
    symbols: Literal["learned", "fixed"] = "learned"
    """Learned embeddings of symbols, or fixed orthonormal ones."""
    vision: Vision = "resnet"
    """Of frames: the paper's network, trained with the rest, or principal components fitted beforehand."""
    goal_as_successor: bool = False
    """Let a completed task's row lead to its goal, not to what is seen next (a false row after a respawn)."""
    plan_with_newest: bool = False
    """Add the newest transition before planning, not after it as in the paper."""

    def make(self, spec: EnvironmentSpec, key: PRNGKeyArray) -> EPN:
        """Build an agent with fresh weights, and memory for episodes of the environment's length."""
        return EPN(self, spec, key)

    def num_slots(self, spec: EnvironmentSpec) -> int:
        """Slots that the memory can come to need: actions are deterministic, so each pair has one outcome."""
        if self.memory == "all":
            return spec.episode_steps
        # As seen, the same action in the same place may lead to its outcome or to any start of a new task.
        outcomes = 1 if self.goal_as_successor else spec.num_observations
        return min(spec.episode_steps, spec.num_observations * spec.num_actions * outcomes)


class Plan(eqx.Module):
    """What the planner makes of memories."""

    memory: Memory
    """What the belief's rows are about: the memory, or its k most recent rows (Nxk)."""
    beliefs: list[Float[Array, "B N D"]]
    """The belief before planning and after each iteration."""
    attention: list[Float[Array, "B H N M"]]
    """If asked for: how much, in each iteration, the belief's rows attend to the memory's."""


class EPN(EpisodicAgent):
    """Remembers transitions, plans over them by iterated self-attention, acts on the planner's summary."""

    encoder: Encoder
    row: RowEmbedding
    planner: AllToAll | MostRecent
    match_gain: Float[Array, "4 H"] | None
    """Attention gains for successor-origin, origin-successor, origin-origin, successor-successor matches."""
    state_in: Linear
    readout: Mlp
    readout_match: Float[Array, "2 D"] | None
    policy: Mlp
    policy_match: Float[Array, " D"] | None
    logits: Linear
    value: Linear
    config: EPNConfig = eqx.field(static=True)
    num_slots: int = eqx.field(static=True)

    def __init__(self, config: EPNConfig, spec: EnvironmentSpec, key: PRNGKeyArray):
        width, heads = config.width, config.num_heads
        if config.iterations < 0:
            raise InputError(f"iterations is {config.iterations}, expected at least 0")
        if config.state_in_rows and not config.compare_places:
            raise InputError("state_in_rows needs compare_places: it is such a comparison")
        keys = iter(jax.random.split(key, 10))
        if config.symbols == "fixed" and not spec.pixels:
            if spec.num_observations > width and not config.compare_places:
                raise InputError(
                    f"{spec.num_observations} fixed symbols need compare_places, or a width of as many"
                )
            self.encoder = OrthonormalEncoder(spec.num_observations, width)
        else:
            self.encoder = make_encoder(spec, width, next(keys), config.vision)
        self.row = RowEmbedding(width, spec.num_actions, config, next(keys))
        block = lambda: Block(config.block, width, heads, next(keys))  # noqa: E731
        self.planner = AllToAll(block()) if config.recent_rows is None else MostRecent(block(), block())
        self.state_in = Linear(width, width, next(keys), bias=False)
        self.readout = Mlp((width, config.readout_width or width, width), next(keys))
        self.policy = Mlp((3 * width, width, width), next(keys))
        self.logits = Linear(width, spec.num_actions, next(keys), scale=0.1)
        self.value = Linear(width, 1, next(keys), scale=0.1)
        self.match_gain = self.readout_match = self.policy_match = None
        if config.compare_places:
            if config.comparison_gain is not None:
                self.match_gain = config.comparison_gain * jnp.eye(4)[:, jnp.arange(heads) % 4]
            self.readout_match = jax.random.normal(next(keys), (2, width))
            self.policy_match = jnp.ones(width)
        self.config = config
        self.num_slots = config.num_slots(spec)

    def initial_state(self, batch_size: int) -> Memory:
        """See `Agent`."""
        return empty_memory(batch_size, self.num_slots)

    def step_memory(self, memory: Memory, timestep: TimeStep) -> tuple[Memory, Memory]:
        """See `EpisodicAgent`."""
        unique, arrival = self.config.memory == "unique", self.config.goal_as_successor
        after = remember(memory, timestep, unique=unique, arrival=arrival)
        if self.config.plan_with_newest:
            return after, after
        # The newest row waits until after planning; a new episode starts with nothing to plan over.
        count = jnp.where(timestep.first[:, None], 0, memory.count)
        return eqx.tree_at(lambda m: m.count, memory, count), after

    def act(self, memory: Memory, timestep: TimeStep, embeddings: Embeddings) -> AgentOutput:
        """See `EpisodicAgent`."""
        plan = self.plan(memory, timestep, embeddings)
        summary = self.read(plan.beliefs[-1], plan.memory, timestep, embeddings)
        return self.decide(summary, timestep, embeddings)

    def plan(
        self,
        memory: Memory,
        timestep: TimeStep,
        embeddings: Embeddings,
        iterations: int | None = None,
        *,
        with_attention: bool = False,
    ) -> Plan:
        """Plan over memories `[B]`, for as many iterations as configured or given.

        Args:
            memory: what to plan over.
            timestep: where the agents are and want to go.
            embeddings: embedded observation table.
            iterations: how long to plan.
            with_attention: whether to keep the weights with which rows attend to rows.
        """
        iterations = self.config.iterations if iterations is None else iterations
        rows = self.row(memory, timestep.observation, timestep.goal, embeddings)
        if isinstance(self.planner, AllToAll):
            bias = self._bias(memory, memory, embeddings)
            beliefs = self.planner(rows, bias, iterations)
            attention = [self.planner.block.weights(b, None, bias) for b in beliefs[:-1] if with_attention]
            return Plan(memory, beliefs, attention)
        assert self.config.recent_rows is not None
        recent, belief = most_recent(memory, rows, self.config.recent_rows)
        bias = self._bias(recent, memory, embeddings)
        beliefs = self.planner(belief, rows, bias, self._bias(recent, recent, embeddings), iterations)
        attention = [self.planner.to_memory.weights(b, rows, bias) for b in beliefs[:-1] if with_attention]
        return Plan(recent, beliefs, attention)

    def read(
        self, belief: Float[Array, "B N D"], memory: Memory, timestep: TimeStep, embeddings: Embeddings
    ) -> Float[Array, "B D"]:
        """Summarise a belief, whose rows are those of the memory, for the current state: max-pooling."""
        here = timestep.observation
        belief = belief + embeddings.project(self.state_in.weight, here)[:, None]
        if self.readout_match is not None:
            for end, gain in zip((memory.origin, memory.successor), self.readout_match, strict=True):
                belief += embeddings.similarity(end, here[:, None])[..., None] * gain
        mask = memory.mask
        best = jnp.max(jnp.where(mask[..., None], self.readout(belief), -jnp.inf), axis=1)
        return jnp.where(mask.any(-1, keepdims=True), best, 0.0)

    def decide(self, summary: Float[Array, "B D"], timestep: TimeStep, embeddings: Embeddings) -> AgentOutput:
        """Policy and baseline from the planner's summary, the current state and the goal."""
        here, goal = timestep.observation, timestep.goal
        hidden = jnp.concatenate([summary, embeddings.look_up(here), embeddings.look_up(goal)], axis=-1)
        hidden = self.policy.layers[0](hidden)
        if self.policy_match is not None:
            hidden += embeddings.similarity(here, goal)[:, None] * self.policy_match
        features = jax.nn.relu(self.policy.layers[1](jax.nn.relu(hidden)))
        return AgentOutput(self.logits(features), self.value(features)[..., 0], jnp.zeros(here.shape))

    def _bias(self, of: Memory, to: Memory, embeddings: Embeddings) -> Float[Array, "B H Q N"]:
        """What each row's attention to each other is given: counts, and matching places."""
        # An empty memory attends to its unused slots, equally; nothing comes of it.
        visible = to.mask | ~to.mask.any(-1, keepdims=True)
        bias = jnp.where(visible, jnp.maximum(to.log_count, 0.0), -jnp.inf)[:, None, None, :]
        if self.match_gain is None:
            return jnp.broadcast_to(bias, (bias.shape[0], 1, of.origin.shape[1], bias.shape[-1]))
        kinds = (
            (of.successor, to.origin),
            (of.origin, to.successor),
            (of.origin, to.origin),
            (of.successor, to.successor),
        )
        for gain, (mine, yours) in zip(self.match_gain, kinds, strict=True):
            match = embeddings.similarity(mine[:, :, None], yours[:, None, :])
            bias = bias + match[:, None] * gain[:, None, None]
        return bias


class RowEmbedding(eqx.Module):
    """A memory row, by default with the goal appended, as one vector: a linear map of the embeddings."""

    origin: Linear
    action: Float[Array, "A D"]
    successor: Linear
    goal: Linear | None
    match: Float[Array, "2 D"] | None
    """What a row gains if its successor, or its origin, is the goal."""
    locate: Float[Array, "2 D"] | None
    """What a row gains if its successor, or its origin, is the current state."""

    def __init__(self, width: int, num_actions: int, config: EPNConfig, key: PRNGKeyArray):
        keys = jax.random.split(key, 6)
        self.origin, self.successor, goal = (Linear(width, width, k, bias=False) for k in keys[:3])
        self.goal = goal if config.goal_in_rows else None
        self.action = jax.random.normal(keys[3], (num_actions, width))
        match = config.compare_places and config.goal_in_rows
        self.match = jax.random.normal(keys[4], (2, width)) if match else None
        self.locate = jax.random.normal(keys[5], (2, width)) if config.state_in_rows else None

    def __call__(
        self, memory: Memory, here: Int[Array, " B"], goal: Int[Array, " B"], embeddings: Embeddings
    ) -> Float[Array, "B N D"]:
        """Embed the rows."""
        rows = (
            embeddings.project(self.origin.weight, memory.origin)
            + self.action[memory.action]
            + embeddings.project(self.successor.weight, memory.successor)
        )
        if self.goal is not None:
            rows += embeddings.project(self.goal.weight, goal)[:, None]
        for gain, place in ((self.match, goal), (self.locate, here)):
            if gain is not None:
                rows += embeddings.similarity(memory.successor, place[:, None])[..., None] * gain[0]
                rows += embeddings.similarity(memory.origin, place[:, None])[..., None] * gain[1]
        return rows
