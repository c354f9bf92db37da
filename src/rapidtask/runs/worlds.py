"""Where a run trains: in the same worlds always, in fresh pools of neighbourhoods, or in lives."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack

import equinox as eqx

from rapidtask.agents.agent import Agent
from rapidtask.envs.environment import Environment
from rapidtask.envs.gymnasium_worlds import GymnasiumWorlds
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.evaluation.lives import LivesScorer
from rapidtask.evaluation.scores import Scorer, Scores
from rapidtask.learning.lives_trainer import LivesState, LivesTrainer
from rapidtask.learning.rollout import Actors
from rapidtask.learning.trainer import Trainer, TrainState
from rapidtask.lives.workers import Workers
from rapidtask.policies.learned import make_learned_policy
from rapidtask.runs.config import RunConfig

EVALUATION_SEED = 1_000_003
"""Worlds of the evaluations during a run; training draws its own from the run's seed."""


class TrainingWorlds(ExitStack):
    """The environments of a run, numbered: which one an iteration trains in follows from the iteration alone.

    All have equal shapes. A street world's environment number n holds pool n of `StreetLearn.stream`, which
    refuses held-out cities; pool n + 1 is sampled in the background meanwhile.
    """

    environment: Environment
    """The one entered last; before that the first."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        self._config = config
        self._episode, self._stream, self._number = config.world.episode, None, 0
        if isinstance(config.world, StreetLearn):
            self._stream = self.enter_context(config.world.stream(config.seed))
            self.environment = Environment(self._stream.take(0), self._episode)
        else:
            self.environment = config.world.make()
        if (built := self.environment.spec) != config.world.spec:
            # The trained agent could not be loaded: that goes by the options.
            raise InputError(f"the world's options tell {config.world.spec}, but its environment is {built}")

    def make_trainer(self) -> Trainer:
        """What trains here."""
        config = self._config
        kinds = (self.environment, config.agent, config.learning)
        return Trainer(*kinds, total_steps=config.steps, seed=config.seed)

    def make_scorer(self, episodes: int) -> Callable[[Agent], Scores]:
        """What scores an agent in the worlds held out."""
        scorer = Scorer(self._config.world.held_out().make(), episodes, EVALUATION_SEED)
        return lambda agent: scorer("agent", make_learned_policy(agent, scorer.environment))

    def enter(self, state: TrainState, iteration: int, trainer: Trainer) -> TrainState:
        """Go to the environment of an iteration; if it is a new one, the actors start their next episodes."""
        number = self.number(iteration, trainer)
        if number != self._number and self._stream is not None:
            self.environment = Environment(self._stream.take(number), self._episode)
            self._number = number
        if iteration > 0 and self.number(iteration - 1, trainer) != number:
            state = eqx.tree_at(lambda s: s.actors, state, _restart(self.environment, state.actors))
        return state

    def number(self, iteration: int, trainer: Trainer) -> int:
        """Number of an iteration's environment."""
        if self._stream is None:
            return 0
        return iteration // iterations_per_pool(self.environment, trainer)


class TrainingLives(ExitStack):
    """The lives of a run in an environment of Gymnasium: a new world for each, told by run and iteration."""

    environment: Workers
    """The processes that step it."""

    def __init__(self, config: RunConfig, num_workers: int, ray: str | None) -> None:
        super().__init__()
        assert isinstance(config.world, GymnasiumWorlds)
        self._config, self._world, self._num_workers = config, config.world, num_workers
        assert config.world.spec  # refused before a process is started
        workers = Workers(config.world.life, config.learning.num_envs, num_workers, ray)
        self.environment = self.enter_context(workers)

    def make_trainer(self) -> LivesTrainer:
        """See `TrainingWorlds`."""
        config = self._config
        kinds = (self._world, config.agent, config.learning)
        trainer = LivesTrainer(*kinds, total_steps=config.steps, seed=config.seed)
        self.callback(trainer.close)
        return trainer

    def make_scorer(self, episodes: int) -> Callable[[Agent], Scores]:
        """See `TrainingWorlds`."""
        scorer = LivesScorer(self._world, episodes, EVALUATION_SEED, self._num_workers)
        return lambda agent: scorer.score_agent("agent", agent)

    def enter(self, state: LivesState, iteration: int, trainer: LivesTrainer) -> LivesState:
        """Lives begin with each iteration by themselves."""
        return state


def open_worlds(config: RunConfig, num_workers: int, ray: str | None) -> TrainingWorlds | TrainingLives:
    """Where a run trains; only environments of Gymnasium have processes, or actors of Ray, that step them."""
    if isinstance(config.world, GymnasiumWorlds):
        return TrainingLives(config, num_workers, ray)
    if ray is not None:
        raise InputError("--run-options.ray: only environments of --world gymnasium are stepped by others")
    return TrainingWorlds(config)


def iterations_per_pool(environment: Environment, trainer: Trainer) -> int:
    """Iterations until about as many episodes have begun as the pool has worlds, in whole episodes."""
    num_worlds = environment.pool.num_worlds
    # An episode takes one step more: that to the first timestep of the next.
    episode = environment.episode.episode_steps + 1
    iterations = -(-num_worlds * episode // trainer.steps_per_iteration)
    whole = episode // math.gcd(episode, trainer.num_steps)
    return max(1, -(-iterations // whole)) * whole


@eqx.filter_jit
def _restart(environment: Environment, actors: Actors) -> Actors:
    """The actors at the start of the episodes that follow the current ones, in another pool of worlds."""
    env_states, timestep = environment.reset_batch(environment.next_keys(actors.env_states))
    # Staggered environments stay so; the others are at the start of an episode here.
    env_states = eqx.tree_at(lambda s: s.steps, env_states, actors.env_states.steps)
    return eqx.tree_at(lambda a: (a.env_states, a.timestep), actors, (env_states, timestep))
