import functools
from itertools import pairwise
from unittest.mock import patch

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from epn_histories import (
    NUM_ENVS,
    NUM_OBSERVATIONS,
    NUM_STEPS,
    assert_same,
    compiled_act,
    compiled_outputs,
    flatten,
    histories,
    make_epn,
    quick_jit,
    random_history,
)
from rapidtask.agents.agent import Agent
from rapidtask.agents.encoders import Embeddings
from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.memory import Memory, empty_memory, in_fewest_slots, slot_buckets
from rapidtask.agents.neighbours import find_neighbours
from rapidtask.agents.planner import Block
from rapidtask.envs.environment import EnvironmentSpec
from rapidtask.errors import InputError

FEW = settings(max_examples=8, deadline=None)

PLANNERS = [
    {"block": "paper", "iterations": 1, "num_heads": 1},
    {"block": "paper", "iterations": 2, "num_heads": 2, "comparisons": "attention"},
    {"block": "residual", "iterations": 3, "num_heads": 4, "comparisons": "attention"},
    {"block": "recall", "iterations": 3, "num_heads": 4, "comparisons": "neighbours", "symbols": "none"},
    {"block": "paper", "iterations": 3, "num_heads": 4, "symbols": "fixed"},
    {"block": "norm_after", "iterations": 2, "comparisons": "rows"},
    # As many rows plan as there are: only then is Nxk the same function of both memories.
    {"block": "residual", "iterations": 3, "num_heads": 2, "comparisons": "attention", "recent_rows": 50},
]


@functools.cache
def compiled_recall(**options):
    """Memories `[T, B]` to plan over, of an EPN that starts with nothing."""
    agent = make_epn(**options)
    recall = quick_jit(lambda timesteps: agent.unroll_memory(agent.initial_state(NUM_ENVS), timesteps)[0])
    return lambda timesteps: jax.tree.map(np.asarray, recall(timesteps))


def name_of(options):
    return "-".join(str(value) for value in options.values())


@pytest.mark.parametrize("options", PLANNERS, ids=name_of)
@given(arguments=histories, newest=st.booleans())
@FEW
def test_counted_memory_is_the_same_function_with_the_same_gradients(options, arguments, newest):
    timesteps = random_history(**arguments)
    memories = {
        kind: compiled_recall(memory=kind, plan_with_newest=newest)(timesteps) for kind in ("all", "unique")
    }
    assume(memories["unique"].count.max() > 1)
    assert memories["all"].size.sum() > memories["unique"].size.sum()
    outputs = [compiled_outputs(**options)(flatten(m), flatten(timesteps)) for m in memories.values()]
    assert_same(outputs[0], outputs[1], 1e-4)
    act, agent = compiled_act(**options), make_epn(**options)
    outputs_and_gradients = [act(agent, flatten(m), flatten(timesteps)) for m in memories.values()]
    # Counts' logarithms are in single precision.
    assert_same(outputs_and_gradients[0], outputs_and_gradients[1], 1e-5)


@given(arguments=histories)
@FEW
def test_shorter_belief_differs_from_full_belief(arguments):
    """Guards the test above: with few rows planning, the counted memory holds another belief."""
    timesteps = random_history(**{**arguments, "size": 2, "reset_chance": 0.0})
    options = {"block": "residual", "iterations": 1, "recent_rows": 4}
    results = [
        compiled_outputs(**options)(flatten(memory), flatten(timesteps))[0]
        for memory in (compiled_recall(memory=kind)(timesteps) for kind in ("all", "unique"))
    ]
    assert np.abs(results[0] - results[1]).max() > 1e-3


VARIANTS = [
    {"memory": "all", "block": "paper", "plan_with_newest": False, "iterations": 2},
    {
        "memory": "unique",
        "block": "paper",
        "plan_with_newest": True,
        "iterations": 1,
        "comparisons": "attention",
    },
    {
        "memory": "unique",
        "block": "residual",
        "plan_with_newest": False,
        "goal_as_successor": False,
        "iterations": 2,
    },
    {"memory": "all", "block": "residual", "plan_with_newest": True, "recent_rows": 5, "iterations": 1},
    {
        "memory": "set",
        "block": "recall",
        "plan_with_newest": True,
        "goal_as_successor": True,
        "iterations": 1,
        "comparisons": "neighbours",
        "symbols": "none",
        "value_channels": 2,
    },
    {"memory": "unique", "block": "paper", "plan_with_newest": False, "recent_rows": 5, "iterations": 2},
]


@functools.cache
def compiled_unroll_and_steps(**options):
    """What `unroll` gives and what repeated `step` gives, continuing from a state."""
    agent = make_epn(**options)

    def run(state, timesteps):
        embeddings = agent.embed()
        unrolled, after = agent.unroll(state, timesteps, embeddings)
        stepped, stepped_after = Agent.unroll(agent, state, timesteps, embeddings)
        return (unrolled, after), (stepped, stepped_after)

    return quick_jit(run)


@pytest.mark.parametrize("options", VARIANTS, ids=name_of)
@given(arguments=histories, seed=st.integers(0, 2**32 - 1))
@FEW
def test_unroll_is_repeated_step_across_resets(options, arguments, seed):
    run = compiled_unroll_and_steps(**options)
    state = make_epn(**options).initial_state(NUM_ENVS)
    # The second rollout goes on from the first one's memory: nothing starts anew at its beginning.
    arguments = {**arguments, "reset_chance": 0.2}
    first, second = random_history(**arguments), random_history(**{**arguments, "seed": seed})
    assume(first.first[1:].any())
    second = eqx.tree_at(lambda t: t.first, second, np.r_[first.last[None, -1], second.first[1:]])
    for timesteps in (first, second):
        unrolled, stepped = run(state, timesteps)
        assert_same(unrolled, stepped, 1e-5)
        state = unrolled[1]


@given(arguments=histories)
@FEW
def test_an_episode_does_not_depend_on_what_came_before_it(arguments):
    run = compiled_unroll_and_steps(**VARIANTS[0])
    timesteps = random_history(**arguments)
    fresh = make_epn(**VARIANTS[0]).initial_state(NUM_ENVS)
    (_, used), _ = run(fresh, timesteps)
    assert_same(run(used, timesteps), run(fresh, timesteps), 1e-6)


@pytest.mark.parametrize("options", [PLANNERS[1], PLANNERS[3]], ids=name_of)
@given(arguments=histories)
@FEW
def test_order_of_rows_does_not_matter(options, arguments):
    timesteps = random_history(**arguments)
    memory = flatten(compiled_recall(memory="unique")(timesteps))
    order = np.random.default_rng(arguments["seed"]).permutation(NUM_STEPS)
    shuffled = jax.tree.map(lambda x: x[:, order] if x.ndim == 2 else x, memory)
    act, agent = compiled_act(**options), make_epn(**options)
    assert_same(act(agent, shuffled, flatten(timesteps)), act(agent, memory, flatten(timesteps)), 1e-5)


@pytest.mark.parametrize("options", [PLANNERS[0], PLANNERS[1]], ids=name_of)
@given(arguments=histories)
@FEW
def test_names_of_symbols_do_not_matter(options, arguments):
    timesteps = random_history(**arguments)
    memory = flatten(compiled_recall(memory="unique")(timesteps))
    rename = np.random.default_rng(arguments["seed"]).permutation(NUM_OBSERVATIONS).astype(np.int32)
    renamed = eqx.tree_at(
        lambda m: (m.origin, m.successor, m.observation, m.goal), memory, replace_fn=lambda ids: rename[ids]
    )
    seen = eqx.tree_at(lambda t: (t.observation, t.goal), flatten(timesteps), replace_fn=lambda i: rename[i])
    act, agent = compiled_act(**options), make_epn(**options)
    table = lambda a: a.encoder.table  # noqa: E731
    renamed_agent = eqx.tree_at(table, agent, replace_fn=lambda old: old[np.argsort(rename)])
    outputs, gradients = act(agent, memory, flatten(timesteps))
    renamed_outputs, renamed_gradients = act(renamed_agent, renamed, seen)
    back = eqx.tree_at(table, renamed_gradients, replace_fn=lambda new: new[rename])
    assert_same((renamed_outputs, back), (outputs, gradients), 1e-5)
    # Renaming only what is seen is another situation.
    assert np.abs(act(agent, renamed, seen)[0][0] - outputs[0]).max() > 1e-3


@pytest.mark.parametrize("options", PLANNERS, ids=name_of)
def test_an_empty_memory_gives_finite_outputs_and_gradients(options):
    timesteps = flatten(random_history(0, 3, False))
    memory = empty_memory(NUM_STEPS * NUM_ENVS, NUM_STEPS)
    results = compiled_act(**options)(make_epn(**options), memory, timesteps)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(results))
    # What lies in unused slots must not leak out.
    rubbish = eqx.tree_at(lambda m: (m.origin, m.action), memory, replace_fn=lambda x: x + 3)
    assert_same(compiled_act(**options)(make_epn(**options), rubbish, timesteps), results, 1e-6)


def test_unused_slots_do_not_leak_into_used_ones():
    options = PLANNERS[1]
    timesteps = random_history(0, 3, False)
    memory = flatten(compiled_recall(memory="unique")(timesteps))
    dirt = lambda ids: np.where(memory.mask, ids, 3)  # noqa: E731
    rubbish = eqx.tree_at(lambda m: (m.origin, m.action, m.successor), memory, replace_fn=dirt)
    act, agent = compiled_act(**options), make_epn(**options)
    assert_same(act(agent, rubbish, flatten(timesteps)), act(agent, memory, flatten(timesteps)), 1e-6)


def test_iterations_can_be_changed_at_evaluation():
    short, long = make_epn(iterations=2, block="residual"), make_epn(iterations=4, block="residual")
    timesteps = random_history(3, 3, False)
    memory = flatten(compiled_recall(memory="unique")(timesteps))

    @quick_jit
    def run(memory, timestep):
        plans = [
            short.plan(memory, timestep, short.embed()).beliefs,
            short.plan(memory, timestep, short.embed(), 4).beliefs,
            long.plan(memory, timestep, long.embed()).beliefs,
        ]
        return plans, [agent.act(memory, timestep, agent.embed()) for agent in (short, long)]

    (briefly, longer, reference), (two, four) = run(memory, flatten(timesteps))
    assert len(longer) == 5
    assert_same(longer, reference, 1e-5)
    # Further thought continues the same thought, and changes what is done.
    assert_same(longer[:3], briefly, 1e-5)
    assert float(jnp.abs(four.logits - two.logits).max()) > 1e-3


@pytest.mark.parametrize("num_slots", [1, 32, 33, 80, 100, 200, 6400])
def test_buckets_cover_all_sizes_with_few_programs(num_slots):
    buckets = list(slot_buckets(num_slots))
    assert buckets[-1] == num_slots
    assert buckets == sorted(set(buckets))
    assert len(buckets) <= 3 + 2 * max(0, np.log2(num_slots / 64))
    # No more than the smallest, or half of a bucket's slots and what makes whole 16s, are computed in vain.
    assert buckets[0] <= 32
    for smaller, larger in pairwise(buckets):
        assert larger - (smaller + 1) <= 15 + 0.5 * smaller


@quick_jit
def size_and_count(memory):
    return in_fewest_slots(memory, lambda cut: (jnp.asarray(cut.origin.shape[-1]), cut.count.sum()))


@pytest.mark.parametrize(
    ("rows", "slots"), [(0, 32), (1, 32), (32, 32), (33, 48), (48, 48), (49, 60), (60, 60)]
)
def test_the_smallest_bucket_that_holds_the_fullest_memory_is_used(rows, slots):
    memory = empty_memory(2, 60)
    count = np.zeros((2, 60), np.int32)
    count[1, :rows] = 1
    memory = eqx.tree_at(lambda m: m.count, memory, count)
    size, count = size_and_count(memory)
    assert (int(size), int(count)) == (slots, rows)


@given(arguments=histories)
@FEW
def test_few_slots_give_the_output_of_all_slots(arguments):
    act = compiled_bucketed_act()
    timesteps = random_history(**{**arguments, "reset_chance": 0.0})
    memories = compiled_recall(memory="unique")(timesteps)
    for step in (0, 10, NUM_STEPS - 1):
        memory, timestep = jax.tree.map(lambda x, step=step: x[step], (memories, timesteps))
        full, few = act(memory, timestep)
        assert_same(few, full, 1e-5)


@functools.cache
def compiled_bucketed_act():
    agent = make_epn(block="paper", iterations=2, comparisons="attention", num_heads=2)

    def run(memory, timestep):
        full = agent.act(memory, timestep, agent.embed())
        with patch("rapidtask.agents.memory.FEWEST_SLOTS", 8):
            assert len(slot_buckets(agent.num_slots)) > 2
            few = in_fewest_slots(memory, lambda cut: agent.act(cut, timestep, agent.embed()))
        return full, few

    return quick_jit(run)


def test_a_table_for_each_environment_gives_what_the_shared_table_gives():
    """As with frames: every environment looks up its own table."""
    options = VARIANTS[0]
    agent = make_epn(**options)
    timesteps = random_history(7, 3, True, reset_chance=0.2)
    shift = np.arange(NUM_ENVS)
    # Environment b calls symbol i by the name i + b, and its table is shifted likewise.
    tables = jnp.stack([jnp.roll(agent.embed().table, b, axis=0) for b in shift])
    renamed = eqx.tree_at(
        lambda t: (t.observation, t.goal), timesteps, replace_fn=lambda i: (i + shift) % NUM_OBSERVATIONS
    )

    @quick_jit
    def run(timesteps, table):
        state, embeddings = agent.initial_state(NUM_ENVS), Embeddings(table, exact=True)
        output, _ = agent.unroll(state, timesteps, embeddings)
        stepped, _ = Agent.unroll(agent, state, timesteps, embeddings)
        return output.logits, stepped.logits

    expected = compiled_unroll_and_steps(**options)(agent.initial_state(NUM_ENVS), timesteps)[0][0].logits
    for logits in run(renamed, tables):
        assert_same(logits, expected, 1e-5)


@pytest.mark.parametrize("goal_as_successor", [True, False])
def test_the_counted_memory_has_room_for_all_that_can_differ(goal_as_successor):
    """On streets each (place, action) leads to one place; rows as seen may lead from it to any start."""
    config = EPNConfig(goal_as_successor=goal_as_successor)
    assert config.num_slots(EnvironmentSpec(4, 3, 1000)) == (12 if goal_as_successor else 48)
    assert config.num_slots(EnvironmentSpec(4, 3, 10)) == 10


@pytest.mark.parametrize("comparisons", ["none", "attention", "neighbours"])
def test_rows_know_the_goal_before_planning(comparisons):
    agent = make_epn(iterations=1, block="residual", comparisons=comparisons)
    timesteps, memory = some_memories()

    @quick_jit
    def rows(goal):
        return agent.plan(memory, eqx.tree_at(lambda t: t.goal, timesteps, goal), agent.embed()).beliefs[0]

    assert float(jnp.abs(rows(timesteps.goal) - rows((timesteps.goal + 1) % 9)).max()) > 1e-3


def some_memories():
    """Flat timesteps, and memories that hold rows."""
    timesteps = random_history(3, 3, False)
    return flatten(timesteps), flatten(compiled_recall(memory="unique")(timesteps))


def test_what_is_learned_from_continues_a_thought_of_any_length():
    agent = make_epn(iterations=4, learned_iterations=2, block="recall", comparisons="neighbours")
    timesteps, memory = some_memories()
    plan = lambda agent, **options: agent.plan(memory, timesteps, agent.embed(), **options).beliefs  # noqa: E731
    drawn = {int(agent.for_rollout(jax.random.key(seed)).further) for seed in range(40)}
    assert drawn == {0, 1, 2, 3, 4}
    assert agent.for_rollout(jax.random.key(0)).after_rollout().further is None
    thought = quick_jit(lambda: plan(agent, iterations=6))()

    @quick_jit
    def after(further):
        thinking = eqx.tree_at(lambda a: a.further, agent, further, is_leaf=lambda leaf: leaf is None)
        # What the rows are made of reaches the last belief through every iteration that is learned from.
        gradient = eqx.filter_grad(lambda agent: jnp.sum(plan(agent)[0] ** 2))(thinking)
        return plan(thinking), jnp.abs(gradient.row.action).max()

    assert_same(quick_jit(lambda: plan(agent))(), thought[:5], 1e-5)
    for further in range(5):
        beliefs, gradient = after(jnp.asarray(further))
        assert_same(beliefs, thought[further : further + 3], 1e-5)
        assert (float(gradient) > 0) == (further == 0)


def test_a_set_of_rows_does_not_count():
    timesteps, memory = some_memories()
    often = eqx.tree_at(
        lambda m: m.count, memory, 3 * memory.count * (1 + jnp.arange(memory.count.shape[-1]))
    )
    difference = {}
    for kind in ("unique", "set"):
        agent = make_epn(memory=kind, iterations=2, block="residual", comparisons="attention")
        act = quick_jit(lambda memory, agent=agent: agent.act(memory, timesteps, agent.embed()).logits)
        difference[kind] = float(jnp.abs(act(memory) - act(often)).max())
    assert difference["set"] == 0.0
    assert difference["unique"] > 1e-4


def test_without_symbols_only_which_places_are_equal_matters():
    """Renaming all places, in memory and timestep alike, changes nothing; an agent that sees them notices."""
    timesteps, memory = some_memories()
    names = np.random.default_rng(5).permutation(NUM_OBSERVATIONS)
    places = lambda m, t: (m.origin, m.successor, t.observation, t.goal)  # noqa: E731
    renamed = eqx.tree_at(
        lambda both: places(*both), (memory, timesteps), replace_fn=lambda place: names[place]
    )
    difference = {}
    for symbols in ("none", "fixed"):
        agent = make_epn(symbols=symbols, iterations=2, num_heads=4, block="recall", comparisons="neighbours")
        act = quick_jit(lambda m, t, agent=agent: agent.act(m, t, agent.embed()).logits)
        difference[symbols] = float(jnp.abs(act(memory, timesteps) - act(*renamed)).max())
    assert difference["none"] < 1e-6
    assert difference["fixed"] > 1e-4


def test_neighbours_see_the_rows_of_their_kind_and_no_other():
    agent = make_epn(iterations=1, num_heads=4, block="recall", comparisons="neighbours", symbols="none")
    timesteps, memory = some_memories()
    plan = quick_jit(lambda m, t: agent.plan(m, t, agent.embed(), with_attention=True).attention)
    (weights,) = plan(memory, timesteps)
    origin, successor, mask = (np.asarray(x) for x in (memory.origin, memory.successor, memory.mask))
    kinds = ((successor, origin), (origin, successor), (origin, origin), (successor, successor))
    for head, (mine, yours) in enumerate(kinds):
        seen = (mine[:, :, None] == yours[:, None, :]) & mask[:, None, :]
        np.testing.assert_array_equal(np.asarray(weights)[:, head] > 0, seen)
        total = np.asarray(weights)[:, head].sum(-1)
        np.testing.assert_allclose(total, seen.any(-1), atol=1e-5)


@pytest.mark.parametrize("exact", [True, False])
def test_neighbours_in_lists_are_those_of_the_mask(monkeypatch, exact):
    """Belief and gradient are the same, whichever way many rows look each other up: by ids or by looks."""
    agent = make_epn(
        iterations=3,
        num_heads=4,
        block="recall",
        comparisons="neighbours",
        memory="set",
        goal_as_successor=True,
    )
    timesteps, memory = some_memories()
    embeddings = agent.embed()
    if not exact:  # two ids look alike, one a little different; a table for each environment
        table = np.repeat(np.eye(*embeddings.table.shape, dtype=np.float32)[None], len(timesteps.goal), 0)
        table[:, 3] = table[:, 1] + 0.1 * table[:, 2]
        embeddings = Embeddings(table, exact=False)

    def plan(agent):
        belief = agent.plan(memory, timesteps, embeddings, only_last=True).beliefs[0]
        return belief * memory.mask[..., None]

    results = []
    for many in (1000, 0):
        monkeypatch.setattr("rapidtask.agents.epn.MANY_ROWS", many)
        gradient = eqx.filter_grad(lambda agent: jnp.sum(jnp.sin(plan(agent))))
        results.append(quick_jit(lambda g=gradient: (plan(agent), g(agent).planner))())
    assert float(jnp.abs(results[0][0]).max()) > 1e-2
    jax.tree.map(lambda one, other: assert_same(one, other, 1e-4), *results)


def test_of_a_crowded_place_the_newest_rows_are_seen():
    origin = jnp.asarray([[0, 1, 0, 0, 2]])
    one = jnp.ones_like(origin)
    memory = Memory(origin, one, one, one.at[0, 4].set(0), one, *(jnp.zeros(1, int) for _ in range(3)))
    found = find_neighbours(memory, memory.log_count, 3, (2, 5))
    assert found.origin.slots.tolist() == [[[3, 2], [1, 5], [5, 5]]]
    assert found.origin.position.tolist() == [[6, 2, 1, 0, 6]]
    assert found.successor.slots.tolist() == [[[5] * 5, [3, 2, 1, 0, 5], [5] * 5]]


@pytest.mark.parametrize("recent_rows", [None, 1000])
def test_without_iterations_the_memory_is_read_as_it_is(recent_rows):
    agent = make_epn(iterations=0, block="residual", recent_rows=recent_rows)
    timesteps = random_history(3, 3, False)
    memory = flatten(compiled_recall(memory="unique")(timesteps))
    read = quick_jit(lambda memory, timesteps: agent.act(memory, timesteps, agent.embed()))
    output = read(memory, flatten(timesteps))
    planner = eqx.filter(agent.planner, eqx.is_array)
    changed = eqx.tree_at(lambda a: a.planner, agent, jax.tree.map(lambda x: x + 1, planner))
    without = quick_jit(lambda memory, timesteps: changed.act(memory, timesteps, changed.embed()))
    assert_same(without(memory, flatten(timesteps)).logits, output.logits, 1e-6)


def test_recall_makes_rows_anew_from_what_they_were():
    """Whatever it believed of itself, a row that attends to nothing new comes out the same."""
    rows, belief = jax.random.normal(jax.random.key(0), (2, 2, 5, 16))
    bias = jnp.zeros((2, 1, 5, 5))
    block = Block("recall", 16, 1, np.random.default_rng(1))
    silent = eqx.tree_at(lambda b: b.attention.to_output.weight, block, jnp.zeros((16, 16)))
    think = eqx.filter_jit(lambda block, belief: block(belief, None, bias, rows))
    assert_same(think(silent, belief), think(silent, rows), 1e-6)

    @eqx.filter_jit
    def expected(block):
        attended = block.attention(block.attention_norm(belief), block.attention_norm(belief), bias)
        return rows + attended + block.mlp(block.mlp_norm(rows + attended))

    assert_same(think(block, belief), expected(block), 1e-5)


def test_the_footnote_s_blocks_normalise_the_attention_s_output_or_nothing():
    belief = jax.random.normal(jax.random.key(0), (2, 5, 16))
    bias = jnp.zeros((2, 1, 5, 5))
    for name in ("norm_after", "no_norm"):
        block = Block(name, 16, 1, np.random.default_rng(1))
        attended = block.attention(belief, belief, bias)
        if name == "norm_after":
            mean, std = attended.mean(-1, keepdims=True), attended.std(-1, keepdims=True)
            attended = (attended - mean) / jnp.sqrt(std**2 + 1e-5)
        expected = block.mlp(jax.nn.relu(belief + attended))
        np.testing.assert_allclose(block(belief, None, bias), expected, atol=1e-5)


def test_wrong_options_are_named():
    with pytest.raises(InputError, match="iterations is -1"):
        EPNConfig(iterations=-1)
    with pytest.raises(InputError, match="9 fixed symbols need comparisons"):
        EPNConfig(width=8, symbols="fixed").make(EnvironmentSpec(9, 3, 10), 0)
    with pytest.raises(InputError, match="width is 16, not a multiple of num_heads, 3"):
        EPNConfig(width=16, num_heads=3)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"learned_iterations": 0}, "at least 1"), ({"learned_iterations": 2, "recent_rows": 5}, "give None")],
)
def test_iterations_that_cannot_be_learned_from_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        make_epn(**options)
