"""Rapid task-solving in novel environments: worlds, environments, agents, learning, evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register, registry

if TYPE_CHECKING:
    from rapidtask.pretrained import list_pretrained, load_pretrained
    from rapidtask.runs.agent_files import load_agent

__all__ = ["__version__", "list_pretrained", "load_agent", "load_pretrained"]
__version__ = "0.1.0"

# Gymnasium has no plugins: the import registers. Names only, so that it stays quick (no JAX).
for _id, _world in (("MemoryPlanning-v0", "memory-planning"), ("OneShotStreetLearn-v0", "streetlearn")):
    if f"rapidtask/{_id}" not in registry:
        register(
            f"rapidtask/{_id}",
            entry_point="rapidtask.envs.gymnasium_env:make_env",
            vector_entry_point="rapidtask.envs.gymnasium_env:make_vector_env",
            kwargs={"world": _world},
        )


def __getattr__(name: str) -> Any:
    if name == "load_agent":  # needs JAX, which takes a second to import
        from rapidtask.runs.agent_files import load_agent

        return load_agent
    if name in ("list_pretrained", "load_pretrained"):
        import rapidtask.pretrained

        return getattr(rapidtask.pretrained, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
