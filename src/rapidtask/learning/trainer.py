"""The training loop's core: one jitted call acts, computes targets and updates, on one device or many."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Int, PRNGKeyArray

from rapidtask.agents.agent import Agent, AgentConfig
from rapidtask.agents.episodic import EpisodicAgent
from rapidtask.agents.vision import WhitenedEncoder
from rapidtask.envs.environment import Environment
from rapidtask.errors import InputError
from rapidtask.learning.config import LearningConfig
from rapidtask.learning.losses import Metrics
from rapidtask.learning.optimisers import grouped, make_optimiser
from rapidtask.learning.rollout import Actors, collect, start_actors
from rapidtask.learning.update import LearnerState, Updater, num_updates

DEVICES = "devices"
"""Name of the mesh axis that environments are spread over."""


class TrainState(eqx.Module):
    """All that changes during training: restoring it continues a run bit for bit."""

    learner: LearnerState
    actors: Actors
    key: PRNGKeyArray
    iteration: Int[Array, ""]


class Trainer:
    """Makes and advances the state of a run.

    With several devices, environments and minibatches are spread over them and gradients are averaged; each
    device draws its part of a minibatch from its own environments.
    """

    def __init__(
        self,
        environment: Environment,
        agent_config: AgentConfig,
        config: LearningConfig,
        *,
        total_steps: int,
        seed: int,
    ):
        devices = jax.devices()
        per_device = share_of_device(config, len(devices))
        self.config = config
        whole = environment.episode.episode_steps + 1
        if environment.has_frames and config.rollout_steps not in (None, whole):
            # The frames of a rollout are those of one world per environment.
            raise InputError(f"rollout_steps: with frames a rollout is one whole episode, {whole} steps")
        self.num_steps = config.rollout_steps or whole
        self.steps_per_iteration = config.num_envs * self.num_steps
        self.num_iterations = max(1, -(-total_steps // self.steps_per_iteration))
        self._agent_config, self._seed = agent_config, seed

        self.mesh = Mesh(np.asarray(devices), (DEVICES,)) if len(devices) > 1 else None
        agent = eqx.filter_eval_shape(agent_config.make, environment.spec, seed)
        if config.lag:
            raise InputError(
                "lag: these environments act and learn in turn, give 0 (--world gymnasium can lag)"
            )
        self.optimiser = make_learning(per_device, agent, self.num_steps, self.num_iterations)
        self._updater = Updater(per_device, self.optimiser, DEVICES if self.mesh else None)
        iterate = self._iterate_sharded if self.mesh else self._iterate
        compiler: Any = {"compiler_options": compiler_options(1)}
        self._jitted = eqx.filter_jit(iterate, donate="all-except-first", **compiler)

    def init(self, environment: Environment) -> TrainState:
        """The state before the first iteration."""
        return fit_vision(self._make_state(environment), environment)

    def _make_state(self, environment: Environment) -> TrainState:
        compiler: Any = {"compiler_options": compiler_options(0)}
        agent = self._agent_config.make(environment.spec, self._seed)
        if self.mesh is None:
            return eqx.filter_jit(self._init, **compiler)(environment, agent)
        # A copy, which has no places and names beside it: Equinox cannot take those apart.
        shapes = eqx.filter_eval_shape(self._init, jax.tree.map(lambda leaf: leaf, environment), agent)
        static = eqx.filter(shapes, _is_shape, inverse=True)
        make = jax.jit(
            lambda: eqx.filter(self._init(environment, agent), eqx.is_array),
            out_shardings=self.shardings(shapes),
            **compiler,
        )
        return eqx.combine(make(), static)

    def iterate(self, environment: Environment, state: TrainState) -> tuple[TrainState, Metrics]:
        """One rollout and the updates learned from it. The given state is used up."""
        return self._jitted(environment, state)

    def shardings(self, state: TrainState) -> Any:
        """Where each array of a state lives on the mesh: environments are spread, the rest is everywhere."""
        return jax.tree.map(lambda spec: NamedSharding(self.mesh, spec), _specs(state))  # pyright: ignore[reportArgumentType]

    def _init(self, environment: Environment, agent: Agent) -> TrainState:
        actors_key, key = jax.random.split(jax.random.key(self._seed))
        keys = jax.random.split(actors_key, self.config.num_envs)
        actors = start_actors(environment, agent, keys, stagger=self.config.rollout_steps is not None)
        optimiser = self.optimiser.init(grouped(eqx.filter(agent, eqx.is_inexact_array)))
        return TrainState(LearnerState(agent, optimiser), actors, key, jnp.zeros((), jnp.int32))

    def _iterate(self, environment: Environment, state: TrainState) -> tuple[TrainState, Metrics]:
        config = self.config
        weight = entropy_weight(config, state.iteration, self.num_iterations)
        key = jax.random.fold_in(state.key, state.iteration)
        # A key of its own: which other keys are drawn must not depend on what an agent does with this one.
        agent = state.learner.agent.for_rollout(jax.random.fold_in(key, 1))
        rollout, actors = collect(environment, agent, state.actors, self.num_steps)
        learner = LearnerState(agent, state.learner.optimiser)
        learner, metrics = self._updater.update(learner, rollout, environment, weight, key)
        learner = LearnerState(learner.agent.after_rollout(), learner.optimiser)
        goals, steps = rollout.timesteps.completed[1:].sum(), rollout.valid.sum()
        if self.mesh is not None:
            goals, steps = jax.lax.psum((goals, steps), DEVICES)
        metrics |= {"goals_per_episode": environment.episode.episode_steps * goals / jnp.maximum(steps, 1.0)}
        return TrainState(learner, actors, state.key, state.iteration + 1), metrics

    def _iterate_sharded(self, environment: Environment, state: TrainState) -> tuple[TrainState, Metrics]:
        dynamic, static = eqx.partition(state, eqx.is_array)
        world, world_static = eqx.partition(environment, eqx.is_array)

        def iterate(world: Environment, dynamic: TrainState):
            new, metrics = self._iterate(eqx.combine(world, world_static), eqx.combine(dynamic, static))
            return eqx.filter(new, eqx.is_array), metrics

        specs = _specs(state)
        run = jax.shard_map(
            iterate, mesh=self.mesh, in_specs=(P(), specs), out_specs=(specs, P()), check_vma=False
        )
        dynamic, metrics = run(world, dynamic)
        return eqx.combine(dynamic, static), metrics


def make_learning(
    config: LearningConfig, agent: Agent, num_steps: int, num_iterations: int
) -> optax.GradientTransformation:
    """The optimiser of a run, its learning rate falling over all updates; what has no effect is refused."""
    refuse_without_effect(config, agent)
    updates = num_updates(config, agent, config.num_envs, num_steps)
    rate_end = config.learning_rate * config.learning_rate_end
    schedule = optax.linear_schedule(config.learning_rate, rate_end, num_iterations * updates)
    return make_optimiser(config.optimiser, schedule, clip=config.gradient_clip)


def entropy_weight(config: LearningConfig, iteration: Int[Array, ""], num_iterations: int) -> Array:
    """Weight of the policy's entropy in an iteration."""
    return config.entropy + (config.entropy_end - config.entropy) * (iteration / num_iterations)


def compiler_options(level: int) -> dict[str, Any]:
    """How training is compiled on a CPU: at XLA's level 0 what runs once, else at level 1, which is half the
    wait of the default for programs that are as quick. XLA_FLAGS may set another."""
    is_set = "xla_backend_optimization_level" in os.environ.get("XLA_FLAGS", "")
    return {"xla_backend_optimization_level": level} if jax.default_backend() == "cpu" and not is_set else {}


def fit_vision(state: TrainState, environment: Environment) -> TrainState:
    """Fit an encoder of frames that is not trained to the frames of the first worlds."""
    encoder = state.learner.agent.encoder
    if not isinstance(encoder, WhitenedEncoder):
        return state
    ids, frames = environment.pool.frame_ids, environment.pool.frames
    assert ids is not None
    assert frames is not None
    fitted = encoder.fit(frames[np.unique(ids[ids >= 0])])
    place = lambda new, old: jax.device_put(new, old.sharding)  # noqa: E731
    return eqx.tree_at(lambda s: s.learner.agent.encoder, state, jax.tree.map(place, fitted, encoder))


def share_of_device(config: LearningConfig, num_devices: int) -> LearningConfig:
    """What one of several devices does of a run."""
    for name in ("num_envs", "minibatch_size"):
        if getattr(config, name) % num_devices:
            raise InputError(
                f"{name} is {getattr(config, name)}, not a multiple of the {num_devices} devices"
            )
    return replace(
        config,
        num_envs=config.num_envs // num_devices,
        minibatch_size=config.minibatch_size // num_devices,
    )


def refuse_without_effect(config: LearningConfig, agent: Agent) -> None:
    """Refuse options that would do nothing with this agent."""
    if config.learned_share is not None and not isinstance(agent, EpisodicAgent):
        raise InputError("learned_share: a recurrent agent learns from whole rollouts, give None")
    if config.learned_share is None and config.ratio_clip is not None:
        raise InputError("ratio_clip: only single steps are clipped; whole rollouts need None")


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _specs(state: TrainState) -> Any:
    arrays = eqx.filter(state, lambda leaf: eqx.is_array(leaf) or _is_shape(leaf))
    specs = jax.tree.map(lambda _: P(), arrays)
    return eqx.tree_at(lambda s: s.actors, specs, jax.tree.map(lambda _: P(DEVICES), arrays.actors))
