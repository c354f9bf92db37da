"""PPO and recurrent PPO of Stable-Baselines3, trained in the Memory&Planning Game and scored by the suite.

python examples/sb3_ppo.py ppo --minutes 10        # writes ppo.zip; recurrent-ppo as well
RAPIDTASK_SB3=ppo.zip rapidtask score sb3_ppo:make_agent --out ppo.json
"""

import argparse
import os
import time

import gymnasium
import numpy as np
from sb3_contrib import RecurrentPPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

import rapidtask  # noqa: F401, the import registers the environments

SYMBOLS, ACTIONS = 16, 5
"""Of the 4×4 game, which the networks are made for."""
LSTM = {"lstm_hidden_size": 128, "shared_lstm": True, "enable_critic_lstm": False}
METHODS = {"ppo": (PPO, "MlpPolicy", {}), "recurrent-ppo": (RecurrentPPO, "MlpLstmPolicy", LSTM)}


def as_vector(observation: dict[str, np.ndarray]) -> np.ndarray:
    """What is shown as one vector per environment; a smaller world leaves some symbols out."""
    rows = [observation[name] for name in ("position", "goal")]
    rows = [np.pad(row, ((0, 0), (0, SYMBOLS - row.shape[1]))) for row in rows]
    rows += [observation["previous_action"], observation["previous_reward"]]
    return np.concatenate(rows, axis=1, dtype=np.float32)


class SameStepVecEnv(VecEnv):
    """Our batch as Stable-Baselines3 wants it: an episode's end shows the first observation of the next.

    Gymnasium's batches show the last observation first, and the next episode begins with the step after. Here
    that step is taken at once: episodes are equally long, so they end together and no other loses a step.
    """

    def __init__(self, envs: gymnasium.vector.VectorEnv, seed: int = 0) -> None:
        """Wrap a batch that shows the previous action and reward."""
        self.envs, self.first_seed = envs, seed
        size = 2 * SYMBOLS + ACTIONS + 1
        space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        super().__init__(envs.num_envs, space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        observation, _ = self.envs.reset(seed=self.first_seed)
        return as_vector(observation)

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self):
        observation, rewards, terminated, truncated, _ = self.envs.step(self.actions)
        shown, dones = as_vector(observation), terminated | truncated
        infos = [{} for _ in dones]
        if dones.any():
            assert dones.all(), "episodes of different lengths: a step for one would be taken in all"
            for info, last, cut in zip(infos, shown, truncated, strict=True):
                info |= {"terminal_observation": last, "TimeLimit.truncated": bool(cut)}
            shown = as_vector(self.envs.step(np.zeros_like(self.actions))[0])
        return shown, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.envs, attr_name, None)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name, value, indices=None) -> None:
        raise NotImplementedError

    def env_method(self, method_name, *method_args, indices=None, **method_kwargs):
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs


class StopAfter(BaseCallback):
    """Ends a training after so many minutes."""

    def __init__(self, minutes: float) -> None:
        super().__init__()
        self.end = time.monotonic() + 60 * minutes

    def _on_step(self) -> bool:
        return time.monotonic() < self.end


def train(method: str, minutes: float, seed: int, num_envs: int, episode_steps: int) -> None:
    """Train for some minutes and write METHOD.zip."""
    kind, policy, network = METHODS[method]
    options = {"show_previous": True, "episode_steps": episode_steps}
    envs = SameStepVecEnv(
        gymnasium.make_vec("rapidtask/MemoryPlanning-v0", num_envs=num_envs, **options), seed
    )
    # A rollout is an episode, so that gradients reach from its end to its beginning.
    sizes = {"n_steps": episode_steps, "batch_size": num_envs * episode_steps // 4, "n_epochs": 4}
    rates = {"learning_rate": 1e-3, "ent_coef": 0.01}
    model = kind(policy, envs, **sizes, **rates, policy_kwargs=network, seed=seed, device="cpu")
    model.learn(10**9, callback=StopAfter(minutes))
    model.save(f"{method}.zip")
    print(f"{method}: {model.num_timesteps:,} steps, seed {seed}, {minutes} minutes: {method}.zip")


class SavedAgent:
    """A saved network in the protocol of `rapidtask score`."""

    def __init__(self, path: str) -> None:
        kind = RecurrentPPO if "recurrent" in os.path.basename(path) else PPO
        self.model = kind.load(path, device="cpu")

    def reset(self, num_episodes: int) -> None:
        self.memory, self.starts = None, np.ones(num_episodes, bool)

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        actions, self.memory = self.model.predict(as_vector(observation), self.memory, self.starts)
        self.starts = np.zeros_like(self.starts)
        return actions


def make_agent(spec):
    """The agent of the file that RAPIDTASK_SB3 names, where its network fits."""
    if spec.pixels or spec.num_actions != ACTIONS or spec.num_observations > SYMBOLS:
        return None
    return SavedAgent(os.environ["RAPIDTASK_SB3"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=METHODS)
    for name, default in {"minutes": 10.0, "seed": 0, "num-envs": 64, "episode-steps": 100}.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    chosen = vars(parser.parse_args())
    train(**{name: chosen[name] for name in ("method", "minutes", "seed", "num_envs", "episode_steps")})
