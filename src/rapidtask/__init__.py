"""Rapid task-solving in novel environments: worlds, environments, agents, learning, evaluation."""

__version__ = "0.1.0"
