"""Where the states of a world lie on the page: cells of a torus, streets of a city, or a drawn graph."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
from jaxtyping import Float, Int, UInt8

from rapidtask.cities.city_graph import METRES_PER_DEGREE
from rapidtask.draw import symbol
from rapidtask.draw.projection import Projection
from rapidtask.envs.environment import Environment
from rapidtask.views.renderer import see_states
from rapidtask.worlds.streets import StreetPlaces

SIDE = 1000.0
"""Side of the square that maps are drawn in, in units of the page's drawing."""
ROOM = 90.0
"""Empty border of that square."""


def describe_world(environment: Environment, world: int, labels: Int[np.ndarray, " S"]) -> dict[str, Any]:
    """A world of an environment's pool as JSON: its table, what each state looks like, and its map."""
    worlds, rules = environment.pool.worlds, environment.rules
    count = int(worlds.num_states[world])
    vocabulary = environment.num_observations
    next_state = np.asarray(worlds.next_state[world, :count])
    return {
        "actions": list(rules.actions),
        "collect": rules.collect,
        "respawn": rules.respawn,
        "inverse": list(rules.inverse),
        "next_state": next_state.tolist(),
        "labels": labels[:count].tolist(),
        "names": worlds.names[world] if worlds.names else None,
        "alphabet": [symbol(i, vocabulary) for i in range(vocabulary)],
        "shuffles": environment.pool.shuffle_observations,
        "episode_steps": environment.episode.episode_steps,
        "map": describe_map(environment, world, next_state[:, : rules.num_moves]),
    }


def describe_map(environment: Environment, world: int, moves: Int[np.ndarray, "S M"]) -> dict[str, Any]:
    """The drawing of a world, in a square of side `SIDE`, y downwards."""
    if environment.rules.torus_size is not None:
        return {"kind": "torus", "size": environment.rules.torus_size}
    if environment.pool.places is not None:
        return street_map(environment.pool.places, world)
    return {"kind": "graph", "places": graph_places(moves).round(1).tolist()}


def street_map(places: StreetPlaces, world: int) -> dict[str, Any]:
    """Lines of the streets that each state faces, the node it is at, and the city around them."""
    lines, room = places.lines(world), SIDE - 2 * ROOM
    projection = Projection.fit(places, world, room, room)

    def on_page(points: Float[np.ndarray, "P 2"]) -> Float[np.ndarray, "P 2"]:
        return SIDE / 2 + projection(points)[:, ::-1]

    nodes = places.tail[world, : len(lines)]
    _, first = np.unique(nodes, return_index=True)
    junctions = on_page(np.array([lines[state][0] for state in first]))
    moved = spread_apart(junctions)

    def to_page(points: Float[np.ndarray, "P 2"]) -> list[list[float]]:
        return warp(on_page(points), junctions, moved).round(1).tolist()

    return {
        "kind": "streets",
        "city": places.cities[places.city[world]].name,
        "nodes": nodes.tolist(),
        "lines": [to_page(line) for line in lines],
        "around": [to_page(street) for street in projection.around(places, world, SIDE / 2)],
        "meters": room * METRES_PER_DEGREE / abs(float(projection.scale[0])),
    }


def spread_apart(places: Float[np.ndarray, "J 2"]) -> Float[np.ndarray, "J 2"]:
    """Junctions moved, as little as will do, until none is too close to another for its states to be read."""
    apart = min(170.0, 0.66 * (SIDE - 2 * ROOM) / math.sqrt(len(places)))
    moved = places.copy()
    for _ in range(300):
        gap = moved[:, None] - moved[None]
        distance = np.maximum(np.linalg.norm(gap, axis=-1), 1e-6)
        push = np.maximum(apart - distance, 0)
        np.fill_diagonal(push, 0)
        if not push.any():
            break
        moved += 0.3 * (gap / distance[..., None] * push[..., None]).sum(1)
        moved = np.clip(moved, ROOM, SIDE - ROOM)
    return moved


def warp(
    points: Float[np.ndarray, "P 2"], places: Float[np.ndarray, "J 2"], moved: Float[np.ndarray, "J 2"]
) -> Float[np.ndarray, "P 2"]:
    """Points carried along with the places near them, most by the nearest (inverse distance weighting)."""
    squared = np.square(points[:, None] - places[None]).sum(-1)
    weight = 1 / (squared + 1e-3) ** 1.5
    return points + (weight / weight.sum(1, keepdims=True)) @ (moved - places)


def graph_places(moves: Int[np.ndarray, "S M"]) -> Float[np.ndarray, "S 2"]:
    """Places for the states of any table: a drawing whose distances resemble numbers of moves."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(moves)))
    graph.add_edges_from((s, int(t)) for s, row in enumerate(moves) for t in row if t != s)
    layout = nx.kamada_kawai_layout(graph)
    places = np.array([layout[s] for s in range(len(moves))])
    low, high = places.min(0), places.max(0)
    return ROOM + (places - low) / np.maximum(high - low, 1e-9) * (SIDE - 2 * ROOM)


def render_street_views(environment: Environment, world: int) -> UInt8[np.ndarray, "S 84 84 3"] | None:
    """The view of each state of a street world, rendered from the streets; None for other worlds."""
    places = environment.pool.places
    if places is None:
        return None
    return see_states(places, world, np.arange(places.num_states[world]))
