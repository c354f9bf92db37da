from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from epn_histories import (
    NUM_ACTIONS,
    NUM_ENVS,
    NUM_OBSERVATIONS,
    assert_same,
    make_epn,
    quick_jit,
    random_history,
)
from rapidtask.agents.warm_start import WarmStart
from rapidtask.errors import InputError

OPTIONS = {"block": "recall", "num_heads": 4, "comparisons": "neighbours", "memory": "set", "iterations": 2}
COLLECT = NUM_ACTIONS - 1


def outputs(agent, timesteps):
    """Logits and values `[T, B]` of an agent that starts with nothing."""
    result, _ = quick_jit(lambda t: agent.unroll(agent.initial_state(NUM_ENVS), t, agent.embed()))(timesteps)
    return result.logits, result.value


def walk_then_stay(goal_changes):
    """A walk, then three collects away from the goal, which lead nowhere; with another goal from the first
    of them on, or at each."""
    walk = random_history(0, 3, False, reset_chance=0.0)
    last = jax.tree.map(lambda x: x[-1], walk)
    steps = []
    for n in range(3):
        goal = (last.observation + 1 + (n if goal_changes else 0)) % NUM_OBSERVATIONS
        goal = jnp.where(goal == last.goal, (goal + 4) % NUM_OBSERVATIONS, goal)
        nothing = jnp.zeros(NUM_ENVS, bool)
        stay = {"action": jnp.full(NUM_ENVS, COLLECT), "goal": goal, "completed": nothing, "first": nothing}
        steps.append(replace(last, **stay, reward=jnp.zeros(NUM_ENVS)))
    return jax.tree.map(lambda walk, *stays: jnp.concatenate([walk, jnp.stack(stays)]), walk, *steps)


@pytest.mark.parametrize("newest", [True, False])
def test_a_thought_goes_on_while_the_goal_and_the_memory_stay(newest):
    timesteps = walk_then_stay(goal_changes=False)
    options = {**OPTIONS, "plan_with_newest": newest}
    warm = outputs(WarmStart(make_epn(**options)), timesteps)
    # The collect is a row of its own; where it is remembered after planning, the second plan has it first.
    for steps in (1, 2, 3) if newest else (1,):
        cold = outputs(make_epn(**options | {"iterations": 2 * steps}), timesteps)
        at = len(timesteps.first) - 4 + steps
        assert_same([x[at] for x in warm], [x[at] for x in cold], 1e-4)
    fewer = outputs(make_epn(**options), timesteps)
    assert np.abs(np.asarray(warm[0][-1] - fewer[0][-1])).max() > 1e-3


def test_it_starts_anew_with_a_new_goal():
    timesteps = walk_then_stay(goal_changes=True)
    agent = make_epn(**OPTIONS, plan_with_newest=True)
    warm, cold = outputs(WarmStart(agent), timesteps), outputs(agent, timesteps)
    assert_same([x[-3:] for x in warm], [x[-3:] for x in cold], 1e-4)
    assert_same([x[0] for x in warm], [x[0] for x in cold], 1e-4)
    assert np.abs(np.asarray(warm[0] - cold[0])).max() > 1e-3


@pytest.mark.parametrize("options", [{"block": "residual"}, {"block": "recall", "recent_rows": 4}])
def test_other_planners_are_refused(options):
    with pytest.raises(InputError, match="recall"):
        WarmStart(make_epn(**options))
