"""FrozenLake of Gymnasium, a new map in every episode: find a way over the ice, then walk it again and again.

How it is trained in: docs/own-environment.md.
"""

from collections import deque

import gymnasium as gym
import numpy as np
from gymnasium.envs.toy_text.frozen_lake import generate_random_map


def make(seed: int) -> gym.Env:
    """The environment with the map of a seed; a life has an end of its own, so tasks need no time limit."""
    lake = generate_random_map(size=6, p=0.8, seed=seed)
    return gym.make("FrozenLake-v1", desc=lake, is_slippery=False, max_episode_steps=-1)


def goal(env: gym.Env) -> int:
    """What is observed at the goal."""
    return int(np.flatnonzero(env.unwrapped.desc == b"G")[0])  # pyright: ignore


def oracle(env: gym.Env) -> int:
    """The first action of a shortest way to the goal, by the environment's own table."""
    table, start, end = env.unwrapped.P, int(env.unwrapped.s), goal(env)  # pyright: ignore
    first_actions, waiting = {start: 0}, deque([start])
    while waiting:
        state = waiting.popleft()
        for action, ((_, successor, _, _),) in table[state].items():
            if successor not in first_actions:
                first_actions[successor] = action if state == start else first_actions[state]
                waiting.append(successor)
    return first_actions[end]
