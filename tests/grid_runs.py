"""Small runs of the Memory&Planning Game to make figures from, of agents that learned nothing."""

from dataclasses import replace

from fake_runs import write_run
from rapidtask.envs.registry import MemoryPlanning
from rapidtask.experiments.evaluations import gather
from rapidtask.experiments.logged_runs import read_runs
from rapidtask.learning.config import PAPER
from rapidtask.runs.config import RunConfig
from tiny_training import EPN, LSTM

WORLD = MemoryPlanning(episode_steps=12)
CONFIG = RunConfig(world=WORLD, agent=EPN)


def write_grid_runs(root):
    """Runs of an EPN with two seeds, one with the paper's recipe, one with N×k, and of an LSTM."""
    write_run(root / "epn-0", CONFIG)
    write_run(root / "epn-1", replace(CONFIG, seed=1), goals=3.5)
    write_run(root / "paper", replace(CONFIG, recipe="paper", learning=PAPER))
    write_run(root / "nxk", replace(CONFIG, agent=replace(EPN, recent_rows=4)))
    write_run(root / "lstm", replace(CONFIG, agent=LSTM))
    return root


def gather_grid_runs(runs):
    """Evaluations of these runs alone."""
    return gather(read_runs([runs], "memory-planning"), shipped=False, episodes=64, seed=3, world=WORLD)
