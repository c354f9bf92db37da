"""Rooms of MiniGrid (pip install minigrid), others in every episode: through the doors to the goal.

How it is trained in: docs/own-environment.md.
"""

from collections import deque

import gymnasium as gym
import minigrid  # noqa: F401  (registers the environments)
from minigrid.wrappers import FullyObsWrapper, ReseedWrapper

LEFT, RIGHT, FORWARD, TOGGLE = 0, 1, 2, 5
"""The actions that a way needs; the others pick up, drop and do nothing."""


def make(seed: int) -> gym.Env:
    """The rooms of a seed: seen whole, as views of the agent alone do not tell places apart."""
    gym.logger.min_level = gym.logger.ERROR  # a wrapper below warns that it has a seed already
    env = gym.make("MiniGrid-MultiRoom-N2-S4-v0", max_steps=10**6)
    return FullyObsWrapper(ReseedWrapper(env, seeds=(seed,)))


def goal(env: gym.Env) -> str:
    """The task in words: where the goal is, agents find out by getting there."""
    return env.unwrapped.mission  # pyright: ignore


def oracle(env: gym.Env) -> int:
    """The first action of a shortest way to the goal."""
    rooms = env.unwrapped
    grid, steps = rooms.grid, ((1, 0), (0, 1), (-1, 0), (0, -1))  # pyright: ignore

    def follow(place: tuple, action: int) -> tuple:
        x, y, facing, opened = place
        if action in (LEFT, RIGHT):
            return x, y, (facing + (1 if action == RIGHT else -1)) % 4, opened
        ahead = x + steps[facing][0], y + steps[facing][1]
        there = grid.get(*ahead)
        if action == TOGGLE:
            return x, y, facing, opened | {ahead} if there is not None and there.type == "door" else opened
        passable = there is None or there.can_overlap() or ahead in opened
        return (*ahead, facing, opened) if passable else place

    start = (*map(int, rooms.agent_pos), int(rooms.agent_dir), frozenset())  # pyright: ignore
    first_actions, waiting = {start: FORWARD}, deque([start])
    while waiting:
        place = waiting.popleft()
        for action in (FORWARD, LEFT, RIGHT, TOGGLE):
            successor = follow(place, action)
            if successor not in first_actions:
                first_actions[successor] = action if place == start else first_actions[place]
                waiting.append(successor)
                there = grid.get(*successor[:2])
                if there is not None and there.type == "goal":
                    return first_actions[successor]
    raise ValueError("the goal cannot be reached")
