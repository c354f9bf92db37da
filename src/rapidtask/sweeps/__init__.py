"""Sweeps: a search over hyper-parameters as an Optuna study whose trials are training runs."""
