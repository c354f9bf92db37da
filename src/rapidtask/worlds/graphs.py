"""Worlds from graphs of any kind: networkx graphs, and files of them."""

from __future__ import annotations

import glob
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import networkx as nx
import numpy as np

from rapidtask.errors import InputError
from rapidtask.worlds.world import Rules, World, WorldError, make_world


def world_from_graph(
    graph: nx.Graph,
    *,
    num_moves: int | None = None,
    num_slots: int | None = None,
    ignore_weights: bool = False,
) -> World:
    """Build a World from any networkx graph: state i is its i-th node, move i leads to the i-th neighbour.

    Neighbours are in the graph's order; those of a directed graph are its successors. A move that a node does
    not have leaves the agent there. The names of the states are the nodes' `label` or `name`, or the nodes.

    Args:
        graph: every node can be reached from every other.
        num_moves: moves of the world; by default as many as a node has neighbours at most.
        num_slots: states to pad to; by default none.
        ignore_weights: whether edges may have different weights; every move takes one step.

    Raises:
        WorldError: if it is not an RTS problem; the message names the node.
    """
    if not isinstance(graph, nx.Graph) or len(graph) < 2:
        raise WorldError(f"expected a networkx graph of two nodes or more, got {graph!s:.80}")
    named = ((data.get("label") or data.get("name"), node) for node, data in graph.nodes(data=True))
    names = [str(node if name is None else name) for name, node in named]
    state_of = {node: state for state, node in enumerate(graph)}
    weights = {data.get("weight", 1): pair for *pair, data in graph.edges(data=True)}
    if len(weights) > 1 and not ignore_weights:
        edges = [f"{names[state_of[a]]!r}-{names[state_of[b]]!r}: {w}" for w, (a, b) in weights.items()]
        raise WorldError(
            f"edges have different weights ({edges[0]}, {edges[1]}), but every move takes one step; "
            "ignore_weights (--world.ignore-weights) takes them for equal"
        )
    busiest = max(graph, key=lambda node: len(graph.adj[node]))
    most = len(graph.adj[busiest])
    if num_moves is not None and most > num_moves:
        raise WorldError(
            f"{names[state_of[busiest]]!r} has {most} neighbours, but there are {num_moves} moves"
        )
    num_moves = max(1, most) if num_moves is None else num_moves
    moves = np.repeat(np.arange(len(graph))[:, None], num_moves, axis=1)
    for node, state in state_of.items():
        moves[state, : len(graph.adj[node])] = [state_of[neighbour] for neighbour in graph.adj[node]]
    rules = Rules((*(f"move {i}" for i in range(num_moves)), "collect"))
    return make_world(moves, rules, num_slots=num_slots, names=names)


def read_edge_list(path: Path) -> nx.Graph:
    """A graph from lines of two nodes, and perhaps a weight; what follows a # is left out."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        lines = [words for line in file if (words := line.partition("#")[0].split())]
    if wrong := [words for words in lines if len(words) not in (2, 3)]:
        raise ValueError(f"expected two nodes and perhaps a weight in a line, got {' '.join(wrong[0]):.60}")
    graph = nx.Graph()
    for first, second, *weight in lines:
        graph.add_edge(first, second, **({"weight": float(weight[0])} if weight else {}))
    return graph


READERS: dict[str, Callable[[Path], nx.Graph]] = {
    ".graphml": nx.read_graphml,
    ".gexf": nx.read_gexf,
    ".edgelist": read_edge_list,
}
"""How the name of a file ends, perhaps with .gz after it, and what reads it."""


def find_graph_files(given: Sequence[str]) -> list[Path]:
    """The files that names of files, folders and patterns such as `maps/*.gexf` stand for, each once."""
    found: list[Path] = []
    for name in given:
        path = Path(name)
        within = sorted(p for p in path.iterdir() if _reader(p)) if path.is_dir() else [path]
        paths = within if path.exists() else [Path(match) for match in sorted(glob.glob(name))]
        if not paths:
            raise InputError(f"{name}: no such file of a graph; known are {', '.join(READERS)}, also .gz")
        found += paths
    return list(dict.fromkeys(found))


def read_graphs(given: Sequence[str]) -> dict[Path, nx.Graph]:
    """The graphs of files, folders and patterns, by file; what cannot be read is named."""
    graphs: dict[Path, nx.Graph] = {}
    for path in find_graph_files(given):
        if (reader := _reader(path)) is None:
            raise InputError(f"{path}: unknown format; known are {', '.join(READERS)}, also .gz")
        try:
            graphs[path] = reader(path)
        except Exception as error:  # whatever networkx and the parsers below it raise
            lines = str(error).splitlines() or [type(error).__name__]
            raise InputError(f"{path}: cannot be read as a graph: {lines[0]}") from None
    return graphs


def _reader(path: Path) -> Callable[[Path], nx.Graph] | None:
    return READERS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
