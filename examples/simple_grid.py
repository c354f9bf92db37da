"""SimpleGrid (pip install gym-simplegrid), a new map in every episode: from anywhere to anywhere on it.

How it is trained in: docs/own-environment.md.
"""

import gym_simplegrid  # noqa: F401  (registers the environment)
import gymnasium as gym
import networkx as nx
import numpy as np

SIZE = 5


def make(seed: int) -> gym.Env:
    """The environment with a map of a seed: a grid with obstacles, all free cells joined."""
    generator = np.random.default_rng(seed)
    while True:
        taken = generator.random((SIZE, SIZE)) < 0.2
        if nx.is_connected(free_cells(taken)):
            rows = ["".join("01"[int(cell)] for cell in row) for row in taken]
            return gym.make("SimpleGrid-v0", obstacle_map=rows, max_episode_steps=-1)


def free_cells(taken: np.ndarray) -> nx.Graph:
    """The cells without an obstacle, joined to their neighbours."""
    cells = nx.grid_2d_graph(*taken.shape)
    cells.remove_nodes_from([cell for cell in cells if taken[cell]])
    return cells


def goal(env: gym.Env) -> int:
    """What is observed at the goal."""
    grid = env.unwrapped
    return grid.model.to_index(*grid.goal_xy)  # pyright: ignore


def oracle(env: gym.Env) -> int:
    """The first action of a shortest way to the goal."""
    grid = env.unwrapped
    cells = free_cells(np.array([[not grid.model.is_free(r, c) for c in range(SIZE)] for r in range(SIZE)]))  # pyright: ignore
    way = nx.shortest_path(cells, grid.agent_xy, grid.goal_xy)  # pyright: ignore
    if len(way) == 1:  # a task that begins at its goal ends with a move that leads nowhere
        blocked = [a for a, move in grid.MOVES.items() if tuple(np.add(way[0], move)) not in cells]  # pyright: ignore
        return blocked[0] if blocked else 0
    return list(grid.MOVES.values()).index(tuple(np.subtract(way[1], way[0]).tolist()))  # pyright: ignore
