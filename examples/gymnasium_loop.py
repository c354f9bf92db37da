"""The environments through Gymnasium, as any library that speaks it would use them."""

import gymnasium
import numpy as np

import rapidtask  # noqa: F401, the import registers the environments


def main(episodes: int = 3) -> list[float]:
    """Reward of each of some episodes of a random walk that collects on the goal."""
    env = gymnasium.make("rapidtask/MemoryPlanning-v0", size=3)
    rewards = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode)
        total, over = 0.0, False
        while not over:
            # Collect on the goal, else walk anywhere.
            at_goal = np.array_equal(observation["position"], observation["goal"])
            action = 4 if at_goal else env.np_random.integers(4)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
        rewards.append(total)
    return rewards


if __name__ == "__main__":
    print(main())
