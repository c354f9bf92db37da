import json
from dataclasses import replace

import jax
import numpy as np
import pytest

import rapidtask
import ship_agent as shipping
from fake_runs import untrained, write_run
from rapidtask.agents.epn import EPN
from rapidtask.cli import main
from rapidtask.envs import Environment, make_environment, street_options
from rapidtask.errors import InputError
from rapidtask.experiments.logged_runs import kind_label
from rapidtask.pretrained import cards, list_pretrained, load_pretrained
from rapidtask.pretrained.load import fit_agent, parse_option
from rapidtask.runs.agent_files import AGENT_FILE, save_agent
from rapidtask.runs.checkpoint import named_arrays
from rapidtask.runs.provenance import training_command
from rapidtask.worlds import make_pool, make_world
from tiny_training import LSTM, tiny_run


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Two shipped agents: an EPN from two phases and two seeds, and an LSTM in half precision."""
    root = tmp_path_factory.mktemp("shipped")
    runs = [write_run(root / f"run-{seed}", replace(tiny_run(), seed=seed)) for seed in (0, 1)]
    first = write_run(root / "first", tiny_run(), steps=260, seconds=30.0)
    options = {"folder": root / "agents", "episodes": 16}
    shipping.ship(
        shipping.Ship(runs[0], "epn-tiny", seed_runs=(runs[1],), earlier_phases=(first,), **options)
    )
    lstm = write_run(root / "lstm", tiny_run(agent=LSTM))
    shipping.main(
        [
            str(lstm),
            "lstm-tiny",
            "--precision",
            "float16",
            "--folder",
            str(root / "agents"),
            "--episodes",
            "4",
        ]
    )
    return root / "agents"


@pytest.fixture
def in_package(shipped, monkeypatch):
    monkeypatch.setattr(cards, "FOLDER", shipped)
    return shipped


def test_a_shipped_agent_is_the_one_that_was_trained(shipped):
    agent, config = load_pretrained("epn-tiny", folder=shipped)
    assert config == tiny_run()
    for (name, ours), (_, theirs) in zip(named_arrays(agent), named_arrays(untrained(config)), strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    longer, _ = load_pretrained("epn-tiny", folder=shipped, episode_steps=15)
    assert isinstance(longer, EPN)
    assert longer.num_slots == 15


def test_half_precision_is_used_as_single_and_takes_half_the_room(shipped):
    agent, config = load_pretrained("lstm-tiny", folder=shipped)
    exact = jax.tree.leaves(untrained(config))
    for ours, theirs in zip(jax.tree.leaves(agent), exact, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, atol=2e-3)
    size = sum(x.nbytes for x in exact)
    assert size / 2 < cards.weights_path("lstm-tiny", shipped).stat().st_size < size


def test_the_card_says_how_the_agent_came_to_be(shipped):
    card = cards.read_card("epn-tiny", shipped)
    assert (card.steps, card.minutes) == (1040 + 260, 2.0)  # both phases
    assert [run["seed"] for run in card.seeds] == [0, 1]
    assert card.seeds[1]["minutes"] == 1.5
    assert card.seeds[0]["goals_per_episode"] == 2.5
    assert set(card.scores) == {"sampled", "greedy"}
    assert card.scores["sampled"]["episodes"] == 16
    assert 0 <= card.scores["greedy"]["oracle_share_last_third"] < 1
    assert card.commit
    assert "cores" in card.machine
    assert [card.name for card in list_pretrained(shipped)] == ["epn-tiny", "lstm-tiny"]


def test_the_training_command_gives_the_configuration_back(monkeypatch):
    from rapidtask.commands import train

    config = replace(tiny_run(vtrace_lambda=0.5, learned_share=None), seed=3)
    words = training_command(config).split()
    seen = []
    monkeypatch.setattr(train, "run", lambda config, *args, **kwargs: seen.append(config) or _Done())
    main([*words[1:], "--out", "unused"])
    assert seen == [config]


class _Done:
    stopped_by = None


@pytest.mark.parametrize("card", list_pretrained(), ids=lambda card: card.name)
def test_the_commands_of_shipped_agents_name_every_option_that_is_no_default(card):
    """A changed default must not change what a card's command trains."""
    _, config = load_pretrained(card.name)
    without_effect = {"--agent.vision", "resnet"} if getattr(config.world, "frames", None) is None else set()
    assert set(training_command(config).split()) - set(card.command.split()) <= without_effect


@pytest.mark.parametrize("name", ["epn-streetlearn-symbols", "epn-streetlearn-pixels"])
def test_a_street_agent_is_loaded_without_a_street(monkeypatch, name):
    """Neither a city is read nor a world sampled, and its frames need not be there."""

    def refuse(*_args, **_kwargs):
        raise AssertionError

    for needless in ("load_cities", "sample_pool", "attach_frames"):
        monkeypatch.setattr(street_options, needless, refuse)
    agent, config = load_pretrained(name, episode_steps=30)
    assert isinstance(agent, EPN)
    assert agent.num_slots == 30
    with pytest.raises(AssertionError):
        config.world.make()
    game = make_environment("memory-planning", size=2)
    with pytest.raises(InputError, match="made for 3 actions and 60 observations; this world has 5 and 4"):
        fit_agent(agent, config, game)


def test_unknown_names_are_refused_with_the_known_ones(shipped, tmp_path):
    with pytest.raises(InputError, match="unknown pretrained agent 'epn'; known: epn-tiny, lstm-tiny"):
        load_pretrained("epn", folder=shipped)
    with pytest.raises(InputError, match="known: none"):
        rapidtask.load_pretrained("epn", folder=tmp_path)
    assert rapidtask.list_pretrained(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "expected a JSON object"),
        ("{", "not JSON"),
        ('{"colour": 1}', "unknown field 'colour'"),
        ('{"name": "x"}', "field 'agent' is missing"),
    ],
)
def test_a_bad_card_is_named(tmp_path, content, said):
    cards.card_path("x", tmp_path).write_text(content)
    with pytest.raises(InputError, match=said):
        cards.read_card("x", tmp_path)


def test_a_run_without_a_log_is_not_shipped(tmp_path, capsys):
    config = tiny_run(agent=LSTM)
    save_agent(tmp_path / "run" / AGENT_FILE, untrained(config), config)
    with pytest.raises(SystemExit):
        shipping.main([str(tmp_path / "run"), "x", "--folder", str(tmp_path)])
    assert "has no log.jsonl" in capsys.readouterr().err


def test_options_that_weights_do_not_depend_on_can_change():
    config = tiny_run()
    agent = untrained(config)
    fitted, changed = fit_agent(agent, config, config.world.make(), memory="all", iterations=4)
    assert isinstance(fitted, EPN)
    assert (fitted.num_slots, fitted.config.iterations) == (config.world.episode_steps, 4)
    assert changed.agent == fitted.config
    with pytest.raises(InputError, match="these weights do not fit recent_rows=4"):
        fit_agent(agent, config, config.world.make(), recent_rows=4)
    with pytest.raises(InputError, match="epn has no option 'colour'"):
        fit_agent(agent, config, config.world.make(), colour=1)
    larger = make_environment("memory-planning", size=3, episode_steps=12)
    fits = "made for 5 actions and 4 observations; this world has 5 and 9"
    with pytest.raises(InputError, match=f"{fits}; --new-symbols lets it act there$"):
        fit_agent(agent, config, larger)
    moves = make_pool(make_world([[1], [2], [3], [4], [0]]), shuffle_observations=True)
    with pytest.raises(InputError, match=r"this world has 2 and 5$"):  # nor would new symbols help
        fit_agent(agent, config, Environment(moves))
    grown, _ = fit_agent(agent, config, larger, new_symbols=True)
    assert grown.embed().table.shape[0] == 9
    learned = replace(config, agent=replace(config.agent, symbols="learned"))
    with pytest.raises(InputError, match=f"{fits}; its symbols are learned"):
        fit_agent(untrained(learned), learned, larger, new_symbols=True)


def test_options_from_the_command_line_have_their_types():
    config = tiny_run().agent
    assert parse_option(config, "iterations=6") == ("iterations", 6)
    assert parse_option(config, "state_in_rows=false") == ("state_in_rows", False)
    assert parse_option(config, "memory=all") == ("memory", "all")
    for text, said in (
        ("iterations=many", "iterations: 'many' is not what it takes \\(int\\)"),
        ("state_in_rows=2", "'2' is not what it takes \\(bool\\)"),
        ("deep=1", "NAME=VALUE"),
    ):
        with pytest.raises(InputError, match=said):
            parse_option(config, text)


def evaluate(capsys, *arguments: str) -> dict:
    main(["evaluate", *arguments, "--episodes", "4", "--json"])
    return json.loads(capsys.readouterr().out)


def test_evaluate_knows_shipped_agents(in_package, capsys):
    one = evaluate(capsys, "--pretrained", "lstm-tiny")
    assert one["policy"] == "lstm-tiny"
    assert (one["world"]["size"], one["world"]["episode_steps"]) == (2, 12)  # where it was trained
    both = evaluate(capsys, "--pretrained", "lstm-tiny", "--greedy", "--policy", "oracle")
    assert [r["policy"] for r in both["policies"]] == ["lstm-tiny", "lstm-tiny, greedy", "oracle"]
    assert both["policies"][0] == one
    arguments = ("--pretrained=all", "--world.episode-steps", "8")
    everything = evaluate(capsys, *arguments)["policies"]
    assert [r["policy"] for r in everything] == ["epn-tiny", "lstm-tiny"]
    assert everything[0]["world"]["episode_steps"] == 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--pretrained epn", "unknown pretrained agent 'epn'; known: epn-tiny, lstm-tiny"),
        ("--pretrained lstm-tiny --options memory=all", "'memory=all': expected NAME=VALUE"),
        ("--options memory=all", "--options is about a trained agent"),
    ],
)
def test_what_cannot_be_evaluated_is_named(in_package, capsys, arguments, said):
    with pytest.raises(SystemExit) as exit_:
        main(["evaluate", *arguments.split()])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_all_and_unique_memory_of_one_agent_play_the_same_episodes(in_package, capsys):
    results = [
        evaluate(capsys, "--pretrained", "epn-tiny", "--options", f"memory={memory}")
        for memory in ("all", "unique")
    ]
    for result in results:
        result.pop("policy")
    assert results[0] == results[1]


def test_the_agents_command_lists_them(in_package, capsys):
    main(["agents"])
    out = capsys.readouterr().out
    assert "epn-tiny" in out
    assert "1,300" in out


@pytest.mark.parametrize("name", ["epn-memory-planning", "epn-streetlearn-symbols"])
def test_figures_and_demo_know_the_shipped_epn_by_its_plain_name(name):
    _, config = load_pretrained(name)
    assert kind_label(config) == "EPN"
