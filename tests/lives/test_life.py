"""Lives: tasks follow one another in one world; observations become ids; what cannot be served is named."""

import gymnasium as gym
import numpy as np
import pytest

import rapidtask  # noqa: F401  (registers its environments)
from rapidtask.errors import InputError
from rapidtask.lives.keys import key_of
from rapidtask.lives.life import Life, LifeOptions, describe
from ring_env import SIZE

RING = LifeOptions("ring_env:make", "ring_env:goal", SIZE)


def test_observations_are_equal_by_value_whatever_their_kind():
    assert key_of(3) == key_of(np.int8(3)) == key_of(np.array(3, np.uint16))
    assert key_of({"a": 1, "b": "x"}) == key_of({"b": "x", "a": np.int32(1)})
    assert key_of({"a": 1, "b": 2}) != key_of({"a": 2, "b": 1})
    assert key_of((1, 2)) != key_of((2, 1))


def test_tasks_follow_one_another_in_the_same_world():
    life = Life(RING)
    first = life.start(7)
    goal, rooms = life.env.unwrapped.goal, []  # pyright: ignore
    for lap in range(3):
        for step in range(1, goal + 1):
            shown = life.step(1)
            assert shown["completed"] == (step == goal)
            assert shown["reward"] == float(step == goal)
            rooms.append(int(shown["observation"]))
            assert shown["goal"] == first["goal"]
        # The next task begins in the same step: what is seen is its start, not the goal.
        assert rooms[-1] == first["observation"], lap
    assert len(set(rooms)) == goal


def test_tasks_pay_one_and_other_steps_what_was_asked_for():
    life = Life(LifeOptions("ring_env:make_with_goals", None, SIZE, step_reward=-0.25))
    assert life.start(2)["reward"] == 0.0
    shown = [life.step(1) for _ in range(SIZE - 1)]
    assert {float(s["reward"]) for s in shown} == {-0.25, 1.0}
    assert all((s["reward"] == 1.0) == s["completed"] for s in shown)


def test_an_id_is_known_again_within_a_life_and_new_in_the_next():
    life = Life(RING)
    there = [life.start(3), life.step(1), life.step(0)]
    assert there[0]["observation"] == there[2]["observation"] != there[1]["observation"]
    starts = {int(life.start(seed)["observation"]) for seed in range(40)}
    assert starts == set(range(SIZE))
    again = life.start(3)
    assert again == there[0]


def test_goals_of_observations_are_known_by_the_places_they_are():
    life = Life(LifeOptions("ring_env:make_with_goals", None, SIZE, step_reward=None))
    life.start(11)
    goal = life.env.unwrapped.goal  # pyright: ignore
    if goal == SIZE - 1:
        pytest.skip("this goal is not passed on the way")
    wanted = life.step(2)["goal"]
    shown = [life.step(1) for _ in range(goal)]
    # Rewards are 0 at the goal and -1 elsewhere: what completes a task is that the goal is achieved.
    assert [bool(s["completed"]) for s in shown] == [False] * (goal - 1) + [True]
    assert [float(s["reward"]) for s in shown] == [-1.0] * (goal - 1) + [0.0]
    life.env.unwrapped.goal = 4 if goal == 3 else goal + 1  # pyright: ignore
    assert [life.step(1)["observation"] for _ in range(goal)][-1] == wanted


def test_the_game_lived_is_the_game_played():
    life = Life(LifeOptions("rapidtask/MemoryPlanning-v0", None, 16))
    env = gym.make("rapidtask/MemoryPlanning-v0")
    (shown, _), lived = env.reset(seed=5), life.start(5)
    symbols: dict[int, int] = {}
    actions = np.random.default_rng(0).integers(5, size=60)
    for action in actions:
        for name, seen in (("position", "observation"), ("goal", "goal")):
            symbol = int(shown[name].argmax())
            assert symbols.setdefault(symbol, int(lived[seen])) == lived[seen]
        shown, reward, *_, info = env.step(action)
        lived = life.step(action)
        assert (lived["reward"], lived["completed"]) == (reward, info["completed"])
    assert len(set(symbols.values())) == len(symbols) > 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            LifeOptions("ring_env:make_continuous", "ring_env:goal", 5),
            ["ring_env:make_continuous", "Discrete"],
        ),
        (LifeOptions("ring_env:make_floating", "ring_env:goal", 5), ["round them"]),
        (LifeOptions("ring_env:make", None, 5), ["--world.goal MODULE:FUNCTION", "desired_goal"]),
        (
            LifeOptions("ring_env:nothing", "ring_env:goal", 5),
            ["--world.id ring_env:nothing", "AttributeError"],
        ),
        (LifeOptions("ring_env:make", "ring_env", 5), ["--world.goal ring_env", "MODULE:FUNCTION"]),
        (LifeOptions("ring_env:goal", "ring_env:goal", 5), ["ring_env:goal"]),
    ],
)
def test_what_cannot_be_served_is_named(options, words):
    with pytest.raises(InputError) as refused:
        describe(options)
    assert all(word in str(refused.value) for word in words), refused.value


def test_more_observations_than_asked_for_are_an_error_that_names_the_flag():
    life = Life(LifeOptions("ring_env:make", "ring_env:goal", 2))

    def walk() -> None:
        for seed in range(9):
            life.start(seed)
            for _ in range(SIZE):
                life.step(0)

    with pytest.raises(InputError, match="num-observations is 2"):
        walk()
