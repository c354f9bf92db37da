"""The table of one RTS problem, and the pool of tables that episodes draw their worlds from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, UInt8

from rapidtask.errors import InputError
from rapidtask.worlds.shortest_paths import UNREACHABLE, shortest_distances

if TYPE_CHECKING:
    from rapidtask.worlds.streets.pool import StreetPlaces

MOST_STATES = 4096
"""Of worlds that options ask for: distances between all states take 32 MB then."""


class WorldError(InputError):
    """A table that is not an RTS problem; the message names the field and the entry."""


@dataclass(frozen=True)
class Rules:
    """How tasks end and what follows, and what an agent may infer about the actions.

    The rules are the same for every world of a pool.
    """

    actions: tuple[str, ...]
    """Name of each action; with `completes="collect"` the last one is the collect action."""
    completes: Literal["collect", "arrival"] = "collect"
    """A task completes on the collect action at the goal, or on arriving there."""
    respawn: bool = False
    """Whether a completed task puts the agent on a random state before the next goal is drawn."""
    inverse: tuple[int, ...] = ()
    """For each action the action that undoes it wherever it is taken, or -1; empty if none is known."""
    torus_size: int | None = None
    """Side N of the torus if the world is one, where state y * N + x is cell (x, y); for drawings and the
    policies that know the grid."""

    def __post_init__(self) -> None:
        if not self.inverse:
            object.__setattr__(self, "inverse", (-1,) * len(self.actions))
        if len(self.inverse) != len(self.actions):
            raise WorldError(f"rules.inverse has {len(self.inverse)} entries for {len(self.actions)} actions")
        for action, inverse in enumerate(self.inverse):
            if not -1 <= inverse < len(self.actions):
                raise WorldError(f"rules.inverse[{action}] is {inverse}, not an action or -1")
        if self.completes not in ("collect", "arrival"):
            raise WorldError(f"rules.completes is {self.completes!r}, expected 'collect' or 'arrival'")
        if self.num_moves < 1:
            raise WorldError(f"rules.actions is {self.actions}: there must be at least one move")

    @property
    def num_actions(self) -> int:
        """Number of actions, A."""
        return len(self.actions)

    @property
    def num_moves(self) -> int:
        """Number of actions that move the agent; they come first."""
        return len(self.actions) - (self.completes == "collect")

    @property
    def collect(self) -> int | None:
        """Index of the collect action, if there is one."""
        return self.num_moves if self.completes == "collect" else None


class World(eqx.Module):
    """One finite RTS problem, or a pool of them with a leading axis W on every array.

    States are numbered from 0; the tables are padded to S states, of which the first `num_states` exist.
    Agents never see a World: only ids of observations.
    """

    next_state: Int[Array, "*W S A"]
    """Where each action leads; the collect action leads nowhere."""
    observation: Int[Array, "*W S"]
    """Observation id of each state, below `num_observations`; different for different states."""
    distance: Int[Array, "*W S S"]
    """Fewest moves from the first state to the second; UNREACHABLE at padding."""
    num_states: Int[Array, "*W"]
    """How many states exist; the rest is padding."""
    rules: Rules = eqx.field(static=True)
    """What completes a task and what follows."""
    num_observations: int = eqx.field(static=True)
    """Size V of the observation vocabulary."""


def make_world(
    moves: np.ndarray | Sequence[Sequence[int]],
    rules: Rules | None = None,
    *,
    observation: Sequence[int] | np.ndarray | None = None,
    num_observations: int | None = None,
    num_slots: int | None = None,
) -> World:
    """Build a checked World from a table of moves.

    Args:
        moves: `[S, M]` state that each move leads to from each state (the collect action is added).
        rules: what completes a task; by default a collect action after M moves named "move 0", ….
        observation: `[S]` different observation ids; by default the state's own number.
        num_observations: size of the vocabulary; by default just large enough.
        num_slots: states to pad to; by default none.

    Raises:
        WorldError: if the table is not an RTS problem; the message names the entry.
    """
    table = np.asarray(moves)
    if table.ndim != 2 or 0 in table.shape:
        raise WorldError(f"moves must be a table [states, moves], got shape {table.shape}")
    if not np.issubdtype(table.dtype, np.integer):
        raise WorldError(f"moves must hold state numbers (integers), got {table.dtype}")
    num_states, num_moves = table.shape
    if num_states < 2:
        raise WorldError("moves has one state: there is nowhere to go, so no task")
    if rules is None:
        rules = Rules((*(f"move {i}" for i in range(num_moves)), "collect"))
    if rules.num_moves != num_moves:
        raise WorldError(f"moves has {num_moves} columns but rules.actions names {rules.num_moves} moves")
    _refuse_outside("moves", table, num_states, "state")

    ids = np.arange(num_states) if observation is None else np.asarray(observation)
    if ids.shape != (num_states,):
        raise WorldError(f"observation must have shape ({num_states},), got {ids.shape}")
    if not np.issubdtype(ids.dtype, np.integer):
        raise WorldError(f"observation must hold ids (integers), got {ids.dtype}")
    vocabulary = int(ids.max()) + 1 if num_observations is None else num_observations
    _refuse_outside("observation", ids, vocabulary, "id")
    if len(np.unique(ids)) < num_states:
        raise WorldError("observation gives two states the same id: they could not be told apart")

    distance = shortest_distances(table, np.array([num_states]), num_states)
    if (unreachable := np.argwhere(distance == UNREACHABLE)).size:
        start, goal = unreachable[0]
        raise WorldError(f"state {goal} cannot be reached from state {start}")

    slots = num_states if num_slots is None else num_slots
    if slots < num_states:
        raise WorldError(f"{num_states} states do not fit num_slots={slots}")
    padding = slots - num_states
    if rules.collect is not None:
        table = np.concatenate([table, np.arange(num_states)[:, None]], axis=1)
    # Padding states lead to themselves, so that a table padded twice is still a table.
    stay = np.repeat(np.arange(num_states, slots)[:, None], rules.num_actions, axis=1)
    return World(
        next_state=jnp.asarray(np.concatenate([table, stay]), jnp.int32),
        observation=jnp.asarray(np.pad(ids, (0, padding)), jnp.int32),
        distance=jnp.asarray(
            np.pad(distance, ((0, padding), (0, padding)), constant_values=UNREACHABLE), jnp.int16
        ),
        num_states=jnp.asarray(num_states, jnp.int32),
        rules=rules,
        num_observations=vocabulary,
    )


def world_from_graph(graph: nx.Graph, *, num_slots: int | None = None) -> tuple[World, Mapping]:
    """Build a World from any networkx graph: action i moves to the i-th neighbour in the graph's order.

    A node with fewer neighbours than the largest stays in place for the actions it does not have.
    Directed graphs follow their successors.

    Returns:
        The world, and the state number of each node.
    """
    if graph.number_of_nodes() == 0:
        raise WorldError("graph has no nodes")
    state_of = {node: i for i, node in enumerate(graph)}
    num_moves = max(len(graph.adj[node]) for node in graph)
    if num_moves == 0:
        raise WorldError("graph has no edges")
    moves = np.repeat(np.arange(len(state_of))[:, None], num_moves, axis=1)
    for node, state in state_of.items():
        neighbours = [state_of[neighbour] for neighbour in graph.adj[node]]
        moves[state, : len(neighbours)] = neighbours
    return make_world(moves, num_slots=num_slots), state_of


def _refuse_outside(name: str, values: np.ndarray, limit: int, kind: str) -> None:
    outside = np.argwhere((values < 0) | (values >= limit))
    if outside.size:
        where = ", ".join(map(str, outside[0]))
        raise WorldError(
            f"{name}[{where}] is {values[tuple(outside[0])]}, not a {kind} in 0..{limit - 1} "
            f"({len(outside)} such entries)"
        )


class EpisodeWorld(eqx.Module):
    """What is drawn anew for each episode: which world of the pool, and how its states look this time."""

    index: Int[Array, ""]
    """Which world of the pool."""
    observation: Int[Array, " S"]
    """Observation id of each state in this episode."""


class WorldPool(eqx.Module):
    """Where the worlds of episodes come from: W tables on the device, one drawn uniformly per episode."""

    worlds: World
    """W worlds stacked along a leading axis."""
    shuffle_observations: bool = eqx.field(static=True)
    """Whether each episode relabels its states with a fresh random choice of the vocabulary's ids."""
    frames: UInt8[Array, "F 84 84 3"] | None = None
    """What states look like, if the worlds are seen in pixels."""
    frame_ids: Int[Array, "W S"] | None = None
    """Which of `frames` each state looks like; -1 at padding."""
    places: StreetPlaces | None = None
    """Where the states are, if they lie in a city: on the host, for people. Copies that JAX makes of a pool
    (`jax.tree.map`, `jax.jit`) have none."""

    @property
    def num_worlds(self) -> int:
        """Number of worlds, W."""
        return self.worlds.num_states.shape[0]

    @property
    def num_slots(self) -> int:
        """States S each table is padded to."""
        return self.worlds.next_state.shape[-2]

    def sample(self, key: PRNGKeyArray) -> EpisodeWorld:
        """Draw the world of one episode."""
        index_key, label_key = jax.random.split(key)
        index = jnp.zeros((), jnp.int32)
        if self.num_worlds > 1:
            index = jax.random.randint(index_key, (), 0, self.num_worlds)
        if self.shuffle_observations:
            labels = jax.random.permutation(label_key, self.worlds.num_observations)
            observation = labels[: self.num_slots].astype(jnp.int32)
        else:
            observation = self.worlds.observation[index]
        return EpisodeWorld(index, observation)

    def frames_of(self, world: EpisodeWorld) -> Int[Array, " V"] | None:
        """Which of `frames` each observation id of an episode stands for, -1: none; None without frames."""
        if self.frame_ids is None:
            return None
        frame, size = self.frame_ids[world.index], self.worlds.num_observations
        # Padding states have no frame, and must not write over that of another.
        ids = jnp.where(frame >= 0, world.observation, size)
        return jnp.full(size, -1, jnp.int32).at[ids].set(frame, mode="drop")

    def look_up_frames(self, frame_ids: Int[Array, "*B V"] | None) -> UInt8[Array, "*B V 84 84 3"] | None:
        """The observation tables that `frames_of` describes, black where there is no frame."""
        if self.frames is None or frame_ids is None:
            return None
        there = (frame_ids >= 0)[..., None, None, None]
        return jnp.where(there, self.frames[jnp.maximum(frame_ids, 0)], 0)


def make_pool(worlds: World | Sequence[World], *, shuffle_observations: bool) -> WorldPool:
    """Stack worlds (equal rules, slots and vocabulary) into a pool."""
    worlds = [worlds] if isinstance(worlds, World) else list(worlds)
    if not worlds:
        raise WorldError("a pool needs at least one world")
    first = worlds[0]
    for i, world in enumerate(worlds):
        for name in ("rules", "num_observations"):
            if getattr(world, name) != getattr(first, name):
                raise WorldError(f"world {i} has other {name} than world 0")
        if world.next_state.shape != first.next_state.shape:
            raise WorldError(
                f"world {i} has table {world.next_state.shape}, world 0 {first.next_state.shape}"
            )
    if shuffle_observations and first.num_observations < first.next_state.shape[0]:
        raise WorldError(
            f"{first.num_observations} observations cannot label {first.next_state.shape[0]} states"
        )
    return WorldPool(jax.tree.map(lambda *tables: jnp.stack(tables), *worlds), shuffle_observations)
