"""The reference policies on held-out neighbourhoods, as one CSV: the numbers of results/streets/README.md.

    python benchmarks/street_policies.py

The real held-out region is evaluated where its file is at hand, else only its generated stand-in. Each row
is what `rapidtask evaluate --world streetlearn --episodes 500` prints with the row's city, rules and
num_intersections.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

from rapidtask.envs.street_options import StreetLearn
from rapidtask.evaluation import evaluate
from rapidtask.policies import POLICIES

ROOT = Path(__file__).parents[1]
CITIES = ("seinebank", "../shared/cities/paris_se.gexf.gz")
SETTINGS: tuple[tuple[Literal["paper", "release"], int], ...] = (
    ("paper", 5),
    ("paper", 7),
    ("paper", 9),
    ("paper", 12),
    ("release", 8),
)
EPISODES, SEED = 500, 0
COLUMNS = (
    "goals_per_episode",
    "goals_per_episode_stderr",
    "goals_last_third",
    "goals_last_third_stderr",
    "oracle_share_last_third",
    "oracle_share_last_third_stderr",
)
NUM_GOALS = 8


def main() -> None:
    """Evaluate everything and write results/streets/policies.csv."""
    rows = []
    for name in CITIES:
        city = name if "/" not in name else str(ROOT / name)
        if "/" in name and not Path(city).exists():
            print(f"{name}: not here, left out")
            continue
        for rules, num_intersections in SETTINGS:
            environment = StreetLearn(city=city, rules=rules, num_intersections=num_intersections).make()
            for scores in evaluate(environment, POLICIES, episodes=EPISODES, seed=SEED):
                values = [f"{getattr(scores, column):.4f}" for column in COLUMNS]
                steps = [f"{mean:.2f}" for mean in scores.steps_to_nth_goal[:NUM_GOALS]]
                setting = [Path(name).name.split(".")[0], rules, num_intersections, scores.policy]
                rows.append([*setting, *values, *steps, *[""] * (NUM_GOALS - len(steps)), EPISODES, SEED])
                print(*setting, values[0], "goals per episode", flush=True)
    path = ROOT / "results" / "streets" / "policies.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        steps = [f"steps_to_goal_{n}" for n in range(1, NUM_GOALS + 1)]
        writer.writerow(
            ["city", "rules", "num_intersections", "policy", *COLUMNS, *steps, "episodes", "seed"]
        )
        writer.writerows(rows)
    print(path)


if __name__ == "__main__":
    main()
