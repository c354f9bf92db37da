"""Environments of Gymnasium as lives: one world, one task after another. No JAX: processes start quickly."""
