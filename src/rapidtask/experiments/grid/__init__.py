"""The Memory&Planning experiment."""

from functools import partial

from rapidtask.envs.registry import MemoryPlanning
from rapidtask.experiments.comparison import OracleShare, StepsToGoal
from rapidtask.experiments.curves import TrainingCurves
from rapidtask.experiments.evaluations import gather
from rapidtask.experiments.figure import Experiment
from rapidtask.experiments.grid.exploration import Exploration
from rapidtask.experiments.grid.larger_grids import LargerGrids
from rapidtask.experiments.grid.recipes import Recipes
from rapidtask.experiments.grid.scalability import Scalability
from rapidtask.experiments.grid.trajectory import Trajectory
from rapidtask.experiments.longer_lives import LongerLives

WORLD = MemoryPlanning()
"""Where agents are compared."""

EXPERIMENT = Experiment(
    "Results: the Memory&Planning Game",
    (
        TrainingCurves(),
        OracleShare(),
        Trajectory(),
        StepsToGoal(),
        Scalability(),
        Recipes(),
        LongerLives(),
        LargerGrids(),
        Exploration(),
    ),
    partial(gather, world=WORLD),
    "memory-planning",
)
