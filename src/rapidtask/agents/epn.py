"""The Episodic Planning Network (paper, section 4): a planner over an episodic memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy.random import Generator, default_rng

from rapidtask.agents.agent import AgentOutput
from rapidtask.agents.encoders import Embeddings, Encoder, OrthonormalEncoder
from rapidtask.agents.episodic import EpisodicAgent
from rapidtask.agents.layers import Linear, Mlp, draw_normal, to_device
from rapidtask.agents.memory import Memory, empty_memory, most_recent, remember
from rapidtask.agents.moves import Moves, find_moves
from rapidtask.agents.neighbours import MANY_ROWS, Neighbours, bias_of_pairs, list_neighbours
from rapidtask.agents.planner import AllToAll, Block, BlockName, MostRecent, Plan
from rapidtask.agents.rows import RowEmbedding
from rapidtask.agents.value_iteration import ValueIteration
from rapidtask.agents.vision import Vision, make_encoder
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.errors import InputError
from rapidtask.options import Count, CountOrZero, check_options

Comparisons = Literal["none", "rows", "attention", "neighbours"]

FIRST_GAIN = 8.0
"""What a head's attention gives to the rows of its kind before it learns."""


@dataclass(frozen=True)
class EPNConfig:
    """Options of the Episodic Planning Network; the defaults are the paper's."""

    width: Count = 64
    """Size of embeddings, rows and hidden layers, D."""
    num_heads: Count = 1
    """Attention heads, 1 to 4 in the paper."""
    iterations: CountOrZero = 3
    """Planner iterations; may be changed at evaluation. 0 reads the memory without planning."""
    learned_iterations: Count | None = None
    """Learn from the last so many iterations, by default from all. Before them come others, their number
    drawn for a rollout; there are `iterations` on average. A plan must not hang on when it stops."""
    block: BlockName = "paper"
    """The planner's iteration: B ← MLP(ReLU(B + MHA(LN(B)))), the pre-norm residual block, the same that
    starts from the rows each time, or one of the two that the paper's footnote found worse."""
    memory: Literal["all", "unique", "set"] = "unique"
    """One row per step; one counted row per different transition, the same function at another cost; or a
    set, whose rows all count the same however often they were experienced."""
    recent_rows: Count | None = None
    """How many of the most recent rows plan, attending to all (the paper's Nxk, k); by default every row."""
    comparisons: Comparisons = "none"
    """Give rows the comparisons they cannot cheaply learn: which places are equal. To rows and readout alone;
    also to attention, as gains that are learned, from "look at the rows that go on from where I lead" in the
    first head, "… at those that lead to where I start" in the second, and so on; or let each head see the
    rows of its kind and no other: neighbours."""
    state_in_rows: bool = False
    """With comparisons: tell rows whether they touch the current state before planning, not only after it."""
    readout_width: Count | None = None
    """Hidden units of the network that reads rows out after planning; by default `width`."""
    symbols: Literal["learned", "fixed", "none"] = "learned"
    """Learned embeddings of symbols, fixed orthonormal ones, or none: then rows and policy know places, seen
    ones too, by comparisons alone."""
    vision: Vision = "resnet"
    """Of frames: the paper's network, trained with the rest, or principal components fitted beforehand."""
    goal_as_successor: bool = False
    """Let a completed task's row lead to its goal, not to what is seen next (a false row after a respawn)."""
    plan_with_newest: bool = False
    """Add the newest transition before planning, not after it as in the paper."""
    value_channels: CountOrZero = 0
    """With comparisons: kinds of value that are passed on along remembered moves after the iterations, so
    that what is far is planned as well as what is near; 0 for none."""
    sweeps: Count | None = None
    """How many moves far values are passed on; by default as far as there are moves."""

    def __post_init__(self) -> None:
        check_options(self)
        if self.width % self.num_heads:
            raise InputError(f"width is {self.width}, not a multiple of num_heads, {self.num_heads}")
        idle = {"state_in_rows": False, "symbols": "learned", "value_channels": 0}
        for option, without in idle.items() if self.comparisons == "none" else ():
            if (given := getattr(self, option)) not in (without, "fixed"):
                raise InputError(f"{option}={given} needs comparisons")
        if self.value_channels == 0 and self.sweeps is not None:
            raise InputError("sweeps: there are no values to pass on, give value_channels")
        if self.value_channels and self.memory == "all":
            raise InputError("value_channels: memory=all has too many rows for a place, give unique or set")
        if self.learned_iterations is not None and self.recent_rows is not None:
            raise InputError("learned_iterations: with recent_rows all are learned from, give None")

    def make(self, spec: EnvironmentSpec, seed: int) -> EPN:
        """Build an agent with fresh weights, and memory for episodes of the environment's length."""
        return EPN(self, spec, default_rng(seed))

    def num_slots(self, spec: EnvironmentSpec) -> int:
        """Slots that the memory can come to need: actions are deterministic, so each pair has one outcome."""
        if self.memory == "all":
            return spec.episode_steps
        # As seen, the same action in the same place may lead to its outcome or to any start of a new task.
        outcomes = 1 if self.goal_as_successor else spec.num_observations
        return min(spec.episode_steps, spec.num_observations * spec.num_actions * outcomes)


class EPN(EpisodicAgent):
    """Remembers transitions, plans over them by iterated self-attention, acts on the planner's summary."""

    encoder: Encoder
    row: RowEmbedding
    planner: AllToAll | MostRecent
    match_gain: Float[Array, "4 H"] | None
    """Attention gains for successor-origin, origin-successor, origin-origin, successor-successor matches."""
    values: ValueIteration | None
    state_in: Linear | None
    readout: Mlp
    readout_match: Float[Array, "2 D"] | None
    policy: Mlp
    policy_match: Float[Array, " D"] | None
    logits: Linear
    value: Linear
    further: Int[Array, ""] | None
    """In a rollout of training, how many iterations come before those that are learned from."""
    config: EPNConfig = eqx.field(static=True)
    num_slots: int = eqx.field(static=True)

    def __init__(self, config: EPNConfig, spec: EnvironmentSpec, rng: Generator):
        width, heads, compared = config.width, config.num_heads, config.comparisons != "none"
        if config.symbols != "learned" and not spec.pixels:
            if spec.num_observations > width and not compared:
                raise InputError(
                    f"{spec.num_observations} fixed symbols need comparisons, or a width of as many"
                )
            self.encoder = OrthonormalEncoder(spec.num_observations, width)
        else:
            self.encoder = make_encoder(spec, width, rng, config.vision)
        embedded = config.symbols != "none"
        kinds = {"embedded": embedded, "compared": compared, "with_state": config.state_in_rows}
        self.row = RowEmbedding(width, spec.num_actions, rng, **kinds)
        block = lambda: Block(config.block, width, heads, rng)  # noqa: E731
        self.planner = AllToAll(block()) if config.recent_rows is None else MostRecent(block(), block())
        channels = config.value_channels
        self.values = ValueIteration(width, channels, rng) if channels else None
        self.state_in = Linear(width, width, rng, bias=False) if embedded else None
        self.readout = Mlp((width, config.readout_width or width, width), rng)
        self.policy = Mlp((3 * width if embedded else width, width, width), rng)
        self.logits = Linear(width, spec.num_actions, rng, scale=0.1)
        self.value = Linear(width, 1, rng, scale=0.1)
        self.match_gain = self.readout_match = self.policy_match = None
        if config.comparisons == "attention":
            self.match_gain = to_device(FIRST_GAIN * np.eye(4)[:, np.arange(heads) % 4])
        if compared:
            self.readout_match = draw_normal(rng, 2, width)
            self.policy_match = to_device(np.ones(width))
        self.further = None
        self.config = config
        self.num_slots = config.num_slots(spec)

    def for_rollout(self, key: PRNGKeyArray) -> EPN:
        """See `Agent`."""
        most = 2 * (self.config.iterations - (self.config.learned_iterations or self.config.iterations))
        return self._thinking(jax.random.randint(key, (), 0, most + 1) if most > 0 else None)

    def after_rollout(self) -> EPN:
        """See `Agent`."""
        return self._thinking(None)

    def _thinking(self, further: Int[Array, ""] | None) -> EPN:
        return eqx.tree_at(lambda agent: agent.further, self, further, is_leaf=lambda leaf: leaf is None)

    def initial_state(self, batch_size: int) -> Memory:
        """See `Agent`."""
        return empty_memory(batch_size, self.num_slots)

    def step_memory(self, memory: Memory, timestep: TimeStep) -> tuple[Memory, Memory]:
        """See `EpisodicAgent`."""
        unique, arrival = self.config.memory != "all", self.config.goal_as_successor
        after = remember(memory, timestep, unique=unique, arrival=arrival)
        if self.config.plan_with_newest:
            return after, after
        # The newest row waits until after planning; a new episode starts with nothing to plan over.
        count = jnp.where(timestep.first[:, None], 0, memory.count)
        return eqx.tree_at(lambda m: m.count, memory, count), after

    def act(self, memory: Memory, timestep: TimeStep, embeddings: Embeddings) -> AgentOutput:
        """See `EpisodicAgent`."""
        plan = self.plan(memory, timestep, embeddings, only_last=True)
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
        only_last: bool = False,
        start: Float[Array, "B N D"] | None = None,
    ) -> Plan:
        """Plan over memories `[B]`, for as many iterations as configured or given; keep the last belief only
        or those before it too. Planning starts from the embedded rows, or from another belief about them."""
        if iterations is None:
            iterations = self.config.iterations if self.further is None else self.config.learned_iterations
            assert iterations is not None
        rows = self.row(memory, timestep.observation, timestep.goal, embeddings)
        if self.values is not None:
            rows += self.values.of_unknown(self._moves(memory, embeddings))
        if isinstance(self.planner, AllToAll):
            many = self.config.comparisons == "neighbours" and memory.origin.shape[1] >= MANY_ROWS
            if many and not with_attention:
                _, bias = self._neighbours(memory, embeddings)
            else:
                bias = self._bias(memory, memory, embeddings)
            beliefs = self.planner(rows, bias, iterations, self.further, start=start, only_last=only_last)
            if not with_attention or isinstance(bias, Neighbours):
                return Plan(memory, beliefs, [])
            return Plan(memory, beliefs, [self.planner.block.weights(b, None, bias) for b in beliefs[:-1]])
        assert self.config.recent_rows is not None
        recent, belief = most_recent(memory, rows, self.config.recent_rows)
        bias = self._bias(recent, memory, embeddings)
        to_itself = self._bias(recent, recent, embeddings)
        beliefs = self.planner(belief, rows, bias, to_itself, iterations)
        attention = [self.planner.to_memory.weights(b, rows, bias) for b in beliefs[:-1] if with_attention]
        return Plan(recent, beliefs, attention)

    def worth(
        self, belief: Float[Array, "B N D"], memory: Memory, seen: Embeddings, start: Array | None = None
    ) -> Float[Array, "B V C"]:
        """What places are worth, in logs, passed on from `start` (values of an earlier step) if given."""
        assert self.values is not None
        return self.values.worth(belief, self._moves(memory, seen), self.config.sweeps, start)

    def with_values(
        self, belief: Float[Array, "B N D"], memory: Memory, seen: Embeddings, worth: Array | None = None
    ) -> Float[Array, "B N D"]:
        """A belief, and what its rows' ends are worth."""
        if self.values is None:
            return belief
        worth = self.worth(belief, memory, seen) if worth is None else worth
        return belief + self.values(worth, self._moves(memory, seen))

    def read(
        self,
        belief: Float[Array, "B N D"],
        memory: Memory,
        timestep: TimeStep,
        embeddings: Embeddings,
        worth: Array | None = None,
    ) -> Float[Array, "B D"]:
        """Summarise a belief, whose rows are those of the memory, for the current state: max-pooling."""
        here = timestep.observation
        belief = self.with_values(belief, memory, embeddings, worth)
        if self.state_in is not None:
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
        known = [summary]
        if self.config.symbols != "none":
            known += [embeddings.look_up(here), embeddings.look_up(goal)]
        hidden = self.policy.layers[0](jnp.concatenate(known, axis=-1))
        if self.policy_match is not None:
            hidden += embeddings.similarity(here, goal)[:, None] * self.policy_match
        features = jax.nn.relu(self.policy.layers[1](jax.nn.relu(hidden)))
        return AgentOutput(self.logits(features), self.value(features)[..., 0], jnp.zeros(here.shape))

    def _row_bias(self, memory: Memory) -> Float[Array, "B N"]:
        return jnp.minimum(memory.log_count, 0.0) if self.config.memory == "set" else memory.log_count

    def _neighbours(self, memory: Memory, embeddings: Embeddings) -> tuple[Memory, Neighbours]:
        """What `_bias` says, as lists; and the memory whose ends are the places of these lists."""
        one_outcome = self.config.goal_as_successor and self.config.memory != "all"
        num_actions = self.row.action.shape[0]
        return list_neighbours(
            memory, embeddings, self._row_bias(memory), num_actions, one_outcome=one_outcome
        )

    def _moves(self, memory: Memory, embeddings: Embeddings) -> Moves:
        """What the memory tells of moves. One program computes it once, however often it is asked for."""
        return find_moves(*self._neighbours(memory, embeddings), self.row.action.shape[0])

    def _bias(self, of: Memory, to: Memory, embeddings: Embeddings) -> Float[Array, "B H Q N"]:
        """What each row's attention to each other is given: counts, equal places, -inf for rows not seen."""
        kind, bias = self.config.comparisons, self._row_bias(to)
        if kind not in ("attention", "neighbours"):
            return jnp.broadcast_to(bias[:, None, None], (len(bias), 1, of.origin.shape[1], bias.shape[-1]))
        return bias_of_pairs(of, to, embeddings, bias, self.config.num_heads, self.match_gain)
