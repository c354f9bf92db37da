import jax
import pytest

from rapidtask.agents import AGENTS, make_agent
from rapidtask.agents.agent import Agent
from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.rivals.lstm import LSTMConfig
from rapidtask.cli import main
from rapidtask.commands import agents as command
from rapidtask.envs import make_environment
from rapidtask.errors import InputError


@pytest.fixture(scope="module")
def game():
    return make_environment("memory-planning", size=2, episode_steps=6)


@pytest.mark.parametrize("name", AGENTS)
def test_agents_are_made_by_name(game, name):
    agent = jax.eval_shape(lambda key: make_agent(name, game, key).initial_state(2), jax.random.key(0))
    assert jax.tree.leaves(agent)


def test_options_are_passed_on_and_wrong_names_are_named(game):
    agent = make_agent("epn", game, jax.random.key(0), width=8, num_heads=2, memory="all")
    assert isinstance(agent, Agent)
    assert agent.num_slots == 6
    with pytest.raises(InputError, match="unknown agent 'epm'; known: epn, lstm"):
        make_agent("epm", game, jax.random.key(0))
    with pytest.raises(InputError, match="epn has no option heads; known: width, num_heads"):
        make_agent("epn", game, jax.random.key(0), heads=2)


def test_cost_of_an_epn_by_hand(game):
    """4 symbols, 5 actions, width 8, 1 iteration of the paper's block, 6 slots."""
    d, slots = 8, 6
    config = EPNConfig(width=d, iterations=1, memory="all")
    timesteps, frames = command.random_episodes(game, 3, 0)
    assert frames is None
    assert timesteps.action.shape == (7, 3)
    assert timesteps.first[0].all()
    assert timesteps.last[-1].all()
    cost = command.measure(config, game.spec, timesteps)
    embeddings = 4 * d + 3 * d * d + 5 * d
    block = 3 * d * d + (d * d + d) + 2 * d + 2 * (d * d + d)
    readout = d * d + 2 * (d * d + d)
    policy = (3 * d * d + d) + (d * d + d) + (5 * d + 5) + (d + 1)
    assert cost.parameters == embeddings + block + readout + policy
    assert cost.state_bytes == 4 * (5 * slots + 3)
    # Matrix products; the rest (softmax, norms, comparing rows) is small change, but not nothing.
    products = 2 * (4 * slots * d * d + 2 * slots * slots * d + 4 * slots * d * d)
    assert products < cost.step_flops < 3 * products
    assert cost.step_seconds > 0


def test_the_command_prints_every_agent(monkeypatch, capsys):
    monkeypatch.setattr(
        command, "agent_configs", lambda: {"epn, tiny": EPNConfig(width=8), "lstm": LSTMConfig()}
    )
    main(["agents", "--world.size", "2", "--world.episode-steps", "4", "--batch-size", "2"])
    out = capsys.readouterr().out
    assert "4 observations, 5 actions, 4 steps, batch 2" in out
    assert "epn, tiny" in out
    assert "lstm" in out


def test_the_command_knows_all_agents():
    assert set(AGENTS) == {name.partition(",")[0] for name in command.agent_configs()}


def test_a_wrong_batch_size_is_named(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["agents", "--batch-size", "0"])
    assert stop.value.code == 2
    assert "--batch-size is 0" in capsys.readouterr().err
