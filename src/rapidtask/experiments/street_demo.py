"""The street part of `rapidtask demo`: scores, an episode on the map, and steps per task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rapidtask.experiments import steps_to_goal, streetlearn
from rapidtask.experiments.material import Material, gather
from rapidtask.experiments.page import Section
from rapidtask.experiments.results import Retitled, make_result
from rapidtask.experiments.street_animation import street_animation, street_episode
from rapidtask.viewer.street_views import as_addresses
from rapidtask.views.sources import RenderedFrames
from rapidtask.worlds.frame_store import half_edges_of
from rapidtask.worlds.streets import StreetPlaces

INTRODUCTION = (
    "In One-Shot StreetLearn the world is a neighbourhood of a city: a few streets around 5 intersections, "
    "walked by going forward and turning left and right. The agent sees a symbol (or the view) of where it "
    "stands and faces, and that of the place and direction it must reach; on arriving it is put somewhere "
    "else and given another goal, for 200 steps. The agents were trained in other cities."
)
REFERENCES = ("within-task", "edges-inverse", "oracle")
EPISODES = 100
POOL_SIZE = 256
"""Neighbourhoods of the demo: few, to be sampled quickly."""


def street_section(
    *, episodes: int, seed: int, say: Callable[[str], None], folder: Path | None = None
) -> Section | None:
    """What the report says about streets; None if no EPN of streets comes with the package."""
    world = dataclasses.replace(streetlearn.WORLD, pool_size=POOL_SIZE)
    material = gather(
        [],
        folder=folder,
        world=world,
        episodes=min(episodes, EPISODES),
        seed=seed,
        say=say,
        score_greedy=False,
    )
    if "EPN" not in material.contenders:
        return None
    shown = material.main_contenders
    material.contenders = {label: material.contenders[label] for label in shown}
    player = episode_player(material)
    return Section(
        title="… and in streets never walked",
        introduction=INTRODUCTION,
        scores=[material.scores(label) for label in (*shown, *REFERENCES)],
        animation=player,
        animation_caption=(
            f"Episode 0 of seed {seed}, not chosen, in {world.sample().places.cities[0].name}, which was "
            "never trained on. Blue: the agent and the way it faces; orange: the goal. The views are what is "
            "to be seen there; this agent is given a symbol in place of each. Junctions are moved apart."
        ),
        results=[make_result(FIGURE, material, "rapidtask demo")],
    )


FIGURE: Any = Retitled(
    steps_to_goal.NAME,
    "Streets: steps to the n-th goal (paper, Figure 3e)",
    steps_to_goal.CAPTION,
    steps_to_goal.table,
    steps_to_goal.plot,
)


def episode_player(material: Material) -> str:
    """The EPN's first episode as HTML."""
    # All episodes of the evaluation, which is then done: one program to compile instead of two.
    trace = material.trace("EPN", material.episodes)
    pool = material.world.sample()
    material.say("views of the streets")
    return street_animation(
        street_episode(trace, 0, pool, render_views(pool.places, int(trace.world[0]))), "EPN"
    )


def render_views(places: StreetPlaces, world: int) -> list[str]:
    """The view of each state of a world, as addresses for a page."""
    count = places.num_states[world]
    city = places.cities[places.city[world]]
    half_edges = half_edges_of(city, places.tail[world, :count], places.first[world, :count])
    return as_addresses(RenderedFrames(city).make(half_edges))
