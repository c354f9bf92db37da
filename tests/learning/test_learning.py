from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import rapidtask.learning.trainer as trainer_module
from epn_histories import fill
from rapidtask.agents.agent import Agent
from rapidtask.agents.episodic import MOST_PARTS, num_parts
from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.memory import empty_memory, slot_buckets
from rapidtask.agents.rivals.merlin import MerlinConfig
from rapidtask.agents.rivals.mra import MRAConfig
from rapidtask.agents.rivals.transformer import TransformerConfig
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.errors import InputError
from rapidtask.learning.losses import Samples, normalise, prepare
from rapidtask.learning.rollout import Rollout, collect, log_probability_of, start_actors
from rapidtask.learning.trainer import Trainer
from rapidtask.learning.update import (
    LearnerState,
    Updater,
    draw_steps,
    minibatch_order,
)
from rapidtask.runs.agent_files import CHECKPOINTS
from rapidtask.runs.checkpoint import list_checkpoints, read_checkpoint
from rapidtask.runs.logs import read_log
from rapidtask.runs.run import DivergedError, run
from tiny_training import EPN, LEARNING, LSTM, OPTIONS, WHOLE_ROLLOUTS, WORLD, tiny_run

NUM_ENVS, NUM_STEPS = 8, WORLD.episode_steps + 1
ALL = NUM_ENVS * NUM_STEPS
AT_ONCE = replace(LEARNING, minibatch_size=ALL, learned_share=1.0)
ENTROPY_WEIGHT = jnp.asarray(0.05)


def make_agent(config):
    return fill(lambda: config.make(WORLD.spec, 0))


@pytest.fixture(scope="module")
def environment():
    return WORLD.make()


@pytest.fixture(scope="module")
def agent():
    return make_agent(EPN)


def rollout_out_of_step(environment, agent) -> Rollout:
    """A rollout that starts in the middle of its episodes, so that they end inside it."""
    actors = start_actors(environment, agent, jax.random.split(jax.random.key(5), NUM_ENVS))
    _, actors = collect(environment, agent, actors, 5)
    return collect(environment, agent, actors, NUM_STEPS)[0]


@pytest.fixture(scope="module")
def rollout(environment, agent) -> Rollout:
    return eqx.filter_jit(rollout_out_of_step)(environment, agent)


@cache
def jitted_updater(shuffle: bool):
    """Plain gradient steps of size 1 from all steps at once: the weights' change is minus the gradient."""
    updater = Updater(replace(AT_ONCE, learned_share=1.0 if shuffle else None), optax.sgd(1.0))
    return updater, eqx.filter_jit(updater.update)


def update(agent: Agent, rollout: Rollout, environment, *, shuffle: bool):
    updater, go = jitted_updater(shuffle)
    state = LearnerState(agent, updater.optimiser.init(eqx.filter(agent, eqx.is_inexact_array)))
    return go(state, rollout, environment, ENTROPY_WEIGHT, jax.random.key(0))


def change(state: LearnerState, agent: Agent):
    new, old = (eqx.filter(tree, eqx.is_inexact_array) for tree in (state.agent, agent))
    return jax.tree.map(lambda a, b: np.asarray(a) - np.asarray(b), new, old)


def assert_close(left, right, tolerance: float):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def shuffled_update(agent, rollout, environment):
    return update(agent, rollout, environment, shuffle=True)


@pytest.fixture(scope="module")
def sequence_update(agent, rollout, environment):
    return update(agent, rollout, environment, shuffle=False)


def test_shuffled_steps_and_sequences_give_the_same_gradient(shuffled_update, sequence_update, agent):
    """On-policy and on all steps at once, the two ways to make minibatches are the same loss."""
    (shuffled, metrics), (sequences, sequence_metrics) = shuffled_update, sequence_update
    assert float(metrics["gradient_norm"]) > 0.01
    assert_close(change(shuffled, agent), change(sequences, agent), 1e-5)
    for name in ("policy_loss", "value_loss", "entropy", "loss"):
        assert float(metrics[name]) == pytest.approx(float(sequence_metrics[name]), abs=1e-5)


def test_whole_rollouts_in_parts_have_the_same_gradient(
    sequence_update, agent, rollout, environment, monkeypatch
):
    """Many steps are computed in parts of equally full memories, each with a gradient of its own."""
    monkeypatch.setattr("rapidtask.agents.episodic.FEW_STEPS", 0)
    monkeypatch.setattr("rapidtask.agents.memory.FEWEST_SLOTS", 8)
    num_steps = rollout.timesteps.action.size
    assert (num_parts(num_steps), list(slot_buckets(agent.num_slots))) == (16, [8, 12])
    updater = Updater(replace(AT_ONCE, learned_share=None), optax.sgd(1.0))
    start = LearnerState(agent, updater.optimiser.init(eqx.filter(agent, eqx.is_inexact_array)))
    state, metrics = eqx.filter_jit(updater.update)(
        start, rollout, environment, ENTROPY_WEIGHT, jax.random.key(0)
    )
    assert_close(change(state, agent), change(sequence_update[0], agent), 1e-5)
    assert float(metrics["loss"]) == pytest.approx(float(sequence_update[1]["loss"]), abs=1e-5)


def test_a_summed_loss_has_the_gradient_of_the_mean_times_the_steps_that_happened(
    sequence_update, agent, rollout, environment
):
    updater = Updater(replace(AT_ONCE, learned_share=None, optimiser="rmsprop"), optax.sgd(1.0))
    start = LearnerState(agent, updater.optimiser.init(eqx.filter(agent, eqx.is_inexact_array)))
    state, metrics = eqx.filter_jit(updater.update)(
        start, rollout, environment, ENTROPY_WEIGHT, jax.random.key(0)
    )
    num_steps = float(rollout.valid.sum())
    assert num_steps < NUM_ENVS * NUM_STEPS  # some actions came after an episode's end
    of_mean = jax.tree.map(lambda x: num_steps * x, change(sequence_update[0], agent))
    assert_close(change(state, agent), of_mean, 1e-3)
    assert metrics["loss"] == pytest.approx(float(sequence_update[1]["loss"]), rel=1e-5)


def test_advantages_are_normalised_over_the_steps_that_happened():
    valid = np.float32([[1.0, 1.0], [1.0, 0.0]])
    normal = np.asarray(jax.jit(normalise)(np.float32([[1.0, 2.0], [6.0, 1000.0]]), valid))
    spread = np.std([1.0, 2.0, 6.0]) + 1e-3
    np.testing.assert_allclose(normal[valid > 0], [-2 / spread, -1 / spread, 3 / spread], rtol=1e-5)


def test_staggered_environments_end_their_episodes_one_after_the_other(environment, agent):
    @eqx.filter_jit
    def ends_of_episodes(environment, agent, keys):
        actors = start_actors(environment, agent, keys, stagger=True)
        return collect(environment, agent, actors, 2 * WORLD.episode_steps + 2)[0].timesteps.last

    last = np.asarray(ends_of_episodes(environment, agent, jax.random.split(jax.random.key(5), NUM_ENVS)))
    first_ends = last.argmax(axis=0)
    expected = WORLD.episode_steps - np.arange(NUM_ENVS) * WORLD.episode_steps // NUM_ENVS
    np.testing.assert_array_equal(first_ends, expected)
    for environment_ends in last.T:  # after that, episodes have their whole length
        assert np.diff(np.flatnonzero(environment_ends))[0] == WORLD.episode_steps + 1


def test_steps_with_large_advantages_are_learned_from_sooner(rollout, agent):
    samples = eqx.filter_jit(lambda agent, rollout: prepare(agent, AT_ONCE, rollout))(agent, rollout)
    samples = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), samples)
    surprising = jnp.arange(ALL) % 10 == 0
    advantage = jnp.where(surprising, -3.0, 0.1)
    samples = replace(samples, advantage=advantage, valid=jnp.ones(ALL).at[0].set(0.0))
    keys = jax.random.split(jax.random.key(0), 200)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: draw_steps(key, samples, 20)))(keys))
    assert all(len(set(draw)) == 20 for draw in drawn.tolist())
    assert 0 not in drawn  # its action had no effect
    share = np.isin(drawn, np.flatnonzero(surprising)).mean()
    assert share > 2.5 * 0.1  # drawn evenly, they would be a tenth
    assert len(np.unique(drawn)) == ALL - 1  # none is left out for good


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_ignored_action_has_no_influence(
    shuffle, shuffled_update, sequence_update, agent, rollout, environment
):
    ignored = rollout.timesteps.last[:-1]
    assert ignored.sum() == NUM_ENVS
    other = eqx.tree_at(
        lambda r: (r.actions, r.log_probability),
        rollout,
        (jnp.where(ignored, 4, rollout.actions), jnp.where(ignored, -9.0, rollout.log_probability)),
    )
    state, metrics = update(agent, other, environment, shuffle=shuffle)
    expected, expected_metrics = shuffled_update if shuffle else sequence_update
    assert_close(state, expected, 1e-6)
    assert float(metrics["loss"]) == pytest.approx(float(expected_metrics["loss"]), abs=1e-6)


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_update_that_is_not_finite_changes_nothing(shuffle, agent, rollout, environment):
    reward = rollout.timesteps.reward.at[4, 2].set(jnp.nan)
    broken = eqx.tree_at(lambda r: r.timesteps.reward, rollout, reward)
    state, metrics = update(agent, broken, environment, shuffle=shuffle)
    assert float(metrics["skipped_updates"]) == 1.0
    assert_close(state.agent, agent, 0.0)


RIVALS = (
    MerlinConfig(embedding_width=6, width=8, latent_width=5, policy_width=8),
    MRAConfig(embedding_width=6, torso_width=7, width=8, key_width=4, policy_width=8),
    TransformerConfig(embedding_width=6, width=8, num_heads=2, policy_width=8),
)


@pytest.mark.parametrize("config", [EPN, LSTM, *RIVALS], ids=["epn", "lstm", "merlin", "mra", "transformer"])
def test_unrolling_gives_what_acting_gave(config, environment):
    """Ratios of an on-policy rollout are 1, for all agents, with what they carried into it and across ends of
    episodes inside it."""
    agent = make_agent(config)
    rollout = eqx.filter_jit(rollout_out_of_step)(environment, agent)
    unroll = eqx.filter_jit(lambda a: a.unroll(rollout.agent_state, rollout.timesteps, a.embed())[0])
    output = unroll(agent)
    np.testing.assert_allclose(output.value, rollout.values, rtol=1e-5, atol=1e-5)
    log_probability = log_probability_of(output.logits[:-1], rollout.actions)
    np.testing.assert_allclose(log_probability, rollout.log_probability, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("num_samples", "minibatch_size", "num_ignored"), [(104, 32, 8), (50, 16, 0), (20, 64, 3), (60, 7, 2)]
)
def test_minibatches_cover_each_step_at_most_once_and_sort_them_by_size(
    num_samples, minibatch_size, num_ignored
):
    rng = np.random.default_rng(num_samples)
    sizes = rng.integers(0, 13, num_samples)
    memory = empty_memory(num_samples, 12)
    count = jnp.asarray(np.arange(12) < sizes[:, None], jnp.int32)
    valid = np.ones(num_samples)
    valid[rng.permutation(num_samples)[:num_ignored]] = 0
    zeros = jnp.zeros(num_samples)
    samples = Samples(
        None,  # pyright: ignore[reportArgumentType]
        zeros,
        zeros,
        zeros,
        zeros,
        jnp.asarray(valid),
        eqx.tree_at(lambda m: m.count, memory, count),
        zeros,
    )
    make_order = eqx.filter_jit(minibatch_order)
    order = np.asarray(make_order(samples, minibatch_size, jax.random.key(1)))
    minibatch_size = min(minibatch_size, num_samples)
    num_minibatches, num_chunks, per_chunk = order.shape
    assert (num_minibatches, num_chunks * per_chunk) == (num_samples // minibatch_size, minibatch_size)
    assert num_chunks == {32: MOST_PARTS, 16: MOST_PARTS, 20: 10, 7: 7}[minibatch_size]
    assert len(np.unique(order)) == order.size
    # What is left over is first of all what is not valid.
    left_over = num_samples - order.size
    assert valid[order].sum() == order.size - max(0, num_ignored - left_over)
    used = np.where(valid[order] > 0, sizes[order], 99)
    assert (used[:, :-1].max(axis=-1) <= used[:, 1:].min(axis=-1)).all()
    # Every minibatch has about the same mix of sizes.
    assert np.ptp(np.where(valid[order] > 0, sizes[order], 0).sum(axis=(1, 2))) <= 12
    other = np.asarray(make_order(samples, minibatch_size, jax.random.key(2)))
    assert (other != order).any()


@pytest.fixture(scope="module")
def trained():
    """A short run of the fast recipe in this process: metrics of each iteration, and how often it traced."""
    config = tiny_run(60)
    environment, traces = WORLD.make(), []

    def counted(*arguments):
        traces.append(arguments)
        return collect(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer_module, "collect", counted)
        trainer = Trainer(environment, config.agent, config.learning, total_steps=config.steps, seed=0)
        state = trainer.init(environment)
        metrics = []
        for _ in range(trainer.num_iterations):
            state, new = trainer.iterate(environment, state)
            metrics.append({name: float(value) for name, value in new.items()})
    return metrics, len(traces)


def test_the_game_is_learned(trained):
    goals = [metrics["goals_per_episode"] for metrics in trained[0]]
    assert len(goals) == 60
    assert np.mean(goals[-10:]) > 1.5 * np.mean(goals[:10])


def test_compiled_once(trained):
    assert trained[1] == 1


def test_repeated_bad_updates_end_the_run_and_the_last_good_checkpoint_stays(tmp_path):
    # Entropy's weight is 0.05 in the first iteration; after that, gradients are too large for a float.
    config = tiny_run(8, agent=LSTM, entropy_end=1e38)
    with pytest.raises(DivergedError, match="no finite update in 3 iterations"):
        run(config, tmp_path, replace(OPTIONS, checkpoint_every=1, evaluate_every=9))
    assert [path.name for path in list_checkpoints(tmp_path / CHECKPOINTS)] == [
        "checkpoint-00000001.safetensors"
    ]
    tensors, _ = read_checkpoint(list_checkpoints(tmp_path / CHECKPOINTS)[0])
    assert all(np.isfinite(t).all() for t in tensors.values() if t.dtype == np.float32)
    records = read_log(tmp_path / "log.jsonl")
    assert [record["skipped_updates"] for record in records] == [0.0, 1.0, 1.0, 1.0]
    assert records[-1]["gradient_norm"] in ("inf", "nan")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"minibatch_size": 0}, "minibatch_size is 0, expected at least 1"),
        ({"learned_share": 0.0}, "learned_share is 0.0, expected more than 0"),
        ({"rollout_steps": -1}, "rollout_steps is -1"),
    ],
)
def test_options_that_make_no_run_are_refused(options, named):
    with pytest.raises(InputError, match=named):
        Trainer(WORLD.make(), EPN, replace(LEARNING, **options), total_steps=100, seed=0)


@pytest.mark.parametrize(
    ("agent", "options", "named"),
    [
        (LSTM, {"ratio_clip": None}, "learned_share: a recurrent agent"),
        (EPN, {"learned_share": None}, "ratio_clip: only single steps"),
    ],
)
def test_options_that_would_do_nothing_are_refused(agent, options, named):
    with pytest.raises(InputError, match=named):
        Trainer(WORLD.make(), agent, replace(LEARNING, **options), total_steps=100, seed=0)


# Two by two cells, up and down (left and right) lead to the same place, and the first goal is one of the
# three other cells with equal chance: above or below, beside, or diagonal.
SHORT = MemoryPlanning(size=2, episode_steps=3)
GAMMA = 0.9


def closed_form(step: int, at_goal: bool, before: bool) -> float:
    """Optimal values of an episode of three steps.

    A first move finds the goal in 1 of 3 worlds; a second one along the other axis in 1 of the remaining 2;
    collecting takes a step; a second goal cannot be collected in time.
    """
    if before:
        return 0.0
    if at_goal:
        return 1.0
    return {0: (GAMMA + GAMMA**2) / 3, 1: GAMMA / 2, 2: 0.0}[step]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "learning"),
    [
        (
            replace(EPNConfig(), width=32, iterations=1, block="residual", plan_with_newest=True),
            {"learning_rate": 5e-3},
        ),
        (
            replace(LSTM, torso_width=32, width=32, policy_width=32),
            {"learning_rate": 5e-3, **WHOLE_ROLLOUTS},
        ),
    ],
    ids=["epn", "lstm"],
)
def test_closed_form_values_are_learned(config, learning):
    environment = SHORT.make()
    options = replace(
        LEARNING,
        num_envs=128,
        minibatch_size=128,
        discount=GAMMA,
        entropy=0.02,
        entropy_end=0.0,
        optimiser="adam",
        **learning,
    )
    trainer = Trainer(environment, config, options, total_steps=300_000, seed=1)
    state = trainer.init(environment)
    for _ in range(trainer.num_iterations):
        state, _ = trainer.iterate(environment, state)
    agent = state.learner.agent
    actors = start_actors(environment, agent, jax.random.split(jax.random.key(9), 2000))
    rollout, _ = eqx.filter_jit(lambda a: collect(environment, a, actors, 3))(agent)
    steps = rollout.timesteps
    at_goal = np.asarray(steps.observation == steps.goal)
    collected = np.asarray(steps.completed).cumsum(axis=0) > 0
    for step in range(3):
        for here in (False, True):
            chosen = (at_goal[step] == here) & ~collected[step]
            if not chosen.any():
                continue
            expected = closed_form(step, here, False)
            assert float(rollout.values[step][chosen].mean()) == pytest.approx(expected, abs=0.06), (
                step,
                here,
            )
            assert abs(rollout.values[step][chosen] - expected).mean() < 0.1
    goals = float(steps.completed.sum()) / 2000
    # Found at once in 1/3 of the worlds, at the second move in another third.
    assert goals == pytest.approx(2 / 3, abs=0.04)
    # The second move of an optimal policy is along the other axis; it does not go back.
    missed = ~at_goal[1]
    axis = np.asarray(rollout.actions) // 2
    assert (axis[0] != axis[1])[missed].mean() > 0.95
