"""`rapidtask demo`: the shipped agents beside the reference policies, as a table and one web page."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from rapidtask.errors import InputError
from rapidtask.evaluation import Scores
from rapidtask.evaluation.report import scores_table
from rapidtask.experiments import oracle_share, steps_to_goal, trajectory
from rapidtask.experiments.animation import animation, episode_data
from rapidtask.experiments.material import MAIN_LABELS, Material, gather
from rapidtask.experiments.page import Report, report_page
from rapidtask.experiments.results import make_result
from rapidtask.experiments.street_demo import street_section
from rapidtask.learning.checkpoint import write_atomically
from rapidtask.policies import POLICIES
from rapidtask.provenance import describe_commit, describe_machine, today

FIGURES: tuple[Any, ...] = (oracle_share, steps_to_goal, trajectory)
REPORT = "report.html"
INTRODUCTION = (
    "In the Memory&Planning Game an agent walks a 4×4 torus whose cells carry new symbols in every "
    "episode. It sees the symbol it stands on and the symbol it must collect next, and has 100 steps for as "
    "many goals as it can reach. Nothing is learned between episodes: to do well it must explore, remember "
    "and plan within one."
)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Show the Memory&Planning Game and streets: trained agents and reference policies, on a web page."""

    out: Path = Path("demo")
    """Folder for the report."""
    episodes: int = 500
    """Episodes per agent and policy."""
    seed: int = 0
    """Seed of the worlds."""

    def run(self) -> None:
        """Evaluate, print the table, write the report."""
        if self.episodes < 1:
            raise InputError(f"--episodes is {self.episodes}, expected at least 1")
        began = time.perf_counter()
        console = Console(stderr=True)
        with console.status("reading agents") as status:
            material = gather(
                [], episodes=self.episodes, seed=self.seed, say=status.update, score_greedy=False
            )
            shown = material.main_contenders
            # Variants have figures of their own in `rapidtask experiment`.
            material.contenders = {label: material.contenders[label] for label in shown}
            all_scores = [material.scores(label) for label in (*shown, *POLICIES)]
            notes = missing_notes(shown)
            streets = street_section(episodes=self.episodes, seed=self.seed, say=status.update)
            report = self.report(material, all_scores, notes)
            page = report_page(replace(report, more=[streets] if streets is not None else []))
        sys.stderr.flush()
        path = self.out / REPORT
        write_atomically(path, page.encode())
        output = Console()
        title = f"memory-planning, worlds never seen, {self.episodes} episodes, seed {self.seed}"
        output.print(scores_table(all_scores, title))
        if streets is not None:
            title = f"streetlearn, a city never seen, {streets.scores[0].episodes} episodes, seed {self.seed}"
            output.print(scores_table(streets.scores, title))
        for note in notes:
            output.print(f"Note: {note}", soft_wrap=True, highlight=False)
        output.print(f"{time.perf_counter() - began:.0f} s. Report: {path}", soft_wrap=True, highlight=False)

    def report(self, material: Material, all_scores: list[Scores], notes: list[str]) -> Report:
        """The report's content."""
        results = [make_result(figure, material, "rapidtask demo") for figure in FIGURES]
        players = choose_players(material, all_scores)
        episodes = {
            name: episode_data(material.trace(name, 1), 0, material.world.size**2) for name in players
        }
        return Report(
            title="Rapid task-solving in worlds never seen",
            introduction=INTRODUCTION,
            notes=notes,
            scores=all_scores,
            references=POLICIES,
            animation=animation(episodes, material.world.size),
            animation_caption=(
                f"Episode 0 of seed {self.seed}, not chosen: {' and '.join(players)} in the same world. "
                "Orange: the goal; blue cells have been seen; bars below: goals reached over time."
            ),
            results=results,
            footer=(
                f"rapidtask demo --episodes {self.episodes} --seed {self.seed}; commit {describe_commit()}, "
                f"{today()}, {describe_machine()}."
            ),
        )


def missing_notes(shown: list[str]) -> list[str]:
    """What the demo cannot show, said plainly."""
    missing = [label for label in MAIN_LABELS if label not in shown]
    if not missing:
        return []
    return [
        f"this version ships no trained {', '.join(missing)}. Train your own: rapidtask train "
        f"--world memory-planning --agent {missing[0].lower()} --out runs/{missing[0].lower()}"
    ]


def choose_players(material: Material, all_scores: list[Scores]) -> list[str]:
    """Who plays the episode: the EPN and its best rival, or the reference policies in their place."""
    rivals = [s for s in all_scores if s.policy in material.contenders and s.policy != "EPN"]
    best = max(rivals, key=lambda scores: scores.goals_per_episode, default=None)
    return [
        "EPN" if "EPN" in material.contenders else "hand-coded",
        best.policy if best is not None else "within-task",
    ]
