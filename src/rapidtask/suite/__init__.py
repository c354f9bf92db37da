"""The suite: fixed, numbered worlds that any agent is scored in, and the leaderboard of those that were."""

from rapidtask.suite.protocol import SuiteAgent, play_agent
from rapidtask.suite.scoring import score_suite
from rapidtask.suite.tasks import SUITES, Task, find_tasks

__all__ = ["SUITES", "SuiteAgent", "Task", "find_tasks", "play_agent", "score_suite"]
