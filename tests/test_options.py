from dataclasses import dataclass
from typing import Literal

import pytest

from rapidtask.agents.epn import EPNConfig
from rapidtask.envs import MemoryPlanning, StreetLearn
from rapidtask.errors import InputError
from rapidtask.learning.config import LearningConfig
from rapidtask.options import Count, Finite, Positive, Share, check_options


@dataclass(frozen=True)
class Options:
    count: Count = 1
    share: Share = 0.5
    clip: Positive | None = None
    reward: Finite = 0.0
    kind: Literal["a", "b"] = "a"
    name: str = ""
    on: bool = False
    other: object = None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"count": 0}, "count is 0, expected at least 1"),
        ({"count": 1.5}, "count is 1.5, expected a whole number"),
        ({"count": True}, "count is True, expected a whole number"),
        ({"share": 1.5}, "share is 1.5, expected 0 to 1"),
        ({"share": float("nan")}, "share is nan, expected 0 to 1"),
        ({"share": "much"}, "share is 'much', expected a number"),
        ({"clip": 0.0}, "clip is 0.0, expected more than 0 or None"),
        ({"reward": float("inf")}, "reward is inf, expected a finite number"),
        ({"kind": "evil"}, "kind is 'evil', expected one of: a, b"),
        ({"name": 3}, "name is 3, expected text"),
        ({"on": 1}, "on is 1, expected True or False"),
    ],
)
def test_what_an_annotation_does_not_allow_is_refused_by_name(options, expected):
    with pytest.raises(InputError) as error:
        check_options(Options(**options))
    assert str(error.value) == expected


def test_what_annotations_allow_passes():
    check_options(
        Options(count=7, share=1, clip=0.2, reward=-1.0, kind="b", name="x", on=True, other=object())
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: EPNConfig(width=0),
        lambda: EPNConfig(num_heads=3),
        lambda: EPNConfig(block="evil"),  # pyright: ignore[reportArgumentType]
        lambda: LearningConfig(learning_rate=-1.0),
        lambda: LearningConfig(learning_rate=float("nan")),
        lambda: LearningConfig(discount=1.5),
        lambda: MemoryPlanning(size=500),
        lambda: MemoryPlanning(size=2_000_000),
        lambda: MemoryPlanning(size=-3),
        lambda: MemoryPlanning(per_step_reward=float("nan")),
        lambda: MemoryPlanning(episode_steps=0),
        lambda: StreetLearn(rules="mine"),  # pyright: ignore[reportArgumentType]
        lambda: StreetLearn(num_intersections=-1),
        lambda: StreetLearn(num_intersections=500),
        lambda: StreetLearn(num_symbols=2_000_000),
        lambda: StreetLearn(pool_size=-4),
        lambda: StreetLearn(seed=-1),
    ],
)
def test_agents_learning_and_worlds_refuse_nonsense(make):
    with pytest.raises(InputError):
        make()
