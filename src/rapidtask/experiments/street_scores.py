"""Rows of street tables: one per trained agent or reference policy, seed by seed, and their summary."""

from __future__ import annotations

import numpy as np

from rapidtask.envs.street_options import StreetLearn
from rapidtask.errors import InputError
from rapidtask.experiments.material import Contender, Material, NotAvailable, Rows
from rapidtask.experiments.runs import PIXELS

EPISODES = 500
"""Most episodes of one evaluation in figures with many."""


def score_row(
    material: Material, name: str, world: StreetLearn, episodes: int = EPISODES, **options
) -> dict[str, object]:
    """Scores of a trained agent, by its label or its name of `Material.seeds`, or of a reference policy."""
    contender = material.find(name)
    changes = {"new_symbols": True, **options} if contender is not None else {}
    scores = material.scores(name, world, min(episodes, material.episodes), **changes)
    return {
        "agent": name if contender is None else contender.label,
        "observations": "" if contender is None else contender.observations,
        "source": "reference" if contender is None else contender.source,
        "city": world.sample().places.cities[0].name,
        "intersections": world.neighbourhoods.intersections,
        "episode_steps": world.episode_steps,
        "goals_per_episode": scores.goals_per_episode,
        "goals_per_episode_stderr": scores.goals_per_episode_stderr,
        "goals_last_third": scores.goals_last_third,
        "oracle_share_last_third": scores.oracle_share_last_third,
        "oracle_share_last_third_stderr": scores.oracle_share_last_third_stderr,
        "episodes": scores.episodes,
    }


def seed_rows(material: Material, label: str, world: StreetLearn, **options) -> Rows:
    """Scores of all seeds of a kind of agent."""
    rows = [score_row(material, name, world, **options) for name in material.seeds(label)]
    contender = material.find(label)
    line = label if contender is None else planner_name(contender)
    return [{"line": line, **row} for row in rows]


def fits(material: Material, label: str, world: StreetLearn) -> bool:
    """Whether an agent's weights can act in a world of so many symbols."""
    try:
        material.policy(label, material.world_of(label, world), new_symbols=True)
    except InputError as error:
        material.say(f"{label}: left out at {world.neighbourhoods.intersections} intersections: {error}")
        return False
    return True


def epns(material: Material, observations: str = "symbols") -> list[Contender]:
    """EPNs of recipe `fast` trained on the paper's 5 intersections, with any thinking time."""
    found = [
        contender
        for contender in material.contenders.values()
        if contender.kind == "epn"
        and contender.config.recipe == "fast"
        and contender.observations == observations
        and getattr(contender.config.agent, "attention", "") != "nxk"
        and " intersections" not in contender.label
    ]
    if not found:
        raise NotAvailable("no trained EPN: none is shipped, and none of the runs trained one")
    return sorted(found, key=lambda contender: (thinking(contender), contender.label))


def planner_name(contender: Contender) -> str:
    """An EPN's name in figures about thinking time: its label, with the number of iterations in any case."""
    kind, pixels, _ = contender.label.partition(PIXELS)
    return count_iterations(thinking(contender)) + pixels if kind == "EPN" else contender.label


def count_iterations(iterations: int) -> str:
    """Name of an EPN with so many planner iterations."""
    return f"EPN, {iterations} iteration{'s' if iterations != 1 else ''}"


def thinking(contender: Contender) -> int:
    """Planner iterations in training."""
    return contender.config.agent.iterations


def summary(rows: Rows, column: str, factor: float = 1.0) -> tuple[float, float]:
    """Mean over seeds and its standard error; of one seed, the standard error over its episodes."""
    values = np.asarray([row[column] for row in rows]) * factor
    if len(values) == 1:
        return float(values[0]), float(rows[0].get(f"{column}_stderr") or 0.0) * factor
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def seeds_note(rows: Rows) -> str:
    """How many seeds stand behind rows, for a legend."""
    count = len({row["source"] for row in rows})
    return f" ({count} seeds)" if count > 1 else ""
