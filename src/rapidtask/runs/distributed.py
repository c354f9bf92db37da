"""The devices of a run: parts of a CPU, or several processes on one host or many."""

from __future__ import annotations

import os
import re
from contextlib import suppress

import jax

from rapidtask.errors import InputError


def split_cpu(num_devices: int) -> None:
    """Let JAX see the CPU as several devices; call it before anything else touches JAX.

    XLA's threads share the work of one operation poorly when arrays are small; devices share none. If
    XLA_FLAGS set the number already, or this process has used JAX before, the devices stay as they are.
    """
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", num_devices)


def connect(spelled: str) -> None:
    """Join the other processes of a run; call it before anything else touches JAX.

    They are spelled `coordinator:port,process_id,num_processes`, or "auto" to take them from the cluster's
    environment variables (Slurm, Open MPI, TPU pods).
    """
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if spelled == "auto":
        try:
            jax.distributed.initialize()
        except ValueError as error:
            raise InputError(
                f"--distributed auto: found no cluster in the environment's variables ({error}); "
                "give coordinator:port,process_id,num_processes instead"
            ) from None
        return
    address, process, count = parse(spelled)
    # By default the coordinator listens on all interfaces, to whoever asks.
    bind = os.environ.get("JAX_COORDINATOR_BIND_ADDRESS", address)
    jax.distributed.initialize(address, count, process, coordinator_bind_address=bind)


def parse(spelled: str) -> tuple[str, int, int]:
    """Address of the coordinator, number of this process, number of processes."""
    found = re.fullmatch(r"([^,]*:\d+),(\d+),(\d+)", spelled)
    if found is None:
        raise InputError(
            f"--distributed is {spelled!r}, expected coordinator:port,process_id,num_processes or auto"
        )
    address, process, count = found[1], int(found[2]), int(found[3])
    if process >= count:
        raise InputError(f"--distributed: process_id {process} is not below num_processes {count}")
    return address, process, count
