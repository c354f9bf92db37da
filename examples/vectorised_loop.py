"""A loop over thousands of environments, as CleanRL's scripts have it: one call steps them all."""

import time

import gymnasium
import numpy as np

import rapidtask  # noqa: F401, the import registers the environments


def main(num_envs: int = 4096, num_steps: int = 303) -> tuple[float, float]:
    """Mean reward of an episode of random actions, and steps per second."""
    envs = gymnasium.make_vec("rapidtask/MemoryPlanning-v0", num_envs=num_envs, show_previous=True)
    observation, _ = envs.reset(seed=1)
    generator = np.random.default_rng(1)
    returns, finished = np.zeros(num_envs), []
    ended = np.zeros(num_envs, bool)
    began = time.perf_counter()
    for _ in range(num_steps):
        actions = generator.integers(envs.single_action_space.n, size=num_envs)  # your agent(observation)
        observation, rewards, terminated, truncated, _ = envs.step(actions)
        # The step after an end began the next episode and ignored its action: leave it out when you learn.
        returns = np.where(ended, 0.0, returns + rewards)
        ended = terminated | truncated
        finished += returns[ended].tolist()
    assert observation["position"].shape == (num_envs, 16)
    return float(np.mean(finished)), num_envs * num_steps / (time.perf_counter() - began)


if __name__ == "__main__":
    reward, speed = main()
    print(f"{reward:.2f} goals per episode, {speed:,.0f} steps per second")
