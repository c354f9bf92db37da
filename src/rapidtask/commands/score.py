"""`rapidtask score`: score any agent on a suite of fixed worlds, or write the leaderboard's page."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from rapidtask.errors import InputError
from rapidtask.evaluation.report import make_table, print_table
from rapidtask.files import write_atomically
from rapidtask.suite.entrants import find_entrant
from rapidtask.suite.leaderboard import PAGE, leaderboard_page, read_entries
from rapidtask.suite.scoring import score_suite
from rapidtask.suite.tasks import find_tasks


@dataclass(frozen=True)
class Score:
    """Score any agent on a suite of fixed worlds, into one JSON file; or write the leaderboard's page."""

    entrant: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")] = None
    """MODULE:make_agent or FILE.py:make_agent of your own, the name of a shipped agent, the file or folder of
    a trained one, or policy:NAME for a reference policy."""
    suite: str = "v1"
    """Which suite."""
    tasks: tuple[str, ...] = ()
    """Some of its tasks, by name; by default all. A leaderboard takes only whole suites."""
    out: Path | None = None
    """Where the result goes, a new file; without, it is only printed."""
    name: str | None = None
    """What the result calls the agent; by default as it was given."""
    notes: str = ""
    """What else is to be known of the agent, such as how it was trained; kept with the result."""
    leaderboard: Path | None = None
    """A folder of results: write its page, README.md, and score nothing."""

    def run(self) -> None:
        if self.leaderboard is not None:
            if self.entrant is not None:
                raise InputError("--leaderboard writes the page of results that are there, so name no agent")
            page = leaderboard_page(read_entries(self.leaderboard))
            write_atomically(self.leaderboard / PAGE, page.encode())
            print(f"leaderboard: {self.leaderboard / PAGE}")
            return
        if self.entrant is None:
            raise InputError("which agent? MODULE:make_agent, a shipped agent, a file, or policy:NAME")
        tasks = find_tasks(self.suite, self.tasks)
        if self.out is not None:
            check_new(self.out)
        entrant, name = find_entrant(self.entrant), self.name or self.entrant.removeprefix("policy:")
        about = {"command": self.command()} | ({"notes": self.notes} if self.notes else {})
        with Console(stderr=True).status("") as status:
            tell = lambda task: status.update(f"{name}: {task}")  # noqa: E731
            result = score_suite(name, entrant, self.suite, tasks, tell, **about)
        if self.out is not None:
            write_atomically(self.out, (json.dumps(result, indent=1, ensure_ascii=False) + "\n").encode())
        show(result)

    def command(self) -> str:
        """What repeats the scores; folders are left out."""
        words = ["rapidtask", "score", str(self.entrant), "--suite", self.suite]
        words += ["--tasks", *self.tasks] if self.tasks else []
        return shlex.join(words)


def check_new(path: Path) -> None:
    """Refuse a file that is there already, or that cannot be written, before anything is played."""
    if path.exists():
        raise InputError(f"--out: {path} is there already; remove it, or choose another name")
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: cannot be made ({error.strerror})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--out: {folder}: cannot be written")


def show(result: dict[str, Any]) -> None:
    """Print a row per task."""
    headings = ("task", "of oracle", "goals", "ms per step")
    caption = f"last third of an episode; goals per episode; {result['seconds']:.0f} s"
    table = make_table(f"{result['agent']}, suite {result['suite']}", headings, caption)
    for task, scores in result["tasks"].items():
        if "skipped" in scores:
            table.add_row(task, "skipped", "", "")
            continue
        share = f"{scores['oracle_share_last_third']:.1%} ± {scores['oracle_share_last_third_stderr']:.1%}"
        goals = f"{scores['goals_per_episode']:.2f} ± {scores['goals_per_episode_stderr']:.2f}"
        table.add_row(task, share, goals, f"{scores['milliseconds_per_step']:.3g}")
    print_table(table)
    for task, scores in result["tasks"].items():
        if "skipped" in scores:
            print(f"{task} was skipped: {scores['skipped']}")
