"""Which worlds each iteration of a run trains in: always the same, or fresh pools of neighbourhoods."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import equinox as eqx
import jax

from rapidtask.envs.environment import Environment
from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.learning.rollout import Actors
from rapidtask.learning.trainer import Trainer, TrainState
from rapidtask.runs.config import RunConfig


class TrainingWorlds(AbstractContextManager["TrainingWorlds"]):
    """The environments of a run, numbered: which one an iteration trains in follows from the iteration alone.

    All have equal shapes. A street world's environment number n holds pool n of `StreetLearn.stream`, which
    refuses held-out cities; pool n + 1 is sampled in the background meanwhile.
    """

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._stream = None
        if isinstance(config.world, StreetLearn):
            self._stream = config.world.stream(config.seed)
            self._environment = self._take(0)
        else:
            self._environment = config.world.make()
        if (built := self._environment.spec) != config.world.spec:
            # The trained agent could not be loaded: that goes by the options.
            raise InputError(f"the world's options tell {config.world.spec}, but its environment is {built}")
        self._number = 0

    @property
    def environment(self) -> Environment:
        """The one entered last; before that the first."""
        return self._environment

    def enter(self, state: TrainState, iteration: int, trainer: Trainer) -> TrainState:
        """Go to the environment of an iteration; where it is a new one, the actors start their next episodes.

        Returns:
            The state to go on with: worlds never change within an episode.
        """
        number = self.number(iteration, trainer)
        if number != self._number:
            self._environment = self._take(number)
            self._number = number
        if iteration > 0 and self.number(iteration - 1, trainer) != number:
            state = eqx.tree_at(lambda s: s.actors, state, _restart(self._environment, state.actors))
        return state

    def number(self, iteration: int, trainer: Trainer) -> int:
        """Number of an iteration's environment."""
        if self._stream is None:
            return 0
        return iteration // iterations_per_pool(self._environment, trainer)

    def close(self) -> None:
        """Stop sampling in the background."""
        if self._stream is not None:
            self._stream.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, number: int) -> Environment:
        assert self._stream is not None
        return Environment(self._stream.take(number), self._config.world.episode)


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
    following = jax.vmap(lambda key: jax.random.fold_in(key, environment.episode.episode_steps))
    env_states, timestep = environment.reset_batch(following(actors.env_states.key))
    # Staggered environments stay so; the others are at the start of an episode here.
    env_states = eqx.tree_at(lambda s: s.steps, env_states, actors.env_states.steps)
    return eqx.tree_at(lambda a: (a.env_states, a.timestep), actors, (env_states, timestep))
