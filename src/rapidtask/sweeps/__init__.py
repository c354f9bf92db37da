"""Sweeps: a search over hyper-parameters as many runs, on this machine or on a Ray cluster."""
