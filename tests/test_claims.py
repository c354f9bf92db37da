"""Numbers of docs/paper.md are those of the results that each line of its tables links."""

import csv
import re
from itertools import chain
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
LINES = [line for line in (DOCS / "paper.md").read_text("utf-8").splitlines() if line.startswith("|")]
NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+|\d+(?= ±|%))(?: ± (\d+\.\d+|\d+))?")
"""Numbers with decimals, an error or a per cent sign; others are sizes, and count nothing."""


def unfounded(line: str) -> list[str]:
    """Numbers of a line's cell "here", its last but two, that no row of the linked table has."""
    *_, here, _, evidence = line.strip("| ").split("|")
    tables = re.findall(r"\((\S+\.csv)\)", evidence)
    rows = [row for name in tables for row in read_rows(DOCS / name)]
    missing = []
    for cell in re.split(r"; | and |, ", here) if tables else ():
        for match in NUMBER.finditer(cell):
            scale = 100 if "%" in here else 1
            if not any(
                has(row, match[1], scale) and (not match[2] or has(row, match[2], scale)) for row in rows
            ):
                missing.append(match[0])
    return missing


def read_rows(path: Path) -> list[list[float]]:
    """The numbers of each row of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [[float(x) for x in row if re.fullmatch(r"-?\d[\d.e+-]*", x)] for row in csv.reader(file)]


def has(row: list[float], number: str, scale: int) -> bool:
    """Whether a value of the row is the number, as it was rounded."""
    decimals = len(number.partition(".")[2])
    return any(abs(scale * value - float(number)) <= 0.5 * 10**-decimals + 1e-9 for value in row)


@pytest.mark.parametrize("line", LINES)
def test_numbers_are_those_of_the_linked_results(line):
    assert not unfounded(line), line


def test_a_number_that_was_changed_is_found():
    line = next(line for line in LINES if "28.82 ± 0.04" in line)
    assert unfounded(line.replace("28.82", "28.83")) == ["28.83 ± 0.04"]
    assert unfounded(line.replace("28.82 ± 0.04", "28.82 ± 0.05")) == ["28.82 ± 0.05"]
    share = next(line for line in LINES if "87.6 ± 1.1%" in line)
    assert unfounded(share.replace("87.6", "88.6")) == ["88.6 ± 1.1"]


def test_most_lines_are_held_against_a_table():
    checked = [line for line in LINES if ".csv)" in line]
    assert sum(len(NUMBER.findall(line)) for line in checked) > 40
    assert len(set(chain.from_iterable(re.findall(r"\((\S+\.csv)\)", line) for line in checked))) > 8
