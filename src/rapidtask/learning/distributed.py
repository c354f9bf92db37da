"""Joining several processes, on one host or many, into one run."""

from __future__ import annotations

import jax

from rapidtask.errors import InputError


def connect(spelled: str) -> None:
    """Join the other processes of a run; call it before anything else touches JAX.

    Args:
        spelled: `coordinator:port,process_id,num_processes`, or "auto" to take them from the cluster's
            environment variables (Slurm, Open MPI, TPU pods).
    """
    if spelled == "auto":
        jax.distributed.initialize()
        return
    parts = spelled.split(",")
    if len(parts) != 3 or not parts[1].isdigit() or not parts[2].isdigit() or ":" not in parts[0]:
        raise InputError(
            f"--distributed is {spelled!r}, expected coordinator:port,process_id,num_processes or auto"
        )
    address, process, count = parts[0], int(parts[1]), int(parts[2])
    if process >= count:
        raise InputError(f"--distributed: process_id {process} is not below num_processes {count}")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, num_processes=count, process_id=process)
