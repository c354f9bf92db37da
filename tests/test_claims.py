"""Numbers of README and docs/paper.md are those of results that are stored here."""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+|\d+(?= ±|%))(?: ± (\d+\.\d+|\d+))?")
"""Numbers with decimals, an error or a per cent sign; others are sizes, and count nothing."""
NOT_OURS = ("the paper says", "its number", "the paper hopes", "the paper", "trained")
"""Columns of what the paper says, and of how long agents were trained."""

Row = list[float]


def tables(page: str) -> Iterator[dict[str, str]]:
    """The lines of a page's tables: each cell by the heading of its column."""
    headings: list[str] = []
    for line in (ROOT / page).read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells and headings and not set("".join(cells)) <= set("-: "):
            yield dict(zip(headings, cells, strict=True))
        headings = headings or cells if cells else []


def unfounded(line: dict[str, str], rows: Iterable[Row]) -> list[str]:
    """Numbers of a line of a table that are in no row of results, with their errors if they have some."""
    ours = " | ".join(cell for heading, cell in line.items() if heading not in NOT_OURS)
    return [
        match[0]
        for match in NUMBER.finditer(ours)
        if not any(has(row, match[1]) and (not match[2] or has(row, match[2])) for row in rows)
    ]


def has(row: Row, number: str) -> bool:
    """Whether a value of the row, or a hundred times that, is the number as it was rounded."""
    unit = 10.0 ** -len(number.partition(".")[2])
    return any(abs(x - float(number)) <= 0.5 * unit + 1e-9 for value in row for x in (value, 100 * value))


@cache
def table_rows(path: Path) -> list[Row]:
    """The numbers of each row of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [[float(x) for x in row if re.fullmatch(r"-?\d[\d.e+-]*", x)] for row in csv.reader(file)]


@cache
def all_rows() -> list[Row]:
    """The rows of all tables of results, and the scores on the cards of shipped agents."""
    cards = (ROOT / "src" / "rapidtask" / "pretrained").glob("*.json")
    scores = chain.from_iterable(json.loads(card.read_text("utf-8"))["scores"].values() for card in cards)
    files = chain.from_iterable(table_rows(path) for path in (ROOT / "results").rglob("*.csv"))
    return [*files, *(list(map(float, score.values())) for score in scores)]


def linked_rows(line: dict[str, str]) -> list[Row]:
    """The rows of the tables that a line of docs/paper.md links as where it is from."""
    return [
        r for name in re.findall(r"\((\S+\.csv)\)", line["from"]) for r in table_rows(ROOT / "docs" / name)
    ]


CLAIMS = [line for line in tables("docs/paper.md") if ".csv)" in line["from"]]


@pytest.mark.parametrize("line", CLAIMS)
def test_claims_have_numbers_of_the_results_that_they_link(line):
    assert not unfounded(line, linked_rows(line))


@pytest.mark.parametrize("line", list(tables("README.md")))
def test_the_readme_has_numbers_of_stored_results(line):
    assert not unfounded(line, all_rows())


@pytest.mark.parametrize(
    ("number", "other"), [("28.82 ± 0.04", "28.83 ± 0.04"), ("28.82 ± 0.04", "28.82 ± 0.05")]
)
def test_a_number_that_was_changed_is_found(number, other):
    line = next(line for line in CLAIMS if number in line["here"])
    changed = {**line, "here": line["here"].replace(number, other)}
    assert unfounded(changed, linked_rows(line)) == [other]


def test_most_of_what_is_said_is_held_against_something():
    assert sum(len(NUMBER.findall(line["here"])) for line in CLAIMS) > 40
    assert sum(len(NUMBER.findall(" ".join(line.values()))) for line in tables("README.md")) > 30
