import equinox as eqx
import jax
import pytest

from rapidtask.agents import AGENTS, make_agent
from rapidtask.agents.agent import Agent
from rapidtask.cli import main
from rapidtask.envs import make_environment
from rapidtask.errors import InputError
from rapidtask.pretrained import list_pretrained


@pytest.fixture(scope="module")
def game():
    return make_environment("memory-planning", size=2, episode_steps=6)


@pytest.mark.parametrize("name", AGENTS)
def test_agents_are_made_by_name(game, name):
    agent = jax.eval_shape(lambda: make_agent(name, game).initial_state(2))
    assert jax.tree.leaves(agent)


def test_options_are_passed_on_and_wrong_names_are_named(game):
    agent = make_agent("epn", game, width=8, num_heads=2, memory="all")
    assert isinstance(agent, Agent)
    assert agent.num_slots == 6
    with pytest.raises(InputError, match="unknown agent 'epm'; known: epn, lstm"):
        make_agent("epm", game)
    with pytest.raises(InputError, match="epn has no option heads; known: width, num_heads"):
        make_agent("epn", game, heads=2)


def test_size_of_an_epn_by_hand(game):
    """4 symbols, 5 actions, width 8, 1 iteration of the paper's block, 6 slots."""
    d, slots = 8, 6
    agent = make_agent("epn", game, width=d, iterations=1, memory="all")
    embeddings = 4 * d + 3 * d * d + 5 * d
    block = 3 * d * d + (d * d + d) + 2 * d + 2 * (d * d + d)
    readout = d * d + 2 * (d * d + d)
    policy = (3 * d * d + d) + (d * d + d) + (5 * d + 5) + (d + 1)
    learned = jax.tree.leaves(eqx.filter(agent, eqx.is_inexact_array))
    assert sum(leaf.size for leaf in learned) == embeddings + block + readout + policy
    state = agent.initial_state(3)
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(state)) == 3 * 4 * (5 * slots + 3)


def test_the_command_lists_every_shipped_agent_whole(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    main(["agents"])
    out = capsys.readouterr().out
    for card in list_pretrained():
        assert card.name in out
        assert f"{card.steps:,}" in out
        assert f"{card.scores['sampled']['oracle_share_last_third']:.1%}" in out
