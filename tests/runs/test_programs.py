import os

import jax
import pytest

from rapidtask.runs.programs import limit_size, use_compilation_cache


@pytest.fixture
def cache_of_jax(monkeypatch):
    """Where JAX keeps programs, with nothing said about it; as it was afterwards."""
    options = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in options}
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    jax.config.update("jax_compilation_cache_dir", None)
    yield lambda: jax.config.jax_compilation_cache_dir
    for name, value in before.items():
        jax.config.update(name, value)


def test_programs_are_kept_in_the_users_cache(cache_of_jax, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    use_compilation_cache()
    assert cache_of_jax() == str(tmp_path / "rapidtask" / "xla")


def test_a_cache_of_the_users_own_wins(cache_of_jax, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "own"))
    use_compilation_cache()
    assert cache_of_jax() is None  # As it was: JAX reads the variable itself when it starts.
    assert not list(tmp_path.iterdir())


def test_without_a_place_for_programs_none_are_kept(cache_of_jax, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    use_compilation_cache()
    assert cache_of_jax() is None


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    for name, (read, written) in {"old": (1, 1), "read": (9, 1), "new": (2, 8), "older": (0, 0)}.items():
        (tmp_path / name).write_bytes(bytes(10))
        os.utime(tmp_path / name, (read, written))
    limit_size(tmp_path, 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "read"]
