"""Training in environments of Gymnasium: actors in processes of their own, and a learner that may run ahead.

With `lag` 1 the actors live one rollout while the learner learns from the one before it, as in IMPALA with a
queue of length one (and in Cleanba): rollout k is lived by the weights that k - 1 rollouts have taught,
however quick either side is. So runs can be repeated bit for bit, and V-trace has something to correct.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent, AgentConfig
from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.errors import InputError
from rapidtask.evaluation.lives import ActingAgent, live, live_through, world_seeds
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.losses import Metrics
from rapidtask.learning.optimisers import grouped
from rapidtask.learning.rollout import Rollout
from rapidtask.learning.trainer import compiler_options, entropy_weight, make_learning
from rapidtask.learning.update import LearnerState, Updater
from rapidtask.lives.workers import Workers


class LivesState(eqx.Module):
    """All that changes during training. Lives begin anew with each rollout, so none is part of it."""

    learner: LearnerState
    acting: Agent
    """The agent that lives the next rollout: the learner's, or with lag the one before."""
    key: PRNGKeyArray
    iteration: Int[Array, ""]


class LivesTrainer:
    """Makes and advances the state of a run in lives."""

    mesh = None
    """Learning takes one device: other cores are for the environments."""

    def __init__(
        self,
        world: GymnasiumWorlds,
        agent_config: AgentConfig,
        config: LearningConfig,
        *,
        total_steps: int,
        seed: int,
    ):
        if config.rollout_steps not in (None, world.episode_steps):
            raise InputError(
                f"rollout_steps: with --world gymnasium a rollout is a life, {world.episode_steps}"
            )
        if len(jax.devices()) > 1:
            raise InputError("cpu_devices: with --world gymnasium learning takes one device, give 1")
        self.world, self.config, self._seed = world, config, seed
        self.num_steps = world.episode_steps
        self.steps_per_iteration = config.num_envs * self.num_steps
        self.num_iterations = max(1, -(-total_steps // self.steps_per_iteration))
        self._agent_config = agent_config
        agent = eqx.filter_eval_shape(agent_config.make, world.spec, seed)
        self.optimiser = make_learning(config, agent, self.num_steps, self.num_iterations)
        self._updater = Updater(config, self.optimiser)
        options: Any = {"compiler_options": compiler_options(1)}
        self._learn = eqx.filter_jit(self._learn_from, **options)
        self._actors = ThreadPoolExecutor(1, "actors")
        self._ahead: tuple[int, Future[Rollout]] | None = None

    def init(self, workers: Workers) -> LivesState:
        """The state before the first iteration."""
        agent = self._agent_config.make(self.world.spec, self._seed)
        optimiser = jax.jit(self.optimiser.init)(grouped(eqx.filter(agent, eqx.is_inexact_array)))
        key = jax.random.key(self._seed)
        return LivesState(LearnerState(agent, optimiser), agent, key, jnp.zeros((), jnp.int32))

    def iterate(self, workers: Workers, state: LivesState) -> tuple[LivesState, Metrics]:
        """Learn from one rollout; with lag, while the next one is lived."""
        number = int(state.iteration)
        if self._ahead is not None and self._ahead[0] == number:
            rollout = self._ahead[1].result()
        else:
            # Weights that a run starts from are the learner's.
            rollout = self.collect(workers, state.acting if number else state.learner.agent, number)
        agent = state.learner.agent
        if self.config.lag and number + 1 < self.num_iterations:
            self._ahead = number + 1, self._actors.submit(self.collect, workers, agent, number + 1)
        learner, metrics = self._learn(state, rollout)
        acting = agent if self.config.lag else learner.agent
        return LivesState(learner, acting, state.key, state.iteration + 1), metrics

    def collect(self, workers: Workers, agent: Agent, number: int) -> Rollout:
        """Rollout number k: a life in each of B worlds; lived again if a process is lost."""
        key = jax.random.fold_in(jax.random.key(self._seed), number)
        seeds = world_seeds(self._seed, number, self.config.num_envs, held_out=False)

        def attempt() -> Rollout:
            actor = ActingAgent(
                agent.for_rollout(jax.random.fold_in(key, 1)), len(seeds), jax.random.fold_in(key, 2)
            )
            timesteps = list(live(workers, seeds, self.world, actor))
            actor(timesteps[-1])  # for its baseline
            decided = jax.tree.map(lambda *steps: np.stack(steps), *actor.decisions)
            return Rollout(
                jax.tree.map(lambda *steps: np.stack(steps), *timesteps),
                decided.action[:-1],
                decided.log_probability[:-1],
                decided.value,
                actor.start,
            )

        return live_through(workers, attempt)

    def close(self) -> None:
        """Wait for the rollout under way, if there is one."""
        self._actors.shutdown(wait=True, cancel_futures=True)

    def _learn_from(self, state: LivesState, rollout: Rollout) -> tuple[LearnerState, Metrics]:
        key = jax.random.fold_in(state.key, state.iteration)
        agent = state.learner.agent.for_rollout(jax.random.fold_in(key, 1))
        weight = entropy_weight(self.config, state.iteration, self.num_iterations)
        learner = LearnerState(agent, state.learner.optimiser)
        learner, metrics = self._updater.update(learner, rollout, None, weight, key)
        goals = rollout.timesteps.completed[1:].sum() / self.config.num_envs
        return LearnerState(learner.agent.after_rollout(), learner.optimiser), metrics | {
            "goals_per_episode": goals
        }
