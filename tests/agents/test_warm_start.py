import equinox as eqx
import jax
import numpy as np
import pytest

from epn_histories import NUM_ENVS, NUM_OBSERVATIONS, assert_same, make_epn, quick_jit, random_history
from rapidtask.agents.warm_start import WarmStart
from rapidtask.errors import InputError

OPTIONS = {"block": "recall", "comparisons": "neighbours", "memory": "set", "goal_as_successor": True}
FEW = {**OPTIONS, "iterations": 1, "value_channels": 3, "sweeps": 1}


def outputs(agent, timesteps):
    """Logits and values `[T, B]` of an agent that starts with nothing."""
    result, _ = quick_jit(lambda t: agent.unroll(agent.initial_state(NUM_ENVS), t, agent.embed()))(timesteps)
    return result.logits, result.value


def test_few_sweeps_at_a_time_come_to_where_many_come_at_once():
    few, many = make_epn(**FEW), make_epn(**{**FEW, "sweeps": None})
    walk = random_history(0, 3, False, reset_chance=0.0)
    memories, _ = quick_jit(lambda t: few.unroll_memory(few.initial_state(NUM_ENVS), t))(walk)
    memory, timestep = jax.tree.map(lambda x: x[-1], (memories, walk))
    belief = quick_jit(lambda: many.plan(memory, timestep, many.embed(), only_last=True).beliefs[-1])()
    rest = quick_jit(lambda: many.worth(belief, memory, many.embed()))()
    pass_on = quick_jit(lambda worth: few.worth(belief, memory, few.embed(), worth))
    worth = np.full(rest.shape, -np.inf, np.float32)
    gaps = []
    for _ in range(NUM_OBSERVATIONS):
        worth = pass_on(worth)
        gaps.append(float(np.abs(worth - rest).max()))
    assert gaps[0] > 0.01
    assert gaps[-1] < 1e-5


def test_a_new_goal_is_thought_of_anew_and_an_old_one_further():
    epn, walk = make_epn(**FEW), random_history(1, 3, False, reset_chance=0.05)
    turns = np.arange(len(walk.goal))[:, None] % 2
    other = (walk.goal[:1] + 1 + turns) % NUM_OBSERVATIONS  # another goal at every step
    for goal, same in ((other, True), (np.broadcast_to(walk.goal[:1], other.shape), False)):
        timesteps = walk.__class__(**{**vars(walk), "goal": goal.astype(np.int32)})
        ours, anew = outputs(WarmStart(epn), timesteps), outputs(epn, timesteps)
        if same:
            jax.tree.map(lambda one, two: assert_same(one, two, 1e-4), ours, anew)
        else:
            assert float(np.abs(ours[0] - anew[0]).max()) > 1e-3


@pytest.mark.parametrize("memory", ["set", "unique"])
def test_plans_about_the_same_rows_and_goal_are_kept_and_no_others(memory):
    epn = make_epn(**{**FEW, "sweeps": None, "memory": memory})
    walk = jax.tree.map(lambda x: x[:, :1], random_history(2, 2, False, reset_chance=0.0))
    warm = WarmStart(epn)
    step = quick_jit(lambda state, t: warm.step(state, t, epn.embed()))
    plain = quick_jit(lambda state, t: epn.step(state, t, epn.embed()))
    state, own_state = warm.initial_state(1), epn.initial_state(1)
    kept = []
    for t in range(len(walk.goal)):
        timestep = jax.tree.map(lambda x: x[t], walk)  # noqa: B023
        before = state
        output, state = step(before, timestep)
        expected, own_state = plain(own_state, timestep)
        assert_same(output.logits, expected.logits, 1e-4)
        # Whoever keeps a plan acts on it, whatever it says.
        forgetful = eqx.tree_at(lambda s: s.belief, before, before.belief + 1.0)
        kept.append(bool(np.abs(step(forgetful, timestep)[0].logits - output.logits).max() > 1e-6))
    same_goal = np.append(False, walk.goal[1:, 0] == walk.goal[:-1, 0])
    assert 3 < sum(kept) < sum(same_goal) if memory == "set" else not any(kept)
    assert not any(k and not s for k, s in zip(kept, same_goal, strict=True))


def test_agents_without_values_are_refused():
    with pytest.raises(InputError, match="value_channels"):
        WarmStart(make_epn(**OPTIONS, iterations=1))
