"""Rapid task-solving in novel environments: worlds, environments, agents, learning, evaluation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register, registry

if TYPE_CHECKING:  # each by its own name, which tells type checkers that it is public
    from rapidtask.envs import make_environment as make_environment
    from rapidtask.evaluation import evaluate as evaluate
    from rapidtask.evaluation.play import play as play
    from rapidtask.policies import make_policy as make_policy
    from rapidtask.policies.learned import GymnasiumPolicy as GymnasiumPolicy
    from rapidtask.policies.learned import make_learned_policy as make_learned_policy
    from rapidtask.pretrained import list_pretrained as list_pretrained
    from rapidtask.pretrained import load_pretrained as load_pretrained
    from rapidtask.pretrained.load import fit_agent as fit_agent
    from rapidtask.runs.agent_files import load_agent as load_agent

_MODULES = {  # imported when they are asked for, as JAX takes a second
    **dict.fromkeys(("GymnasiumPolicy", "make_learned_policy"), "policies.learned"),
    **dict.fromkeys(("list_pretrained", "load_pretrained"), "pretrained"),
    **{"evaluate": "evaluation", "play": "evaluation.play", "fit_agent": "pretrained.load"},
    **{"load_agent": "runs.agent_files", "make_environment": "envs", "make_policy": "policies"},
}
__all__ = ["__version__", *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]
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
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"rapidtask.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]
