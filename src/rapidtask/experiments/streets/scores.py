"""Rows of street tables: one per trained agent or reference policy, seed by seed."""

from __future__ import annotations

from typing import Any

from rapidtask.envs.street_options import StreetLearn
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import NO_EPN, Evaluations, TrainedAgent, columns
from rapidtask.experiments.figure import GOALS, SHARE, NotAvailable, Table
from rapidtask.experiments.logged_runs import PIXELS

EPISODES = 500
"""Most episodes of one evaluation in figures with many."""


def score_row(
    source: Evaluations, name: str, world: StreetLearn, episodes: int = EPISODES, **options
) -> dict[str, Any]:
    """Scores of a trained agent, by its label or its name of `Evaluations.load`, or of a reference policy."""
    trained = source.find(name)
    changes = {"new_symbols": True, **options} if trained is not None else {}
    scores = source.scores(name, world, episodes, **changes)
    return {
        "agent": name if trained is None else trained.label,
        "observations": "" if trained is None else trained.observations,
        "source": "reference" if trained is None else trained.source,
        "city": world.sample().places.cities[0].name,
        "intersections": world.neighbourhoods.intersections,
        "episode_steps": world.episode_steps,
        **columns(scores, f"{GOALS}±", "goals_last_third", f"{SHARE}±", "episodes"),
    }


def reference_rows(
    source: Evaluations, names: tuple[str, ...], world: StreetLearn, episodes: int = EPISODES
) -> Table:
    """Scores of reference policies, with the column that tells lines apart."""
    return [{"line": name, **score_row(source, name, world, episodes)} for name in names]


def main_symbol_agents(source: Evaluations) -> list[str]:
    """Labels of the agents that the paper compares, as far as they see symbols."""
    return [label for label in source.main_agents if source.agents[label].observations == "symbols"]


def epns(source: Evaluations, observations: str = "symbols") -> list[TrainedAgent]:
    """EPNs of recipe `fast` trained on the paper's 5 intersections, with any thinking time."""
    found = [
        trained
        for trained in source.agents.values()
        if trained.kind == "epn"
        and trained.config.recipe == "fast"
        and trained.observations == observations
        and trained.config.agent.recent_rows is None
        and " intersections" not in trained.label
    ]
    if not found:
        raise NotAvailable(NO_EPN)
    return sorted(found, key=lambda trained: (trained.config.agent.iterations, trained.label))


def epn_name(trained: TrainedAgent) -> str:
    """An EPN's name in figures about thinking time: its label, with the number of iterations in any case."""
    kind, pixels, _ = trained.label.partition(PIXELS)
    return f"EPN, {style.plural(trained.config.agent.iterations)}{pixels}" if kind == "EPN" else trained.label
