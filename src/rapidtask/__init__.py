"""Rapid task-solving in novel environments: worlds, environments, agents, learning, evaluation."""

from gymnasium.envs.registration import register, registry

__version__ = "0.1.0"

# Gymnasium has no plugins: the import registers. Names only, so that it stays quick (no JAX).
if "rapidtask/MemoryPlanning-v0" not in registry:
    register(
        "rapidtask/MemoryPlanning-v0",
        entry_point="rapidtask.envs.gymnasium_env:MemoryPlanningEnv",
        vector_entry_point="rapidtask.envs.gymnasium_env:MemoryPlanningVectorEnv",
    )
