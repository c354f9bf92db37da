"""The leaderboard: a folder of results of `rapidtask score`, and the page that shows them side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rapidtask.errors import InputError
from rapidtask.suite.scoring import FORMAT
from rapidtask.suite.tasks import SUITES

PAGE = "README.md"
DOMAINS = {"Memory&Planning Game": "game-", "One-Shot StreetLearn": "streets-"}
"""A table for each, by what the names of its tasks begin with."""

INTRODUCTION = """# Leaderboard, suite {suite}

Share of the oracle's goals in the last third of an episode, ± standard error over episodes, in the same
numbered worlds for all. –: the agent does not play that task; its file says why. The mean counts it as 0.
What the tasks are, and how to enter an agent: `docs/score.md`.
"""


def read_entries(folder: Path) -> dict[str, dict[str, Any]]:
    """The results in a folder, by the names of their files."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of results")
    entries: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            entry = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InputError(f"{path}: not JSON ({error})") from None
        if not isinstance(entry, dict) or entry.get("format") != FORMAT or entry.get("suite") not in SUITES:
            raise InputError(f"{path}: no result of `rapidtask score`, expected the format {FORMAT!r}")
        worlds = {task.name: task.checksum for task in SUITES[entry["suite"]]}
        for name, result in entry["tasks"].items():
            if "skipped" not in result and result["worlds"] != worlds.get(name):
                raise InputError(f"{path}: {name} was played in other worlds than those of {entry['suite']}")
        if missing := entry["not_asked_for"]:
            raise InputError(f"{path}: a selection of tasks, {missing[0]} is not among them")
        entries[path.name] = entry
    if not entries:
        raise InputError(f"{folder}: holds no results (*.json)")
    return entries


def leaderboard_page(entries: dict[str, dict[str, Any]]) -> str:
    """The page of all entries: a table for each suite and domain, best mean first; then how each was run."""
    parts = []
    for suite, tasks in SUITES.items():
        of_suite = {file: entry for file, entry in entries.items() if entry["suite"] == suite}
        if not of_suite:
            continue
        parts.append(INTRODUCTION.format(suite=suite))
        for title, prefix in DOMAINS.items():
            names = [task.name for task in tasks if task.name.startswith(prefix)]
            parts.append(f"## {title}\n\n{_domain_table(of_suite, names)}")
        rows = [_about_row(file, entry) for file, entry in of_suite.items()]
        parts.append(f"## How each was scored\n\n{_table(('agent', 'command', 'seconds', 'machine'), rows)}")
        if notes := [f"- **{e['agent']}**: {e['notes']}" for e in of_suite.values() if e.get("notes")]:
            parts.append("## Notes\n\n" + "\n".join(notes) + "\n")
    return "\n".join(parts)


def _domain_table(entries: dict[str, dict[str, Any]], names: Sequence[str]) -> str:
    rows = []
    for file, entry in entries.items():
        results = [entry["tasks"][name] for name in names]
        if all("skipped" in result for result in results):
            continue
        shares = [result.get("oracle_share_last_third", 0.0) for result in results]
        mean, linked = sum(shares) / len(shares), f"[{entry['agent']}]({file})"
        rows.append((-mean, linked, (linked, f"{mean:.1%}", *map(_cell, results))))
    headings = ("agent", "mean", *names)
    return _table(headings, [row for _, _, row in sorted(rows)])


def _cell(result: dict[str, Any]) -> str:
    if "skipped" in result:
        return "–"
    return f"{result['oracle_share_last_third']:.1%} ± {result['oracle_share_last_third_stderr']:.1%}"


def _about_row(file: str, entry: dict[str, Any]) -> Sequence[str]:
    about = f"{entry['machine']}, commit {entry['versions']['commit']}, {entry['date']}"
    return f"[{entry['agent']}]({file})", f"`{entry['command']}`", f"{entry['seconds']:.0f}", about


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
