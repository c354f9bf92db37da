"""The One-Shot StreetLearn experiment."""

from functools import partial

from rapidtask.envs.street_options import StreetLearn
from rapidtask.experiments.comparison import OracleShare, StepsToGoal
from rapidtask.experiments.costs import LIVES, LongerLives
from rapidtask.experiments.curves import WHILE_TRAINING, ThinkingTime, TrainingCurves
from rapidtask.experiments.evaluations import gather
from rapidtask.experiments.figure import Experiment
from rapidtask.experiments.plan_costs import PlanCosts
from rapidtask.experiments.streets import cities, generalisation

WORLD = StreetLearn().held_out()
"""Where agents are compared: paris_se if its file is at hand, else the generated city that is held out."""
STEPS_TO_GOAL = StepsToGoal(
    title="Steps to the n-th goal (paper, Figure 3e)",
    # No torus: here the hand-coded agent is the planner over edges and their inverses.
    references=("within-task", "edges-inverse", "oracle"),
)

EXPERIMENT = Experiment(
    "Results: One-Shot StreetLearn",
    (
        cities.Neighbourhoods(),
        TrainingCurves(
            title="Learning One-Shot StreetLearn (paper, Figure 3c)",
            caption=f"Goals per episode in neighbourhoods of the held-out city {WHILE_TRAINING}",
            references=("within-task", "edges", "edges-inverse", "oracle"),
            variants=False,
        ),
        OracleShare(
            title="Goals per episode, and share of the oracle in the last third (paper, Figure 3d)",
            caption=(
                "Trained agents and reference policies in neighbourhoods of the held-out city, 5 "
                "intersections, 200 steps; bars are means, whiskers standard errors. Trained agents draw "
                "their actions; a dot marks the same agent with greedy actions. The paper's EPN (pixels, the "
                "real Paris SE) reached 28.7 goals and 88% of the oracle; compare shares, not goals "
                "(results/streets)."
            ),
            references=("within-task", "edges-inverse", "oracle"),
            variants=False,
        ),
        STEPS_TO_GOAL,
        ThinkingTime(),
        generalisation.MoreIntersections(),
        generalisation.MoreIterations(),
        generalisation.LargerMaps(),
        generalisation.IntermediateNodes(),
        cities.OtherCities(),
        LongerLives(
            caption=f"The EPN, trained in episodes of 200 steps, in episodes of 1,000 and 5,000. {LIVES}",
            lengths=(200, 1000, 5000),
            lengths_all=(200,),
        ),
        PlanCosts(),
    ),
    partial(gather, world=WORLD),
    "streetlearn",
)
