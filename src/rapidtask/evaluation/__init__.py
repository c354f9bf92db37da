"""Evaluation: goals per episode and share of the oracle, on worlds never seen."""

from rapidtask.evaluation.scores import Scorer, Scores, evaluate

__all__ = ["Scorer", "Scores", "evaluate"]
