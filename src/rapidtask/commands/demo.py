"""`rapidtask demo`: the shipped agents beside the reference policies, as tables and a web page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from rapidtask.commands.watch import episode_page
from rapidtask.evaluation.report import scores_table
from rapidtask.experiments import streets
from rapidtask.experiments.comparison import OracleShare, StepsToGoal
from rapidtask.experiments.evaluations import Evaluations, gather
from rapidtask.experiments.figure import Figure
from rapidtask.experiments.grid import WORLD, Trajectory
from rapidtask.experiments.report import Section, report_page
from rapidtask.experiments.results import make_result
from rapidtask.files import write_atomically
from rapidtask.options import Count, Seed, check_options
from rapidtask.policies import POLICIES
from rapidtask.runs.provenance import describe_commit, describe_machine, today


@dataclass(frozen=True, kw_only=True)
class Domain:
    """What the demo shows of one domain."""

    name: str
    where: str
    """Where agents are evaluated, in a few words."""
    title: str
    introduction: str
    world: Any
    references: tuple[str, ...]
    """Reference policies to score."""
    figures: tuple[Figure[Evaluations], ...]
    most_episodes: int | None = None


DOMAINS = (
    Domain(
        name="memory-planning",
        where="worlds never seen",
        title="Rapid task-solving in worlds never seen",
        introduction=(
            "In the Memory&Planning Game an agent walks a 4×4 torus whose cells carry new symbols in every "
            "episode. It sees the symbol it stands on and the symbol it must collect next, and has 100 steps "
            "for as many goals as it can reach. Nothing is learned between episodes: to do well it must "
            "explore, remember and plan within one."
        ),
        world=WORLD,
        references=POLICIES,
        figures=(OracleShare(greedy=False), StepsToGoal(), Trajectory()),
    ),
    Domain(
        name="streetlearn",
        where="a city never seen",
        title="… and in streets never walked",
        introduction=(
            "In One-Shot StreetLearn the world is a neighbourhood of a city: a few streets around 5 "
            "intersections, walked by going forward and turning left and right. The agent sees a symbol (or "
            "the view) of where it stands and faces, and that of the place and direction it must reach; on "
            "arriving it is put somewhere else and given another goal, for 200 steps. The agents were "
            "trained in other cities. The views are what is to be seen there; these agents are given a "
            "symbol in place of each."
        ),
        # Few neighbourhoods, to be sampled quickly.
        world=replace(streets.WORLD, pool_size=256),
        references=("within-task", "edges-inverse", "oracle"),
        figures=(streets.STEPS_TO_GOAL,),
        most_episodes=100,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Show the Memory&Planning Game and streets: trained agents and reference policies, on a web page."""

    out: Path = Path("demo")
    """Folder for the report."""
    episodes: Count = 500
    """Episodes per agent and policy."""
    seed: Seed = 0
    """Seed of the worlds."""

    def run(self) -> None:
        check_options(self, "--")
        self.out.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        with Console(stderr=True).status("reading agents") as status:
            sections = [self.section(domain, status.update) for domain in DOMAINS]
            footer = (
                f"rapidtask demo --episodes {self.episodes} --seed {self.seed}; commit {describe_commit()}, "
                f"{today()}, {describe_machine()}."
            )
            path = self.out / "report.html"
            write_atomically(path, report_page(sections, footer).encode())
        output = Console()
        for domain, section in zip(DOMAINS, sections, strict=True):
            episodes = section.scores[0].episodes
            title = f"{domain.name}, {domain.where}, {episodes} episodes, seed {self.seed}"
            output.print(scores_table(section.scores, title))
        output.print(f"{time.perf_counter() - began:.0f} s. Report: {path}", soft_wrap=True, highlight=False)

    def section(self, domain: Domain, say: Callable[[str], None]) -> Section:
        """Evaluate in one domain, and write the page of its episode; `say` is told what is under way."""
        episodes = min(self.episodes, domain.most_episodes or self.episodes)
        settings = {"world": domain.world, "episodes": episodes, "seed": self.seed, "say": say}
        evaluations = gather([], **settings)
        # Variants have figures of their own in `rapidtask experiment`.
        evaluations.agents = {label: evaluations.agents[label] for label in evaluations.main_agents}
        scores = [evaluations.scores(name) for name in (*evaluations.agents, *domain.references)]
        # The EPN beside its best rival, or beside the optimum that past agents stop at.
        goals = {each.policy: each.goals_per_episode for each in scores}
        rivals = [label for label in evaluations.agents if label != "EPN"] or ["within-task"]
        watched = ["EPN", max(rivals, key=lambda label: goals.get(label, 0.0))]
        world, policies = domain.world, {name: evaluations.policy(name, domain.world) for name in watched}
        page = episode_page(world, world.make(), policies, self.seed, say=say, played=episodes)
        file = f"{domain.name}.html"
        write_atomically(self.out / file, page.encode())
        return Section(
            domain.title,
            domain.introduction,
            scores,
            file,
            f"Episode 0 of seed {self.seed}, not chosen: {' and '.join(watched)} in the same world.",
            [make_result(figure, evaluations, "rapidtask demo") for figure in domain.figures],
        )
