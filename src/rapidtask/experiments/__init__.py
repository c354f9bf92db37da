"""Experiments: what figures are, what they are made from, how they are written; and the figures."""
