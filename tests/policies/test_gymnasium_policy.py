import dataclasses
from pathlib import Path

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rapidtask
from epn_histories import fill
from rapidtask import GymnasiumPolicy, make_environment, make_learned_policy, play
from rapidtask.errors import InputError
from tiny_training import EPN, WORLD

ID = "rapidtask/MemoryPlanning-v0"
OPTIONS = {"size": WORLD.size, "episode_steps": WORLD.episode_steps, "show_previous": True}


def make_agent():
    return fill(lambda: EPN.make(WORLD.spec, 0))


def test_acts_in_a_batch_as_on_what_the_core_shows():
    agent = make_agent()
    envs, policy = gymnasium.make_vec(ID, num_envs=3, **OPTIONS), GymnasiumPolicy(agent, greedy=True)
    observation, _ = envs.reset(seed=0)
    shown, actions = [], []
    for _ in range(2 * WORLD.episode_steps):  # into a second episode
        shown.append(envs.unwrapped.episodes.timestep)
        actions.append(policy(observation))
        observation, *_ = envs.step(actions[-1])
    timesteps = jax.tree.map(lambda *steps: jnp.stack(steps), *shown)
    output, _ = eqx.filter_jit(agent.unroll)(agent.initial_state(3), timesteps, agent.embed())
    np.testing.assert_array_equal(actions, output.logits.argmax(-1))


def test_draws_actions_by_its_seed_in_one_environment():
    def act(seed):
        env, policy = gymnasium.make(ID, **OPTIONS), GymnasiumPolicy(make_agent(), seed=seed)
        observation, over, actions = env.reset(seed=0)[0], False, []
        while not over:
            actions.append(policy(observation))
            observation, _, *ends, _ = env.step(actions[-1])
            over = any(ends)
        return actions

    actions = act(0)
    assert len(actions) == WORLD.episode_steps
    assert act(0) == actions != act(1)


def test_what_an_agent_cannot_act_on_is_refused():
    policy = GymnasiumPolicy(make_agent())
    env = gymnasium.make(ID, **OPTIONS | {"show_previous": False})
    with pytest.raises(InputError, match="show_previous=True"):
        policy(env.reset(seed=0)[0])
    larger = gymnasium.make(ID, **OPTIONS | {"size": 3})
    with pytest.raises(InputError, match="made for 5 actions and 4 observations; this world has 5 and 9"):
        policy(larger.reset(seed=0)[0])
    environment = make_environment("memory-planning", size=3)
    with pytest.raises(InputError, match="this world has 5 and 9"):
        play(environment, make_learned_policy(make_agent(), environment), 1, seed=0)
    pixels = dataclasses.replace(WORLD.spec, pixels=True)
    with pytest.raises(InputError, match="sees pixels"):
        GymnasiumPolicy(fill(lambda: EPN.make(pixels, 0)))


def test_names_of_the_package_are_shown_and_found():
    assert (Path(rapidtask.__file__).parent / "py.typed").exists()  # its types are for others too
    assert {"load_pretrained", "GymnasiumPolicy", "make_environment", "play"} <= set(dir(rapidtask))
    for name in dir(rapidtask):
        assert getattr(rapidtask, name)
    with pytest.raises(AttributeError, match="no attribute 'fly'"):
        rapidtask.fly  # noqa: B018
