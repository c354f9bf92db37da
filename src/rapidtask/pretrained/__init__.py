"""Trained agents that come with the package: `load_pretrained("epn-memory-planning")`."""

from rapidtask.pretrained.cards import Card, list_pretrained
from rapidtask.pretrained.load import load_pretrained

__all__ = ["Card", "list_pretrained", "load_pretrained"]
