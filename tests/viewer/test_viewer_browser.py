"""The page in a real browser: `make test-browser`. Without one, skipped."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from rapidtask.envs.registry import MemoryPlanning
from rapidtask.envs.street_options import StreetLearn
from rapidtask.viewer import make_page
from viewer_samples import PAPER, RESIDUAL, walked

pytestmark = pytest.mark.browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
STEPS = 200


def find_browser() -> str | None:
    """A Chromium: RAPIDTASK_BROWSER, or one on the path."""
    return os.environ.get("RAPIDTASK_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: pip install '.[browser]'"
    )
    path = find_browser()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the path; RAPIDTASK_BROWSER can name one")
    with playwright.sync_playwright() as driver:
        # Root (as in containers) has no sandbox; the pages are our own.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Pages of a grid and of streets, with agents of different kinds."""
    folder = tmp_path_factory.mktemp("pages")
    worlds = {
        "grid": (MemoryPlanning(size=3, episode_steps=STEPS), RESIDUAL),
        "streets": (StreetLearn(pool_size=4, num_symbols=40, episode_steps=STEPS), PAPER),
    }
    for name, (world, config) in worlds.items():
        environment, recordings = walked(world, config)
        (folder / f"{name}.html").write_text(make_page(environment, recordings, title=name), "utf-8")
    return {path.stem: path for path in folder.glob("*.html")}


@pytest.fixture(params=["grid", "streets"])
def kind(request):
    return request.param


@pytest.fixture
def page(chromium, pages, kind):
    yield from opened(chromium, pages[kind])


@pytest.fixture
def grid(chromium, pages):
    yield from opened(chromium, pages["grid"])


@pytest.fixture
def phone(chromium, pages, kind):
    yield from opened(chromium, pages[kind], viewport={"width": 390, "height": 844})


def opened(chromium, path, **options):
    """The page, without network; afterwards, its console must have stayed empty."""
    context = chromium.new_context(offline=True, **options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url == path.as_uri() or request.url.startswith("data:")
            else complaints.append(request.url)
        ),
    )
    page.goto(path.as_uri())
    yield page
    context.close()
    assert complaints == []


def place(page, view="watch") -> int:
    return int(page.locator(f"#view-{view} .map").first.get_attribute("data-place"))


def opacities(page) -> list[float]:
    return page.eval_on_selector_all(
        "#view-watch .map .value", "marks => marks.map(mark => Number(mark.style.opacity))"
    )


def test_every_view_opens_without_complaints(page):
    for tab in ("compare", "play", "watch"):
        page.click(f'[data-tab="{tab}"]')
        assert page.is_visible(f"#view-{tab} .map")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") in ("dark", "light")


def test_steps_move_the_agent(page):
    run = page.evaluate("rapidtask.runs[0].data")
    for t in range(6):
        assert place(page) == run["place"][t]
        assert page.inner_text("#clock") == f"step {t} / {STEPS}"
        page.keyboard.press("ArrowRight")
    assert len(set(run["place"][:7])) > 1
    page.click('[data-do="back"]')
    assert place(page) == run["place"][5]
    page.keyboard.press("End")
    assert place(page) == run["place"][STEPS]
    assert page.inner_text("#fact-goals b") == str(sum(run["completed"]))


def test_play_goes_on_by_itself_and_pauses(grid):
    grid.evaluate("rapidtask.player.setSpeed(6)")
    grid.keyboard.press(" ")
    grid.wait_for_function("rapidtask.player.t > 5")
    grid.keyboard.press(" ")
    t = grid.evaluate("rapidtask.player.t")
    grid.wait_for_timeout(200)
    assert grid.evaluate("rapidtask.player.t") == t < STEPS


def test_the_timeline_seeks(grid):
    box = grid.locator("#timeline").bounding_box()
    grid.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert abs(grid.evaluate("rapidtask.player.t") - STEPS / 2) <= 1


def test_the_value_map_changes_with_the_iteration(page):
    page.evaluate("rapidtask.player.seek(60)")
    slider = page.locator("#iteration")
    last = int(slider.get_attribute("max"))
    maps = []
    for iteration in range(last + 1):
        slider.fill(str(iteration))
        maps.append(opacities(page))
        expected = page.evaluate(f"rapidtask.runs[0].valuesAt(60, {iteration}).map(v => v && v.value)")
        shown = [0 if value is None else 0.04 + 0.88 * value**1.3 for value in expected]
        np.testing.assert_allclose(maps[-1], shown, atol=1e-4)
    assert all(maps[i] != maps[i + 1] for i in range(last))
    page.click('[data-layer="values"]')
    assert set(opacities(page)) == {0}


def test_memory_fills(page):
    counts = []
    for t in (0, 20, 100):
        page.evaluate(f"rapidtask.player.seek({t})")
        counts.append(int(page.inner_text("#watch-memory b")))
    assert counts[0] == 0
    assert counts[0] < counts[1] <= counts[2]
    assert page.locator("#view-watch .known .edge").count() > 0


def test_the_page_s_agent_is_python_s(page):
    """The same probabilities and so the same likeliest actions at 200 recorded steps."""
    ours = np.array(page.evaluate("rapidtask.replay(rapidtask.runs[0])"))
    python = np.array(page.evaluate("rapidtask.runs[0].probability"))
    assert ours.shape == python.shape == (STEPS, len(page.evaluate("rapidtask.world.actions")))
    np.testing.assert_allclose(ours, python, atol=1e-4)
    np.testing.assert_array_equal(ours.argmax(1), python.argmax(1))
    # Not because all probabilities are alike: they differ, and change with what is remembered.
    assert python.std(axis=0).max() > 0.05
    assert len(np.unique(python.argmax(1))) > 1


KEYS = {
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "forward": "ArrowUp",
    "collect": " ",
}

BEST_ACTION = """() => {
  const { world, person } = rapidtask.player.views.play.game, towards = world.distancesTo(person.goal);
  if (world.collect !== null && person.place === person.goal) return world.actions[world.collect];
  const after = world.moves.map(a => towards[world.next[person.place][a]]);
  return world.actions[world.moves[after.indexOf(Math.min(...after))]];
}"""


def test_a_person_wins_by_pressing_keys(page):
    page.click('[data-tab="play"]')
    assert "your-goals" in page.inner_html("#play-score")
    for step in range(STEPS):
        assert page.inner_text("#steps-left") == f"{STEPS - step} steps left"
        page.keyboard.press(KEYS[page.evaluate(BEST_ACTION)])
    ours, theirs = int(page.inner_text("#your-goals")), int(page.inner_text("#agent-goals"))
    assert ours > theirs
    assert ours > STEPS / 8
    assert page.inner_text("#result") == f"You win {ours} : {theirs}"
    page.keyboard.press("ArrowUp")
    assert page.inner_text("#your-goals") == str(ours)
    page.click("#again")
    assert page.inner_text("#your-goals") == "0"


def test_a_new_world_has_other_symbols(grid):
    grid.click('[data-tab="play"]')
    labels = "rapidtask.player.views.play.world.labels"
    before = grid.evaluate(labels)
    for _ in range(3):
        grid.click("#new-world")
        after = grid.evaluate(labels)
        assert sorted(after) == sorted(before)
        if after != before:
            break
    assert after != before
    grid.select_option("#opponent", index=1)
    for _ in range(30):
        grid.keyboard.press("ArrowUp")
    assert int(grid.inner_text("#agent-goals")) > 5  # the oracle


def test_unvisited_symbols_are_hidden_in_the_game(grid):
    grid.click('[data-tab="play"]')
    symbols = ".board.yours .symbol"
    shown = lambda: [text for text in grid.locator(symbols).all_text_contents() if text]  # noqa: E731
    assert len(shown()) == 1
    grid.keyboard.press("ArrowUp")
    assert len(shown()) == 2
    grid.check("#reveal")
    assert len(shown()) == 9


def test_a_phone_shows_it_all(phone):
    for tab in ("watch", "compare", "play"):
        phone.click(f'[data-tab="{tab}"]')
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.locator(".pad button").first.click()
    assert phone.inner_text("#steps-left") == f"{STEPS - 1} steps left"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system(chromium, pages, scheme):
    for page in opened(chromium, pages["grid"], color_scheme=scheme):
        red, green, blue = json.loads(
            page.evaluate(
                "JSON.stringify(getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number))"
            )
        )[:3]
        assert (red + green + blue > 384) == (scheme == "light")
