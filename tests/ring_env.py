"""A tiny environment of Gymnasium: a ring of rooms, walked to the left or right."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

SIZE = 5


class Ring(gym.Env):
    """From room 0 to a room that the ring's world decides: one step left or right, or stay."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.observation_space = spaces.Discrete(size)
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        """Back to room 0."""
        super().reset(seed=seed)
        if seed is not None:
            self.goal = 1 + int(self.np_random.integers(self.size - 1))
        self.room, self.steps = 0, 0
        return self.room, {}

    def step(self, action):
        """Walk."""
        self.room = (self.room + (-1, 1, 0)[int(action)]) % self.size
        self.steps += 1
        arrived = self.room == self.goal
        return self.room, float(arrived), arrived, False, {}


class GoalRing(Ring):
    """The same, with the goal in its observations, as Gymnasium-Robotics has it."""

    def __init__(self) -> None:
        super().__init__()
        room = spaces.Box(0, SIZE, (1,), np.int64)
        self.observation_space = spaces.Dict(observation=room, achieved_goal=room, desired_goal=room)

    def reset(self, **options):
        """See `Ring`."""
        super().reset(**options)
        return self._shown(), {}

    def step(self, action):
        """See `Ring`; the reward is 0 at the goal and -1 elsewhere."""
        _, _, arrived, _, _ = super().step(action)
        return self._shown(), float(arrived) - 1.0, arrived, False, {}

    def _shown(self):
        here, there = np.array([self.room]), np.array([self.goal])
        return {"observation": here, "achieved_goal": here, "desired_goal": there}


def make(seed: int) -> gym.Env:
    """The ring of a seed."""
    env = Ring()
    env.reset(seed=seed)
    return env


def make_with_goals(seed: int) -> gym.Env:
    """The ring of a seed, with goals in observations."""
    return GoalRing()


def make_continuous(seed: int) -> gym.Env:
    """An environment whose actions are not discrete."""
    env = Ring()
    env.action_space = spaces.Box(-1.0, 1.0, (2,))  # pyright: ignore
    return env


def make_floating(seed: int) -> gym.Env:
    """An environment whose observations are not whole numbers."""
    env = Ring()
    env.observation_space = spaces.Box(-1.0, 1.0, (2,))  # pyright: ignore
    return env


def goal(env: gym.Env) -> int:
    """The room to go to."""
    return env.unwrapped.goal  # pyright: ignore


def oracle(env: gym.Env) -> int:
    """The shorter way around."""
    ring = env.unwrapped
    return int((ring.goal - ring.room) % ring.size <= ring.size // 2)  # pyright: ignore
