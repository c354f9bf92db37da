"""The table of one RTS problem, and the pool of tables that episodes draw their worlds from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, UInt8
from numpy.typing import ArrayLike

from rapidtask.errors import InputError
from rapidtask.worlds.shortest_paths import UNREACHABLE, shortest_distances

if TYPE_CHECKING:
    from rapidtask.worlds.streets.pool import StreetPlaces

MOST_STATES = 4096
"""Of worlds that options ask for: distances between all states take 32 MB then."""

MOST_ENTRIES = 2**30
"""Of the distances of a pool's worlds, which take 2 GB then."""


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


class Names(tuple):
    """What people call the states of a world, or of each world of a pool.

    They stay on the host: copies that JAX makes of a world (`jax.tree.map`, `jax.jit`) have none.
    """


# No leaves: compiled code is given the tables alone.
jax.tree_util.register_pytree_node(Names, lambda _: ((), None), lambda *_: None)  # pyright: ignore


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
    names: Names | None = None
    """What people call each state, if it has a name: a text per state, of a pool one such row per world."""


def make_world(
    moves: np.ndarray | Sequence[Sequence[int]],
    rules: Rules | None = None,
    *,
    num_slots: int | None = None,
    names: Sequence[str] | None = None,
) -> World:
    """Build a checked World from a table of moves; each state's observation id is its own number.

    Args:
        moves: `[S, M]` state that each move leads to from each state (the collect action is added).
        rules: what completes a task; by default a collect action after M moves named "move 0", ….
        num_slots: states to pad to; by default none.
        names: `[S]` what people call the states, for messages and drawings.

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
    if (outside := np.argwhere((table < 0) | (table >= num_states))).size:
        (state, move), more = outside[0], f"({len(outside)} such entries)"
        wrong = f"moves[{state}, {move}] is {table[state, move]}"
        raise WorldError(f"{wrong}, not a state in 0..{num_states - 1} {more}")

    distance = shortest_distances(table, np.array([num_states]), num_states)
    if names is not None and len(names) != num_states:
        raise WorldError(f"names has {len(names)} entries for {num_states} states")
    called = [f"state {i}" for i in range(num_states)] if names is None else [repr(name) for name in names]
    if (unreachable := np.argwhere(distance == UNREACHABLE)).size:
        start, goal = unreachable[0]
        raise WorldError(f"{called[goal]} cannot be reached from {called[start]}")

    slots = num_states if num_slots is None else num_slots
    if slots < num_states:
        raise WorldError(f"{num_states} states do not fit num_slots={slots}")
    moved, ids, apart = jax.device_put(_pad(table, np.arange(num_states), distance, rules, slots))
    count, names = jax.device_put(np.int32(num_states)), None if names is None else Names(names)
    return World(moved, ids, apart, count, rules, num_states, names)


def _pad(
    moves: np.ndarray, observation: ArrayLike, distance: ArrayLike, rules: Rules, slots: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tables of a world with so many slots, and the actions of the rules: one it does not have stays."""
    num_states, num_moves = moves.shape
    more = slots - num_states
    next_state = np.repeat(np.arange(slots, dtype=np.int32)[:, None], rules.num_actions, axis=1)
    next_state[:num_states, :num_moves] = moves
    distance = np.pad(distance, (0, more), constant_values=UNREACHABLE)
    return next_state, np.pad(observation, (0, more)).astype(np.int32), distance.astype(np.int16)


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
    """Stack worlds of any sizes into a pool: their tables are padded to the most states, moves and ids.

    A move that a world does not have leaves the agent where it is. Their rules may differ in how many moves
    there are, in nothing else.
    """
    worlds = [worlds] if isinstance(worlds, World) else list(worlds)
    if not worlds:
        raise WorldError("a pool needs at least one world")
    rules = max((world.rules for world in worlds), key=lambda rules: rules.num_moves)
    for i, world in enumerate(worlds):
        if _widened(world.rules, rules) != rules:
            raise WorldError(f"world {i} has other rules than the world with the most moves")
    if any(world.rules.torus_size != rules.torus_size for world in worlds):
        rules = replace(rules, torus_size=None)
    slots = max(world.next_state.shape[0] for world in worlds)
    if len(worlds) * slots**2 > MOST_ENTRIES:
        raise WorldError(f"{len(worlds)} worlds of up to {slots} states do not fit into memory: take fewer")
    num_observations = max(slots * shuffle_observations, *(world.num_observations for world in worlds))
    tables = [
        _pad(np.asarray(w.next_state)[:, : w.rules.num_moves], w.observation, w.distance, rules, slots)
        for w in worlds
    ]
    moved, ids, apart = jax.device_put([np.stack(table) for table in zip(*tables, strict=True)])
    count = jax.device_put(np.stack([world.num_states for world in worlds]))
    names = Names(w.names for w in worlds) if all(w.names is not None for w in worlds) else None
    return WorldPool(World(moved, ids, apart, count, rules, num_observations, names), shuffle_observations)


def _widened(rules: Rules, most: Rules) -> Rules:
    """Rules with the further moves of others; where those stay in place, nothing undoes them."""
    n = rules.num_moves
    actions = (*rules.actions[:n], *most.actions[n:])
    inverse = (*rules.inverse[:n], *(-1 for _ in most.actions[n:]))
    return Rules(actions, rules.completes, rules.respawn, inverse, most.torus_size)
