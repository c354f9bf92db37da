"""A learned agent as a policy, so that it is evaluated like every other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from rapidtask.agents.agent import Agent
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import Environment, EnvState, TimeStep
from rapidtask.errors import InputError
from rapidtask.policies.policy import Policy
from rapidtask.worlds.world import Rules, WorldPool


class LearnedPolicy(Policy):
    """Draws actions from an agent's logits, or takes the likeliest."""

    agent: Agent
    greedy: bool = eqx.field(static=True, default=False)
    pool: WorldPool | None = None
    """Where the frames of pixel worlds are; None for symbols."""

    def start_batch(self, env_states: EnvState) -> Any:
        """See `Policy`. Frames are embedded here, once per episode, and remembered with the rest."""
        state, pool = self.agent.initial_state(len(env_states.state)), self.pool
        if pool is None:
            return state, None
        # One environment after the other: a batch's frames and their features at once would be gigabytes.
        embed = lambda world: self.agent.embed(pool.look_up_frames(pool.frames_of(world)))  # noqa: E731
        return state, jax.lax.map(embed, env_states.world)

    def step_batch(self, memory: Any, timestep: TimeStep, keys: PRNGKeyArray, env_states: EnvState):
        """See `Policy`."""
        del env_states  # agents never see it
        state, embeddings = memory
        # The embedding of symbols does not depend on the step: XLA moves it out of the loop.
        seen = self.agent.embed() if embeddings is None else embeddings
        output, state = self.agent.step(state, timestep, seen)
        known, here = output.logits.shape[-1], self.rules.num_actions
        if known != here or seen.table.shape[-2] < self.num_observations:
            # An index beyond a table is no error in JAX: the agent would act on nonsense.
            raise InputError(
                f"the agent was made for {known} actions and {seen.table.shape[-2]} observations; this world "
                f"has {here} and {self.num_observations} (rapidtask.fit_agent makes some agents fit)"
            )
        if self.greedy:
            actions = jnp.argmax(output.logits, axis=-1)
        else:
            actions = jax.vmap(jax.random.categorical)(keys, output.logits)
        return actions.astype(jnp.int32), (state, embeddings)


class GymnasiumPolicy:
    """A learned agent in a loop of Gymnasium: observations come in, actions go out, of one environment or B.

    Agents look at their previous action and its reward too, so the environment must show them:
    `gymnasium.make(ID, show_previous=True)`. Where there is no previous action an episode begins, and the
    agent forgets.
    """

    def __init__(self, agent: Agent, *, greedy: bool = False, seed: int = 0) -> None:
        """Act by an agent of symbols: its likeliest actions, or actions drawn from a seed on."""
        if isinstance(agent.encoder, PixelEncoder):
            raise InputError("the agent sees pixels: it embeds all views of a world at once, so use `play`")
        self.agent, self.greedy, self._key = agent, greedy, jax.random.key(seed)
        self._policy, self._memory = None, None

    def __call__(self, observation: Mapping[str, np.ndarray]) -> Any:
        """The action `[]`, or the actions `[B]`, to take at an observation of the environment."""
        if "previous_action" not in observation:
            raise InputError("the agent looks at its previous action: gymnasium.make(…, show_previous=True)")
        if (axes := np.ndim(observation["position"])) > 2:
            raise InputError("the agent sees symbols, and these are frames: leave out the option `frames`")
        shown = {name: np.atleast_2d(array) for name, array in observation.items()}
        names = ("position", "goal", "previous_action")
        place, goal, taken = (shown[name].argmax(1).astype(np.int32) for name in names)
        reward, first = shown["previous_reward"][:, 0], shown["previous_action"].sum(1) == 0
        rest = (reward == 1.0, np.ones_like(reward), first, np.zeros_like(first))
        timestep = TimeStep(place, goal, taken, reward, *rest)  # pyright: ignore[reportArgumentType]
        if self._policy is None or first.all():
            rules = Rules(tuple(map(str, range(shown["previous_action"].shape[1]))))
            self._policy = LearnedPolicy(rules, shown["position"].shape[1], self.agent, self.greedy)
            self._memory = (self.agent.initial_state(len(first)), None)
        self._key, key = jax.random.split(self._key)
        keys = jax.random.split(key, len(first))
        actions, self._memory = _step(self._policy, self._memory, timestep, keys, None)  # pyright: ignore
        return np.asarray(actions, np.int64) if axes == 2 else np.int64(actions[0])


_step = eqx.filter_jit(LearnedPolicy.step_batch)


def make_learned_policy(agent: Agent, environment: Environment, *, greedy: bool = False) -> LearnedPolicy:
    """An agent as a policy for an environment."""
    sees = isinstance(agent.encoder, PixelEncoder)
    if sees and not environment.has_frames:
        made = "as `rapidtask cities render CITY --out DIR` makes them"
        raise InputError(f"the agent sees pixels: its world needs frames, {made} (--world.frames DIR)")
    # An agent of symbols may act in a pixel world: ids are all it looks at.
    pool = environment.pool if sees else None
    return LearnedPolicy(environment.rules, environment.num_observations, agent, greedy, pool)
