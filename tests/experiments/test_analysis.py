import csv
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from epn_histories import fill
from fake_runs import write_run
from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.planner import AllToAll, Block
from rapidtask.envs.environment import EnvironmentSpec
from rapidtask.envs.episode import to_numpy
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.envs.street_options import StreetLearn
from rapidtask.experiments.figure import NotAvailable
from rapidtask.experiments.logged_runs import read_runs
from rapidtask.experiments.planner import EXPERIMENT
from rapidtask.experiments.planner.attention import KINDS, attention_weights, relations
from rapidtask.experiments.planner.decoder import DECODED, Inputs, decode, decoder_inputs, train_decoders
from rapidtask.experiments.planner.decodings import Decoded, gather_decodings
from rapidtask.experiments.planner.distances import agreement, reach, sweep_map
from rapidtask.experiments.planner.maps import line_text, part_of, read_line
from rapidtask.experiments.planner.situations import sample_maps, sample_situations
from rapidtask.experiments.results import make_results, read_index
from rapidtask.runs.config import RunConfig
from rapidtask.worlds.world import World, make_pool, make_world

SMALL = EPNConfig(
    width=8, iterations=2, block="residual", comparisons="attention", state_in_rows=True, symbols="fixed"
)
RING = [[1, 2], [2, 0], [0, 1]]
"""Three states; the first move goes round, the second round the other way."""


@pytest.fixture(scope="module")
def worlds() -> World:
    """A ring of three states and one of four, in tables of four states and five symbols."""
    four = [[1, 3], [2, 0], [3, 1], [0, 2]]
    rings = [replace(make_world(moves, num_slots=4), num_observations=5) for moves in (RING, four)]
    return to_numpy(make_pool(rings, shuffle_observations=True).worlds)


def make_agent(iterations: int = SMALL.iterations):
    config = replace(SMALL, iterations=iterations)
    return fill(lambda: config.make(EnvironmentSpec(5, 3, 20), 0))


@pytest.fixture(scope="module")
def agent():
    return make_agent()


def test_memories_hold_every_transition_once(worlds):
    situations = sample_situations(worlds, 20, np.random.default_rng(0))
    assert set(situations.world) == {0, 1}
    memory = to_numpy(situations.memories(10))
    for k in range(20):
        world, symbols = situations.world[k], situations.symbols[k]
        size = worlds.num_states[world]
        rows = {
            (int(memory.origin[k, n]), int(memory.action[k, n])): int(memory.successor[k, n])
            for n in range(10)
            if memory.count[k, n]
        }
        assert memory.count[k].sum() == len(rows) == 2 * size == situations.num_rows[k]
        assert memory.mask[k, : 2 * size].all()  # the rows in use come first
        for s in range(size):
            for move in range(2):
                assert rows[symbols[s], move] == symbols[worlds.next_state[world, s, move]]
        assert len(set(symbols)) == len(symbols)
        here, goal = situations.here[k], situations.goal[k]
        assert situations.distance[k] == worlds.distance[world, here, goal] < 3
        assert (memory.observation[k], memory.goal[k]) == (symbols[here], symbols[goal])


def test_maps_hold_every_state_of_a_world_with_one_goal(worlds):
    maps = sample_maps(worlds, 2, np.random.default_rng(1))
    assert sorted(np.bincount(maps.group)) == [3, 4]
    for g in range(2):
        ours = maps.take(np.flatnonzero(maps.group == g))
        assert ours.here.tolist() == list(range(len(ours)))
        assert len(set(ours.goal)) == len(set(ours.world)) == 1
        assert (ours.distance == 0).sum() == 1


def test_summaries_are_what_the_policy_network_is_given(worlds, agent):
    situations = sample_situations(worlds, 70, np.random.default_rng(2))  # more than one batch
    inputs = decoder_inputs(agent, situations)
    assert inputs.summary.shape == (len(DECODED), 70, 8)
    memory, timestep = situations.memories(8), situations.timesteps()

    def both(summary):
        """Logits of the policy network on summaries of two iterations, and the agent's own."""
        for iterations in (1, 4):
            given = jnp.concatenate([summary[iterations - 1], inputs.places], axis=1)
            hidden = agent.policy.layers[0](given) + inputs.match[:, None] * agent.policy_match
            features = jax.nn.relu(agent.policy.layers[1](jax.nn.relu(hidden)))
            # The same weights: none depends on how long the agent plans.
            thinker = make_agent(iterations)
            yield agent.logits(features), thinker.act(memory, timestep, thinker.embed()).logits

    for ours, theirs in jax.jit(lambda summary: list(both(summary)))(inputs.summary):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_array_equal(inputs.match, situations.distance == 0)


def test_attention_weights_make_the_planners_beliefs(worlds, agent):
    situations = sample_situations(worlds, 3, np.random.default_rng(3))
    memory, timestep = situations.memories(8), situations.timesteps()
    weights = attention_weights(agent, memory, timestep, 3)
    plan = eqx.filter_jit(lambda **options: agent.plan(memory, timestep, agent.embed(), 3, **options))
    planned = plan().beliefs[1:]
    np.testing.assert_allclose(plan(with_attention=True).beliefs[1:], planned, atol=1e-5)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    assert isinstance(agent.planner, AllToAll)
    block = agent.planner.block
    # One iteration written out with the weights in place of the attention.
    before = planned[0]
    attended = weights[1][:, 0] @ block.attention.to_value(block.attention_norm(before))
    after = before + block.attention.to_output(attended)
    after = after + block.mlp(block.mlp_norm(after))
    np.testing.assert_allclose(after, planned[1], atol=1e-5)


@pytest.mark.parametrize("name", ["norm_after", "no_norm"])
def test_attention_weights_of_the_footnotes_blocks(name):
    belief, bias = 3 * jax.random.normal(jax.random.key(1), (2, 5, 8)), jnp.zeros((2, 1, 5, 5))
    block = Block(name, 8, 1, np.random.default_rng(0))
    attention = block.attention
    attended = block.weights(belief, None, bias)[:, 0] @ attention.to_value(belief)
    expected = attention(belief, belief, bias)  # the belief as it is: there is no LayerNorm before
    np.testing.assert_allclose(attention.to_output(attended), expected, atol=1e-5)


def test_unused_rows_are_not_looked_at(worlds, agent):
    situations = sample_situations(worlds, 4, np.random.default_rng(4))
    memory, timestep = situations.memories(10), situations.timesteps()
    weights = attention_weights(agent, memory, timestep, 1)
    unused = ~np.asarray(memory.mask)
    assert unused.any()
    assert np.asarray(weights)[0, :, 0].swapaxes(1, 2)[unused].max() == 0


def test_every_pair_of_rows_is_of_one_kind(worlds):
    situations = sample_situations(worlds, 6, np.random.default_rng(5))
    memory = to_numpy(situations.memories(9))
    kinds = relations(memory)
    assert list(kinds) == list(KINDS)
    count = np.sum(list(kinds.values()), axis=0)
    used = memory.mask[:, :, None] & memory.mask[:, None, :]
    np.testing.assert_array_equal(count, used)
    ring = np.flatnonzero(situations.world == 0)[0]
    # In a ring of three, row 0 is 0→1: rows 2 (1→2) and 3 (1→0) go on, 4 (2→0) leads to it, as 3 does.
    assert np.flatnonzero(kinds["goes on from it"][ring, 0]).tolist() == [2, 3]
    assert np.flatnonzero(kinds["leads to it"][ring, 0]).tolist() == [4]
    assert np.flatnonzero(kinds["starts there too"][ring, 0]).tolist() == [1]
    assert np.flatnonzero(kinds["ends there too"][ring, 0]).tolist() == [5]


SEEN = 6
"""Iterations of a planner that sees one move further with each."""


def planner_that_sees(distance: np.ndarray) -> Inputs:
    """Inputs whose summary after i iterations holds distances up to i, and "further" beyond."""
    generator = np.random.default_rng(0)
    seen = np.minimum(distance, 1 + np.arange(1, SEEN + 1)[:, None])
    summary = np.eye(16, dtype=np.float32)[seen]
    noise = generator.normal(0, 1, (len(distance), 4)).astype(np.float32)
    places = np.concatenate([noise, noise], axis=1)
    return Inputs(summary, places, (distance == 0).astype(np.float32), distance)


@pytest.fixture(scope="module")
def ring_maps() -> World:
    """Rings of 14 states, walked one way or the other: distances up to 7."""
    n = 14
    moves = np.stack([(np.arange(n) + 1) % n, (np.arange(n) - 1) % n], axis=1)
    return to_numpy(make_pool(make_world(moves), shuffle_observations=True).worlds)


def test_decoders_find_the_distance_that_is_there_and_no_more(ring_maps):
    train = sample_situations(ring_maps, 2000, np.random.default_rng(0))
    test = sample_maps(ring_maps, 40, np.random.default_rng(1))
    decoders = train_decoders(planner_that_sees(train.distance), 9, seed=0, num_seeds=2, updates=300)
    assert decoders.loss.shape == (SEEN, 2, len(decoders.update))
    decoded = Decoded(decoders, test, decode(decoders, planner_that_sees(test.distance)))
    assert decoded.distances == list(range(8))
    loss = decoded.loss.mean(axis=1)
    assert (np.diff(loss) < 0).all()  # every iteration tells of one more distance
    for distance in range(8):
        accuracy = decoded.accuracy(distance).mean(axis=1)
        assert (accuracy[max(0, distance - 1) :] > 0.95).all()
    # After one iteration distances from 2 on look alike; they are decoded by guessing, right for one at most.
    blind = [decoded.accuracy(d)[0].mean() for d in range(2, 8)]
    assert np.mean(blind) < 0.3
    # The map that value iteration has after as many sweeps is the one that agrees best.
    for i in range(4):
        best = np.argmax([agreement(decoded, sweeps).mean(axis=1)[i] for sweeps in range(7)])
        assert best == i + 1
    assert agreement(decoded, 3).mean(axis=1)[2] > 0.97


def test_reach_by_hand():
    assert reach([0, 1, 2, 3], np.array([1.0, 0.9, 0.6, 0.2])) == (pytest.approx(2.25), True)
    assert reach([1, 2], np.array([0.4, 0.9])) == (1.0, True)
    assert reach([1, 2, 3], np.array([0.9, 0.9, 0.5])) == (3.0, False)


def test_sweeps_by_hand():
    distance = np.array([0, 1, 2, 3, 5])
    np.testing.assert_allclose(sweep_map(distance, 0), [0, 2.75, 2.75, 2.75, 2.75])
    np.testing.assert_allclose(sweep_map(distance, 2), [0, 1, 2, 4, 4])
    np.testing.assert_allclose(sweep_map(distance, 5), distance)


def test_parts_of_lines():
    line = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    np.testing.assert_allclose(part_of(line, 0.25, 0.75), [[1, 0], [2, 0], [2, 1]])
    np.testing.assert_allclose(read_line(line_text(line)), line)


@pytest.fixture(scope="module")
def decodings(tmp_path_factory):
    """Small agents that learned nothing, in both domains."""
    root = tmp_path_factory.mktemp("runs")
    grid = RunConfig(world=MemoryPlanning(episode_steps=6), agent=SMALL)
    streets = replace(grid, world=StreetLearn(episode_steps=6, pool_size=4))
    strict = replace(streets, agent=replace(SMALL, state_in_rows=False, plan_with_newest=False))
    configs = {"grid": grid, "grid-1": replace(grid, seed=1), "streets": streets, "strict": strict}
    for name, config in configs.items():
        write_run(root / name, config)
    sizes = {"train_situations": 64, "test_situations": 40, "updates": 4, "num_seeds": 2, "fewest_pairs": 1}
    sizes |= {"street_worlds": 4, "street_test_worlds": 4}
    return gather_decodings(read_runs([root], None), shipped=False, episodes=4, seed=3, **sizes)


def test_each_domain_has_a_trained_planner_a_strict_one_and_a_fresh_one(decodings):
    found = {label: trained.source for label, trained in decodings.agents.items()}
    assert found["memory-planning, trained"] in ("run grid", "run grid-1")
    assert found["streetlearn, trained"] == "run streets"
    assert found["streetlearn, strict"] == "run strict"
    assert found["streetlearn, untrained"] == "fresh weights"
    assert "memory-planning, strict" not in found
    fresh, trained = (
        decodings.agents[f"memory-planning, {origin}"].agent for origin in ("untrained", "trained")
    )
    shapes = [[leaf.shape for leaf in jax.tree.leaves(agent)] for agent in (fresh, trained)]
    assert shapes[0] == shapes[1]  # the control differs in its weights alone


def test_what_is_missing_is_said():
    with pytest.raises(NotAvailable, match="no trained EPN"):
        gather_decodings([], shipped=False).settings()


@pytest.mark.slow
def test_every_figure_of_the_analysis_is_drawn(decodings, tmp_path):
    made = {r.entry.name: r for r in make_results(EXPERIMENT, decodings, tmp_path, "rapidtask")}
    assert list(made) == [figure.name for figure in EXPERIMENT.figures] == list(read_index(tmp_path))
    readme = (tmp_path / "README.md").read_text()
    for name, result in made.items():
        assert not result.entry.missing
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(result.rows) > 0
        assert f"]({name}.png)" in readme
