"""What all tests start from."""

import gc
import os
from pathlib import Path

# Compiling takes longer than running here. It takes a third as long without optimisation, in one piece, and
# with XLA's older emitters of fused loops (named as an extra option, which a version without it passes over).
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters"
    " --xla_cpu_parallel_codegen_split_count=1",
)
# Nor need programs know the lines of code that they were made from.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
# What was compiled is kept, for other processes of this test run and for the next one.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

import jax
import pytest

from rapidtask.runs.programs import CACHE_BYTES, forget_programs, limit_size

# Commands that train split the CPU into devices, if JAX is not in use yet: tests must not depend on which of
# them is first.
jax.devices()


def pytest_sessionstart(session):
    """Programs that no test has used for long go, once, before the workers start."""
    programs = session.config.rootpath / ".jax_cache"
    if programs.is_dir() and not hasattr(session.config, "workerinput"):
        limit_size(programs, CACHE_BYTES)


def pytest_collection_finish():
    """What is imported stays, and of what tracing makes little is garbage: search for that less often."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(autouse=True, scope="module")
def drop_compiled_programs():
    """Forget compiled programs between files, where they have become many."""
    yield
    forget_programs()
