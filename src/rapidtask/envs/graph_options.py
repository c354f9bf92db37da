"""Options of worlds from files of graphs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Annotated

from rapidtask.envs.environment import EnvironmentSpec, WorldOptions
from rapidtask.errors import InputError
from rapidtask.options import Range
from rapidtask.worlds.graphs import find_graph_files, read_graphs, world_from_graph
from rapidtask.worlds.world import MOST_STATES, WorldError, WorldPool, make_pool


@dataclass(frozen=True)
class Graphs(WorldOptions):
    """Graphs of your own, of any sizes: in every episode one of them, its nodes under new symbols."""

    files: tuple[str, ...] = ()
    """Files (.graphml, .gexf, .edgelist), folders of them, or patterns such as "maps/*.gexf"."""
    held_out_files: tuple[str, ...] = ()
    """Files kept for evaluation, also where they are among the others; by default agents are evaluated in
    the graphs that they were trained in, under new symbols."""
    num_symbols: Annotated[int, Range(2, MOST_STATES)] | None = None
    """Size of the vocabulary and most nodes of a graph; by default those of the largest."""
    num_moves: Annotated[int, Range(1, MOST_STATES)] | None = None
    """Moves that an agent has beside collect; by default as many as a node has neighbours at most."""
    ignore_weights: bool = False
    """Take edges of different weights for equal: every move takes one step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.files and None in (self.num_symbols, self.num_moves):
            # Written down at once: agents are then loaded without their files, and evaluated in others.
            graphs = read_graphs((*self.files, *self.held_out_files)).values()
            neighbours = max((len(graph.adj[node]) for graph in graphs for node in graph), default=1)
            object.__setattr__(self, "num_symbols", self.num_symbols or max(2, *map(len, graphs)))
            object.__setattr__(self, "num_moves", self.num_moves or max(1, neighbours))
            super().__post_init__()

    @property
    def spec(self) -> EnvironmentSpec:
        """The shape of the environment: a symbol for each node of the largest graph."""
        if self.num_symbols is None or self.num_moves is None:
            raise InputError("--world graphs needs --world.files: files of graphs, folders or patterns")
        return EnvironmentSpec(self.num_symbols, self.num_moves + 1, self.episode_steps)

    def sample(self) -> WorldPool:
        """The graphs of the files that are not held out."""
        spec, worlds = self.spec, []
        for path, graph in read_graphs([str(path) for path in self._files()]).items():
            try:
                if len(graph) > spec.num_observations:
                    raise WorldError(f"{len(graph)} nodes, but --world.num-symbols is {self.num_symbols}")
                ignore, slots = self.ignore_weights, spec.num_observations
                worlds.append(
                    world_from_graph(graph, num_moves=self.num_moves, num_slots=slots, ignore_weights=ignore)
                )
            except WorldError as error:
                raise InputError(f"{path}: {error}") from None
        return make_pool(worlds, shuffle_observations=True)

    def sources(self) -> dict[str, str]:
        """Checksums of the files."""
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in self._files()}

    def _files(self) -> list:
        kept = find_graph_files(self.held_out_files)
        if not (files := [path for path in find_graph_files(self.files) if path not in kept]):
            raise InputError("--world.held-out-files leaves no graph to train in")
        return files

    def held_out(self) -> Graphs:
        """The same options for the files kept for evaluation, if there are any."""
        return replace(self, files=self.held_out_files, held_out_files=()) if self.held_out_files else self
