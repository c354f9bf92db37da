"""What a plan costs against the rows of memory: the table of the figure `plan_costs`, with ratios.

python benchmarks/rows_bench.py [--rows 100 1000 10000]
"""

from __future__ import annotations

import argparse

from rapidtask.evaluation.report import make_table, print_table
from rapidtask.experiments.plan_costs import NEIGHBOURS, PAIRS, RECENT, PlanCosts
from rapidtask.experiments.tables import group_by
from rapidtask.learning.config import epn_for
from timing import machine


def main(rows: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)) -> None:
    """Measure and print."""
    kinds = (NEIGHBOURS, PAIRS, RECENT)
    caption = f"one memory, one device; {machine()}"
    table = make_table(
        "A plan: milliseconds, MB", ["rows", *kinds, "pairs / lists", "times the first"], caption
    )
    first = None
    for num_rows, ours in group_by(
        PlanCosts(rows=rows).costs(epn_for("fast", "streetlearn")), "rows"
    ).items():
        cost = {row["plan"]: (row["milliseconds"], row["megabytes"]) for row in ours}
        first = first or cost[NEIGHBOURS][0]
        cells = [f"{cost[kind][0]:.2f}, {cost[kind][1]:.1f}" if kind in cost else "–" for kind in kinds]
        ratio = f"{cost[PAIRS][0] / cost[NEIGHBOURS][0]:.1f}" if PAIRS in cost else "–"
        table.add_row(f"{num_rows:,}", *cells, ratio, f"{cost[NEIGHBOURS][0] / first:.1f}")
    print_table(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 300, 1000, 3000, 10_000])
    main(tuple(parser.parse_args().rows))
