"""The interface of reference policies: what a learned agent is compared with."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from rapidtask.envs.environment import EnvState, TimeStep
from rapidtask.worlds.world import Rules


class Policy(eqx.Module):
    """Chooses actions for one environment from what it shows; the caller vmaps.

    A policy knows the rules (the names of the actions, which one undoes which) and how many observations
    there are, as a learned agent comes to know them; everything else it must remember by itself.
    """

    privileged: ClassVar[bool] = False
    """Whether `step` is also given the environment's state (the oracle)."""

    rules: Rules = eqx.field(static=True)
    num_observations: int = eqx.field(static=True)

    def initial_state(self) -> Any:
        """What the policy remembers at the start of an episode."""
        return ()

    def step(self, memory: Any, timestep: TimeStep, key: PRNGKeyArray) -> tuple[Int[Array, ""], Any]:
        """Choose an action: `(action, what it remembers now)`. The memory is fresh at a first timestep."""
        raise NotImplementedError

    def start_batch(self, env_states: EnvState) -> Any:
        """What is remembered of B environments at the start; only what states look like is taken of them."""
        batch = env_states.state.shape
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (*batch, *x.shape)), self.initial_state())

    def step_batch(
        self, memory: Any, timestep: TimeStep, keys: PRNGKeyArray, env_states: EnvState
    ) -> tuple[Int[Array, " B"], Any]:
        """`step` for B environments; their states are shown to privileged policies only."""
        truth = (env_states,) if self.privileged else ()
        return jax.vmap(self.step)(memory, timestep, keys, *truth)

    def collect_or(self, timestep: TimeStep, move: Int[Array, ""]) -> Int[Array, ""]:
        """Collect on the goal, where there is such an action; else the move."""
        if self.rules.collect is None:
            return move
        return jnp.where(timestep.observation == timestep.goal, self.rules.collect, move)


def choose(key: PRNGKeyArray, allowed: Bool[Array, " A"]) -> Int[Array, ""]:
    """One of the allowed actions, uniformly."""
    return jnp.argmax(jnp.where(allowed, jax.random.uniform(key, allowed.shape), -1.0)).astype(jnp.int32)
