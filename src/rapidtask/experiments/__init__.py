"""Experiments: one module per figure, with its settings, its table and its plot; one way to write results."""
