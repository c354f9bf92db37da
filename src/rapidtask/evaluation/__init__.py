"""Evaluation: goals per episode and share of the oracle, on worlds never seen."""

from rapidtask.evaluation.evaluate import evaluate
from rapidtask.evaluation.scores import Scores

__all__ = ["Scores", "evaluate"]
