"""A learned agent as a policy, so that it is evaluated like every other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent, AgentState
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.vision import PixelEncoder
from rapidtask.envs.environment import Environment, EnvState, TimeStep
from rapidtask.errors import InputError
from rapidtask.policies.policy import Policy
from rapidtask.worlds.world import WorldPool


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
        sizes = (self.num_observations, self.rules.num_actions)
        actions, state = act(self.agent, state, timestep, embeddings, keys, sizes, greedy=self.greedy)
        return actions, (state, embeddings)


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
        self.agent, self.greedy, self._key, self._state = agent, greedy, jax.random.key(seed), None

    def __call__(self, observation: Mapping[str, np.ndarray]) -> Any:
        """The action `[]`, or the actions `[B]`, to take at an observation of the environment."""
        if "previous_action" not in observation:
            raise InputError("the agent looks at its previous action: gymnasium.make(…, show_previous=True)")
        if (axes := np.ndim(observation["position"])) > 2:
            raise InputError("the agent sees symbols, and these are frames: leave out the option `frames`")
        shown = {name: np.atleast_2d(array) for name, array in observation.items()}
        place, goal, taken = (
            shown[name].argmax(1).astype(np.int32) for name in ("position", "goal", "previous_action")
        )
        reward, first = shown["previous_reward"][:, 0], shown["previous_action"].sum(1) == 0
        rest = (reward == 1.0, np.ones_like(reward), first, np.zeros_like(first))
        timestep = TimeStep(place, goal, taken, reward, *rest)  # pyright: ignore[reportArgumentType]
        if self._state is None or first.all():
            self._state = self.agent.initial_state(len(first))
        keys = jax.random.split(self._key, 1 + len(first))
        sizes = (shown["position"].shape[1], shown["previous_action"].shape[1])
        step = (self.agent, self._state, timestep, None, keys[1:], sizes)
        (actions, self._state), self._key = _act(*step, greedy=self.greedy), keys[0]
        return np.asarray(actions, np.int64) if axes == 2 else np.int64(actions[0])


def act(
    agent: Agent,
    state: AgentState,
    timestep: TimeStep,
    embeddings: Embeddings | None,
    keys: PRNGKeyArray,
    sizes: tuple[int, int],
    *,
    greedy: bool,
) -> tuple[Int[Array, " B"], AgentState]:
    """Actions in B environments of so many observations and actions, and what the agent carries on."""
    # The embedding of symbols does not depend on the step: XLA moves it out of loops.
    seen = agent.embed() if embeddings is None else embeddings
    output, state = agent.step(state, timestep, seen)
    known = (seen.table.shape[-2], output.logits.shape[-1])
    if known[0] < sizes[0] or known[1] != sizes[1]:
        # An index beyond a table is no error in JAX: the agent would act, and make nothing of what it sees.
        raise InputError(
            f"the agent was made for {known[1]} actions and {known[0]} observations; this world has "
            f"{sizes[1]} and {sizes[0]} (rapidtask.fit_agent makes some agents fit)"
        )
    if greedy:
        return jnp.argmax(output.logits, axis=-1).astype(jnp.int32), state
    return jax.vmap(jax.random.categorical)(keys, output.logits).astype(jnp.int32), state


_act = eqx.filter_jit(act)


def make_learned_policy(agent: Agent, environment: Environment, *, greedy: bool = False) -> LearnedPolicy:
    """An agent as a policy for an environment."""
    sees = isinstance(agent.encoder, PixelEncoder)
    if sees and not environment.has_frames:
        made = "as `rapidtask cities render CITY --out DIR` makes them"
        raise InputError(f"the agent sees pixels: its world needs frames, {made} (--world.frames DIR)")
    # An agent of symbols may act in a pixel world: ids are all it looks at.
    pool = environment.pool if sees else None
    return LearnedPolicy(environment.rules, environment.num_observations, agent, greedy, pool)
