"""Experiments: what figures are, what they are made from, and how they are written; then the figures themselves."""
