"""The Episodic Planning Network (paper, section 4): a planner over an episodic memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent, AgentOutput, Linear, Mlp
from rapidtask.agents.encoders import Embeddings, Encoder, OrthonormalEncoder
from rapidtask.agents.memory import Memory, empty_memory, remember
from rapidtask.agents.planner import AllToAll, Block, BlockName, MostRecent
from rapidtask.agents.vision import Vision, make_encoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.errors import InputError

SLOT_BUCKET = 16
"""Memories are planned over in the smallest bucket that holds their rows; buckets start as its multiples."""


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
    """The planner's iteration: B ← MLP(ReLU(B + MHA(LN(B)))), the pre-norm residual block, or one of the two
    that the paper's footnote found worse."""
    memory: Literal["all", "unique"] = "unique"
    """One row per step, or one counted row per different transition: the same function, another cost."""
    attention: Literal["all_to_all", "nxk"] = "all_to_all"
    """Every row attends to every row, or the k most recent to all."""
    k: int = 50
    """Most recent rows that plan with `attention="nxk"`."""
    match: bool = False
    """Give rows the comparisons they cannot cheaply learn: which places are equal."""
    match_start: float | None = 4.0
    """First gain of matches: of each head's own kind, "look at the rows that go on from where I lead" the
    first head's, "… at those that lead to where I start" the second's, and so on; the others start at 0.
    None gives comparisons to rows and readout alone, not to attention."""
    locate: bool = False
    """With match: tell rows before planning, not only after it, whether they touch the current state."""
    readout_width: int | None = None
    """Hidden units of the network that reads rows out after planning; by default `width`."""
    goal_in_rows: bool = True
    """Tell rows the goal before planning; else only the policy knows it."""
    symbols: Literal["learned", "fixed"] = "learned"
    """Learned embeddings of symbols, or fixed orthonormal ones."""
    vision: Vision = "resnet"
    """Of frames: the paper's network, trained with the rest, or principal components fitted beforehand."""
    boundary: Literal["arrival", "as_seen"] = "as_seen"
    """A completed task's row leads to its goal, or to what is seen next (a false row after a respawn)."""
    write: Literal["after", "before"] = "after"
    """Whether the newest transition is added after planning, as in the paper, or before."""

    def make(self, spec: EnvironmentSpec, key: PRNGKeyArray) -> EPN:
        """Build an agent with fresh weights, and memory for episodes of the environment's length."""
        return EPN(self, spec, key)

    def num_slots(self, spec: EnvironmentSpec) -> int:
        """Slots that the memory can come to need: actions are deterministic, so each pair has one outcome."""
        if self.memory == "all":
            return spec.episode_steps
        # As seen, the same action in the same place may lead to its outcome or to any start of a new task.
        outcomes = 1 if self.boundary == "arrival" else spec.num_observations
        return min(spec.episode_steps, spec.num_observations * spec.num_actions * outcomes)


class EPN(Agent):
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
        if config.locate and not config.match:
            raise InputError("locate needs match: it is a comparison of places")
        keys = iter(jax.random.split(key, 10))
        if config.symbols == "fixed" and not spec.pixels:
            if spec.num_observations > width and not config.match:
                raise InputError(f"{spec.num_observations} fixed symbols need match, or a width of as many")
            self.encoder = OrthonormalEncoder(spec.num_observations, width)
        else:
            self.encoder = make_encoder(spec, width, next(keys), config.vision)
        self.row = RowEmbedding(width, spec.num_actions, config, next(keys))
        block = lambda: Block(config.block, width, heads, next(keys))  # noqa: E731
        self.planner = AllToAll(block()) if config.attention == "all_to_all" else MostRecent(block(), block())
        self.state_in = Linear(width, width, next(keys), bias=False)
        self.readout = Mlp((width, config.readout_width or width, width), next(keys))
        self.policy = Mlp((3 * width, width, width), next(keys))
        self.logits = Linear(width, spec.num_actions, next(keys), scale=0.1)
        self.value = Linear(width, 1, next(keys), scale=0.1)
        self.match_gain = self.readout_match = self.policy_match = None
        if config.match:
            if config.match_start is not None:
                self.match_gain = config.match_start * jnp.eye(4)[:, jnp.arange(heads) % 4]
            self.readout_match = jax.random.normal(next(keys), (2, width))
            self.policy_match = jnp.ones(width)
        self.config = config
        self.num_slots = config.num_slots(spec)

    def initial_state(self, batch_size: int) -> Memory:
        """See `Agent`."""
        return empty_memory(batch_size, self.num_slots)

    def step(self, state: Memory, timestep: TimeStep, embeddings: Embeddings):
        """See `Agent`."""
        before, after = self.recall(state, timestep)
        return self.act(before, timestep, embeddings, bucketed=True), after

    def unroll(self, state: Memory, timesteps: TimeStep, embeddings: Embeddings):
        """See `Agent`: memories are ids, so all steps are planned at once."""
        memories, state = self.recall_all(state, timesteps)
        num_steps, batch_size = timesteps.action.shape
        flatten = lambda x: x.reshape(num_steps * batch_size, *x.shape[2:])  # noqa: E731
        if embeddings.table.ndim == 3:
            tiled = jnp.tile(embeddings.table, (num_steps, 1, 1))
            embeddings = eqx.tree_at(lambda e: e.table, embeddings, tiled)
        output = self.act(jax.tree.map(flatten, memories), jax.tree.map(flatten, timesteps), embeddings)
        unflatten = lambda x: x.reshape(num_steps, batch_size, *x.shape[1:])  # noqa: E731
        return jax.tree.map(unflatten, output.without_beliefs()), state

    def recall(self, memory: Memory, timestep: TimeStep) -> tuple[Memory, Memory]:
        """The memory to plan over at this timestep, and the memory after it."""
        unique, arrival = self.config.memory == "unique", self.config.boundary == "arrival"
        after = remember(memory, timestep, unique=unique, arrival=arrival)
        if self.config.write == "before":
            return after, after
        # The newest row waits until after planning; a new episode starts with nothing to plan over.
        count = jnp.where(timestep.first[:, None], 0, memory.count)
        return eqx.tree_at(lambda m: m.count, memory, count), after

    def recall_all(self, memory: Memory, timesteps: TimeStep) -> tuple[Memory, Memory]:
        """The memories `[T, B]` to plan over at each timestep, and the memory after the last."""

        def step(memory: Memory, timestep: TimeStep) -> tuple[Memory, Memory]:
            before, after = self.recall(memory, timestep)
            return after, before

        memory, memories = jax.lax.scan(step, memory, timesteps)
        return memories, memory

    def act(
        self,
        memory: Memory,
        timestep: TimeStep,
        embeddings: Embeddings,
        *,
        bucketed: bool = False,
        iterations: int | None = None,
        read_after: Int[Array, " B"] | None = None,
    ) -> AgentOutput:
        """Plan over memories `[B]` and choose.

        Args:
            memory: what to plan over.
            timestep: where the agents are and want to go.
            embeddings: embedded observation table.
            bucketed: plan in as few slots as the fullest memory needs. One program per number of slots is
                compiled, and the beliefs, whose shape would depend on it, are left out.
            iterations: planner iterations, if other than configured.
            read_after: iterations after which each memory's plan is acted on, if not after the last.
        """
        iterations = self.config.iterations if iterations is None else iterations
        act = lambda cut: self._plan_and_act(cut, timestep, embeddings, iterations, read_after)  # noqa: E731
        return in_fewest_slots(memory, lambda cut: act(cut).without_beliefs()) if bucketed else act(memory)

    def _plan_and_act(
        self,
        memory: Memory,
        timestep: TimeStep,
        embeddings: Embeddings,
        iterations: int,
        read_after: Int[Array, " B"] | None,
    ) -> AgentOutput:
        here, goal = timestep.observation, timestep.goal
        similarity = embeddings.similarity
        rows = self.row(memory, here, goal, embeddings)
        memory, beliefs = self._plan(memory, rows, embeddings, iterations)

        belief = beliefs[-1]
        if read_after is not None:
            belief = jnp.stack(beliefs)[read_after - 1, jnp.arange(len(here))]
        read = belief + embeddings.project(self.state_in.weight, here)[:, None]
        if self.readout_match is not None:
            read += similarity(memory.origin, here[:, None])[..., None] * self.readout_match[0]
            read += similarity(memory.successor, here[:, None])[..., None] * self.readout_match[1]
        readout = self.readout(read)
        mask = memory.mask
        best = jnp.max(jnp.where(mask[..., None], readout, -jnp.inf), axis=1)
        summary = jnp.where(mask.any(-1, keepdims=True), best, 0.0)

        hidden = jnp.concatenate([summary, embeddings.look_up(here), embeddings.look_up(goal)], axis=-1)
        hidden = self.policy.layers[0](hidden)
        if self.policy_match is not None:
            hidden += similarity(here, goal)[:, None] * self.policy_match
        features = jax.nn.relu(self.policy.layers[1](jax.nn.relu(hidden)))
        return AgentOutput(
            logits=self.logits(features),
            value=self.value(features)[..., 0],
            auxiliary_loss=jnp.zeros(here.shape),
            beliefs=jnp.stack(beliefs),
        )

    def _plan(
        self, memory: Memory, rows: Float[Array, "B N D"], embeddings: Embeddings, iterations: int
    ) -> tuple[Memory, list[Array]]:
        """The memory rows that hold the belief, and the belief after each iteration."""
        if isinstance(self.planner, AllToAll):
            return memory, self.planner(rows, self._bias(memory, memory, embeddings), iterations)
        recent, belief = most_recent(memory, rows, self.config.k)
        to_memory = self._bias(recent, memory, embeddings)
        to_itself = self._bias(recent, recent, embeddings)
        return recent, self.planner(belief, rows, to_memory, to_itself, iterations)

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
        match = config.match and config.goal_in_rows
        self.match = jax.random.normal(keys[4], (2, width)) if match else None
        self.locate = jax.random.normal(keys[5], (2, width)) if config.locate else None

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


def slot_buckets(num_slots: int) -> Sequence[int]:
    """Numbers of slots that programs are compiled for: each at most 16 or a quarter larger than the last.

    Programs take seconds to compile, and memories of every step may have thousands of slots.
    """
    buckets = [SLOT_BUCKET]
    while buckets[-1] < num_slots:
        power = 1 << (buckets[-1].bit_length() - 1)
        buckets.append(buckets[-1] + max(SLOT_BUCKET, power // 4))
    return [*buckets[:-1], num_slots]


def in_fewest_slots(memory: Memory, function):
    """`function(memory)` on the memory cut to the smallest bucket of slots that holds every row in use."""
    buckets = slot_buckets(memory.origin.shape[-1])
    bucket = jnp.searchsorted(jnp.asarray(buckets), memory.size.max())
    branches = [lambda m, n=n: function(m.first_slots(n)) for n in buckets]
    return jax.lax.switch(bucket, branches, memory)


def most_recent(memory: Memory, rows: Float[Array, "B N D"], k: int) -> tuple[Memory, Float[Array, "B K D"]]:
    """The k rows written last."""
    k = min(k, memory.origin.shape[-1])
    _, index = jax.lax.top_k(jnp.where(memory.mask, memory.written, -1), k)
    take = lambda x: jnp.take_along_axis(x, index, axis=1)  # noqa: E731
    recent = Memory(
        take(memory.origin),
        take(memory.action),
        take(memory.successor),
        take(memory.count),
        take(memory.written),
        memory.steps,
        memory.observation,
        memory.goal,
    )
    return recent, jnp.take_along_axis(rows, index[..., None], axis=1)
