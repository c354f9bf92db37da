import dataclasses

import numpy as np
import pytest

from rapidtask.draw import Scene, render_ansi, render_rgb, symbol
from rapidtask.draw.canvas import AGENT, GOAL, TRAIL
from rapidtask.envs.environment import Environment
from rapidtask.envs.episode import RunningEpisodes
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.worlds import WorldError, make_pool, make_torus, make_world

UP, DOWN, LEFT, RIGHT, COLLECT = range(5)

# What the picture promises: 480×576 pixels, the 4×4 board between (24, 80) and (456, 512).
LEFT_EDGE, TOP_EDGE, CELL = 24, 80, 108


def scene(state=5, goal=10, trail=None, size=4, **changes) -> Scene:
    """Cell (x, y) is state y * size + x and carries the symbol of that number: A is (0, 0), B is (1, 0)."""
    cells = size * size
    plain = Scene(
        rules=make_torus(size).rules,
        num_observations=cells,
        labels=tuple(range(cells)),
        state=state,
        goal=goal,
        trail=(state,) if trail is None else trail,
        steps=3,
        episode_steps=100,
        goals=2,
    )
    return dataclasses.replace(plain, **changes)


def board(picture):
    """The part of the picture that is the board."""
    return picture[TOP_EDGE : TOP_EDGE + 4 * CELL, LEFT_EDGE : LEFT_EDGE + 4 * CELL]


def cell_of(picture, color):
    """(column, row from the top) of the cell in which a colour's pixels have their centre."""
    rows, columns = np.nonzero((board(picture) == color).all(-1))
    assert len(rows) > 100
    return columns.mean() // CELL, rows.mean() // CELL


def test_picture_shows_agent_and_goal_in_their_cells_with_up_at_the_top():
    picture = render_rgb(scene(state=5, goal=14))
    assert picture.dtype == np.uint8
    assert picture.shape == (576, 480, 3)
    assert cell_of(picture, AGENT) == (1, 2)  # (x, y) = (1, 1), second row from the bottom
    assert cell_of(picture, GOAL) == (2, 0)  # (x, y) = (2, 3), the top row


def test_picture_shows_an_agent_on_its_goal():
    picture = render_rgb(scene(state=15, goal=15))
    assert cell_of(picture, AGENT) == cell_of(picture, GOAL) == (3, 0)


def test_each_cell_of_the_picture_carries_its_symbol():
    first, second = (board(render_rgb(scene(labels=labels))) for labels in (range(16), [*range(15), 3]))
    changed = (first != second).any(-1)
    rows, columns = np.nonzero(changed)
    assert len(rows) > 1000
    assert set(zip(columns // CELL, rows // CELL, strict=True)) == {(3, 0)}


def test_trail_joins_neighbours_and_leaves_across_edges():
    near = render_rgb(scene(state=6, trail=(5, 6), goal=15))
    between = (near[TOP_EDGE + 2 * CELL + CELL // 2, LEFT_EDGE + 2 * CELL] == TRAIL).all()
    assert between
    wrapped = render_rgb(scene(state=4, trail=(7, 4), goal=15))  # right from the last column of the row y = 1
    row = wrapped[TOP_EDGE + 2 * CELL + CELL // 2]
    assert (row[LEFT_EDGE + 4 * CELL - 2] == TRAIL).all()
    assert (row[LEFT_EDGE + 2] == TRAIL).all()
    assert not (row[LEFT_EDGE + CELL : LEFT_EDGE + 3 * CELL] == TRAIL).all(-1).any()


@pytest.mark.parametrize("size", [2, 3, 5, 8, 12])
def test_every_size_can_be_drawn(size):
    drawn = scene(state=0, goal=size * size - 1, size=size)
    picture = render_rgb(drawn, width=320)
    assert min(picture.shape[:2]) >= 300
    assert len({drawn.symbol(state) for state in range(size * size)}) == size * size
    assert render_ansi(drawn).count("\n") == 2 * size + 2


def rows_of(text):
    """The cells of the text, from the top, blanks removed."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]


def test_text_shows_the_grid_with_up_at_the_top():
    text = render_ansi(scene(state=5, goal=14, trail=(1, 5)), color=False)
    assert rows_of(text) == [
        ["M", "N", "*O*", "P"],
        ["I", "J", "K", "L"],
        ["E", "[F]", "G", "H"],
        ["A", "·B·", "C", "D"],
    ]
    assert text.splitlines()[0] == "step 3/100   goals 2   you are on F   goal O"


def test_text_marks_the_agent_on_its_goal():
    assert rows_of(render_ansi(scene(state=0, goal=0), color=False))[-1][0] == "[*A*]"


def test_colour_changes_nothing_but_colour():
    import re

    for drawn in (scene(), scene(state=0, goal=0), scene(trail=(1, 5))):
        colored = render_ansi(drawn, color=True)
        assert "\x1b[" in colored
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_ansi(drawn, color=False)


def test_scenes_follow_an_episode():
    """Up moves up and wraps; the trail is the current task's."""
    episode = RunningEpisodes(MemoryPlanning(episode_steps=60).make())
    episode.start([0])
    places = []
    for _ in range(5):
        drawn = rows_of(render_ansi(episode.scene(), color=False))
        places.append(next((x, row) for row in range(4) for x in range(4) if "[" in drawn[row][x]))
        episode.step([UP])
    column, row = places[0]
    assert places == [(column, (row - i) % 4) for i in range(5)]

    episode.start([0])
    while episode.goals[0] == 0:  # sweep the grid: three steps right, one up
        scene_before = episode.scene()
        if scene_before.state == scene_before.goal:
            episode.step([COLLECT])
        else:
            episode.step([UP if scene_before.steps % 4 == 3 else RIGHT])
    assert len(scene_before.trail) > 1
    scene_after = episode.scene()
    assert scene_after.goals == 1
    assert scene_after.trail == (scene_after.state,)
    episode.step([COLLECT])  # not at the goal: nothing moves
    assert episode.scene().trail == (scene_after.state,)


def test_symbols_are_different_and_equally_wide():
    for size in (16, 26, 64, 65, 700):
        symbols = [symbol(i, size) for i in range(size)]
        assert len(set(symbols)) == size
        assert len({len(s) for s in symbols}) == 1
    assert [symbol(i, 16) for i in (0, 15)] == ["A", "P"]


def test_worlds_without_a_grid_are_refused():
    pool = make_pool(make_world([[1], [0]]), shuffle_observations=False)
    episode = RunningEpisodes(Environment(pool))
    episode.start([0])
    for render in (render_ansi, render_rgb):
        with pytest.raises(WorldError, match="torus_size"):
            render(episode.scene())
