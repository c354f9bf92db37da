"""Training runs: their configuration, worlds, checkpoints, logs and agent files."""
