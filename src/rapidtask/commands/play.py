"""`rapidtask play`: a person plays; keys are the actions, the screen shows what an agent would see."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from rich.align import Align
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from rapidtask.draw import check_drawable, render_ansi, symbol
from rapidtask.envs.environment import Environment
from rapidtask.envs.episode import Episode
from rapidtask.envs.registry import MemoryPlanning, WorldOptions
from rapidtask.envs.scene import scene_of
from rapidtask.keys import read_keys
from rapidtask.worlds.world import Rules

QUIT_KEYS = ("q", "Q", "\x03", "\x04")
"""q, and Ctrl-C and Ctrl-D where they arrive as characters."""

KEYS_OF_ACTION = {
    "up": ("up", "w"),
    "forward": ("up", "w"),
    "down": ("down", "s"),
    "left": ("left", "a"),
    "right": ("right", "d"),
    "collect": (" ", "c"),
}
"""Keys of the actions that have a natural one; the i-th action always has the digit i + 1 too."""


@dataclass(frozen=True, kw_only=True)
class Play:
    """Play the game yourself: arrow keys or wasd to move, space to collect, q to quit."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    seed: int = 0
    """Seed of the world."""
    reveal: bool = False
    """Draw the map that an agent never sees."""

    def run(self) -> None:
        """Play one episode."""
        play_by_hand(self.world.make(), seed=self.seed, reveal=self.reveal)


@dataclass(frozen=True)
class PlayResult:
    """How a person did in one episode."""

    goals: int
    """Tasks completed."""
    steps: int
    """Steps taken."""

    def __str__(self) -> str:
        goals = f"{self.goals} goal{'' if self.goals == 1 else 's'}"
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        pace = f": {self.steps / self.goals:.1f} steps per goal" if self.goals else ""
        return f"{goals} completed in {steps}{pace}."


def play_by_hand(
    environment: Environment,
    *,
    seed: int = 0,
    reveal: bool = False,
    source: TextIO | None = None,
    console: Console | None = None,
) -> PlayResult:
    """Let a person play one episode in the terminal.

    Args:
        environment: what to play in.
        seed: seed of the episode.
        reveal: draw the map, which an agent never sees; only for worlds that can be drawn.
        source: where keys come from, standard input by default. If it is not a terminal, its characters are
            the keys and its end quits.
        console: where to draw, standard output by default. If it is not a terminal, each step is printed
            below the one before.

    Returns:
        The score, which is also printed. Quitting early (q, Ctrl-C) scores the steps taken so far.
    """
    if reveal:
        check_drawable(environment.rules, environment.pool.places)
    console = Console() if console is None else console
    action_of = keys_of(environment.rules)
    episode = Episode(environment)
    episode.start(seed)
    with (
        contextlib.suppress(KeyboardInterrupt),
        _display(console) as show,
        read_keys(sys.stdin if source is None else source) as keys,
    ):
        show(_view(episode, reveal))
        for key in keys:
            if key in QUIT_KEYS:
                break
            if key not in action_of:
                continue
            episode.step(action_of[key])
            show(_view(episode, reveal))
            if episode.over:
                break
    result = PlayResult(episode.goals, episode.steps)
    console.print(str(result), highlight=False)
    return result


def keys_of(rules: Rules) -> dict[str, int]:
    """The action of each key."""
    action_of = {str(action + 1): action for action in range(min(rules.num_actions, 9))}
    for action, name in enumerate(rules.actions):
        for key in KEYS_OF_ACTION.get(name, ()):
            action_of[key] = action_of[key.upper() if len(key) == 1 else key] = action
    return action_of


def _view(episode: Episode, reveal: bool) -> RenderableType:
    """What is on the screen: what an agent would see, or the map if it is revealed."""
    assert episode.timestep is not None
    timestep, environment = episode.timestep, episode.environment
    keys = Text(_help(environment.rules), style="dim")
    if reveal:
        # The map has these lines too; without the panel 8×8 cells fit a terminal of 24 rows.
        return Group(Text.from_ansi(render_ansi(scene_of(episode))), _last_action(episode), keys)
    size = environment.num_observations
    lines = Text.assemble(
        "you are on  ",
        (f" {symbol(int(timestep.observation), size)} ", "bold white on blue"),
        "     goal  ",
        (f" {symbol(int(timestep.goal), size)} ", "bold white on red"),
        "\n\n",
        f"step {episode.steps}/{environment.episode.episode_steps}     goals {episode.goals}",
        "\n",
        _last_action(episode),
    )
    # A fixed width, so that the panel does not jump with the length of its last line.
    return Group(Panel(lines, title="rapidtask", width=48, padding=(1, 3)), keys)


def _last_action(episode: Episode) -> Text:
    timestep = episode.timestep
    assert timestep is not None
    if timestep.first:
        return Text("a new world: find the goal")
    name = episode.environment.rules.actions[int(timestep.action)]
    if timestep.completed:
        return Text(f"{name}: goal completed!", style="bold green")
    if int(timestep.action) == episode.environment.rules.collect:
        return Text(f"{name}: the goal is not here")
    return Text(name)


def _help(rules: Rules) -> str:
    natural = [name for name in rules.actions if name in KEYS_OF_ACTION]
    if len(natural) < rules.num_actions:
        keys = ", ".join(f"{i + 1} {name}" for i, name in enumerate(rules.actions))
    else:
        keys = "arrow keys or wasd to move" + (", space or c to collect" if "collect" in natural else "")
    return f"{keys}, q to quit"


@contextlib.contextmanager
def _display(console: Console) -> Iterator[Callable[[RenderableType], None]]:
    """Where frames are shown: over each other on a screen of their own, or one below the other in a pipe."""
    if not console.is_terminal:
        yield console.print
        return
    with console.screen() as screen:
        yield lambda frame: screen.update(Align.center(frame, vertical="middle"))
