import io
import os
import select
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from rapidtask.commands.play import PlayResult, keys_of, play_by_hand
from rapidtask.envs.environment import Environment
from rapidtask.envs.episode import Episode
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.envs.scene import scene_of
from rapidtask.keys import read_keys
from rapidtask.worlds import WorldError, make_pool, make_world

KEYS = {"letters": ["w", "s", "a", "d", "c"], "arrows": ["\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C", " "]}


def winning_keys(environment, seed, num_goals, keys):
    """What someone who sees the whole map presses, and how many steps that takes."""
    episode = Episode(environment)
    episode.start(seed)
    worlds, pressed = environment.pool.worlds, []
    while episode.goals < num_goals:
        place, goal = int(episode.state.state), int(episode.state.goal)
        ahead = [int(worlds.distance[0, worlds.next_state[0, place, a], goal]) for a in range(4)]
        action = 4 if place == goal else ahead.index(min(ahead))
        pressed.append(keys[action])
        episode.step(action)
    return "".join(pressed), len(pressed)


def play_text(environment, text, **options):
    out = io.StringIO()
    result = play_by_hand(
        environment, source=io.StringIO(text), console=Console(file=out, width=100), **options
    )
    return result, out.getvalue()


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_someone_who_knows_the_map_wins(keys):
    environment = MemoryPlanning().make()
    text, steps = winning_keys(environment, 4, 3, keys)
    result, out = play_text(environment, text + "q" + text, seed=4)
    assert result == PlayResult(goals=3, steps=steps)
    assert out.count("goal completed!") == 3
    assert out.splitlines()[-1] == f"3 goals completed in {steps} steps: {steps / 3:.1f} steps per goal."


def test_the_episode_ends_after_its_steps():
    result, out = play_text(MemoryPlanning(size=2, episode_steps=5).make(), "wwwwwwwwwwww")
    assert result.steps == 5
    assert "step 5/5" in out


def test_only_what_an_agent_sees_is_shown_unless_revealed():
    environment = MemoryPlanning().make()
    _, hidden = play_text(environment, "w")
    _, revealed = play_text(environment, "w", reveal=True)
    episode = Episode(environment)
    episode.start(0)
    shown = {
        scene_of(episode).symbol(scene_of(episode).state),
        scene_of(episode).symbol(scene_of(episode).goal),
    }
    episode.step(0)
    shown.add(scene_of(episode).symbol(scene_of(episode).state))
    capitals = {word for word in hidden.replace("│", " ").split() if len(word) == 1 and word.isupper()}
    assert capitals == shown
    assert "+-----+" in revealed
    assert "+-----+" not in hidden


def test_other_keys_do_nothing_and_the_end_of_the_stream_quits():
    result, out = play_text(MemoryPlanning().make(), "x\n\x1bz\x1b[5~\x1b[1;5Hw")
    assert result == PlayResult(goals=0, steps=1)
    assert out.splitlines()[-1] == "0 goals completed in 1 step."


def test_worlds_with_other_actions_are_played_with_digits():
    environment = Environment(make_pool(make_world([[1], [0]]), shuffle_observations=False))
    assert keys_of(environment.rules) == {"1": 0, "2": 1, " ": 1, "c": 1, "C": 1}
    result, out = play_text(environment, "12q")
    assert result == PlayResult(goals=1, steps=2)
    assert "1 move 0, 2 collect, q to quit" in out
    with pytest.raises(WorldError, match="torus_size"):
        play_text(environment, "q", reveal=True)


def test_arrow_keys_are_put_together():
    with read_keys(io.StringIO("\x1b[Aw\x1bOB\x1b[1;2D\x1b[C\x1b")) as keys:
        assert list(keys) == ["up", "w", "down", "left", "right", "\x1b"]


# A process started in the background of a shell inherits that SIGINT is ignored: undone here.
PLAY = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.commands.play import play_by_hand
play_by_hand(MemoryPlanning(size=2).make(), seed=0)
"""


@pytest.mark.parametrize("leave", ["q", "interrupt"])
def test_in_a_real_terminal(leave):
    """Keys act without Enter and are not echoed; the terminal is as before after q and after Ctrl-C."""
    pty = pytest.importorskip("pty")
    termios = pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    before = termios.tcgetattr(theirs)
    environ = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-c", PLAY], stdin=theirs, stdout=theirs, stderr=theirs, env=environ, process_group=0
    )
    seen = b""

    def wait_for(text):
        nonlocal seen
        deadline = time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([ours], [], [], 0.2)[0]:
                seen += os.read(ours, 65536)

    try:
        wait_for(b"step 0/100")
        assert not termios.tcgetattr(theirs)[3] & termios.ECHO
        os.write(ours, b"\x1b[A")
        wait_for(b"step 1/100")
        if leave == "q":
            os.write(ours, b"q")
        else:
            process.send_signal(signal.SIGINT)
        wait_for(b"0 goals completed in 1 step.")
        assert process.wait(timeout=30) == 0
        assert termios.tcgetattr(theirs) == before
        assert b"\x1b[?1049l" in seen  # the screen of the game is left
        assert b"\x1b[?25h" in seen  # and the cursor is back
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
