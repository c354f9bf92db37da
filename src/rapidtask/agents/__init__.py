"""Agents by name."""

from __future__ import annotations

from rapidtask.agents.epn import EPNConfig
from rapidtask.agents.lstm import LSTMConfig
from rapidtask.agents.merlin import MerlinConfig
from rapidtask.agents.mra import MRAConfig

AGENTS: dict[str, type] = {"epn": EPNConfig, "lstm": LSTMConfig, "merlin": MerlinConfig, "mra": MRAConfig}

__all__ = ["AGENTS"]
