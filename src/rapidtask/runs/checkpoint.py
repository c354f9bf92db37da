"""Checkpoints: one safetensors file each, with its configuration as JSON inside; never pickle.

A file is written beside its final name, flushed to disk and renamed, so that a checkpoint either is whole or
is not there. A checksum over configuration and tensors is verified on load: a damaged or edited file is
refused by name.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from rapidtask.errors import InputError
from rapidtask.files import write_atomically

FORMAT = "rapidtask-checkpoint-1"
SUFFIX = ".safetensors"

Tree = TypeVar("Tree")


class CheckpointError(InputError):
    """A file that is no checkpoint, or not the one it was when written; the message names it."""


def save_checkpoint(path: Path, tree: Any, config: dict) -> None:
    """Write the arrays of a tree and a configuration to a file, atomically."""
    tensors = {name: np.asarray(leaf) for name, leaf in named_arrays(tree)}
    text = json.dumps(config, sort_keys=True)
    data = save(tensors, {"format": FORMAT, "config": text, "sha256": checksum(tensors.items(), text)})
    write_atomically(path, _with_sorted_header(data))


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    """Its tensors by name, and its configuration; a damaged or edited file is refused."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such checkpoint") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged, not a whole checkpoint ({error})") from None
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint of rapidtask (format {metadata.get('format')!r})")
    text = metadata.get("config", "")
    if checksum(tensors.items(), text) != metadata.get("sha256"):
        raise CheckpointError(f"{path}: its content does not match its checksum")
    try:
        return tensors, json.loads(text)
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path}: its configuration is not JSON ({error})") from None


def restore(tree: Tree, tensors: dict[str, np.ndarray], path: Path) -> Tree:
    """The tree with its arrays replaced by a checkpoint's, which must have the same names and shapes."""
    names = [name for name, _ in named_arrays(tree)]
    if missing := sorted(set(names) - tensors.keys()):
        raise CheckpointError(f"{path}: holds no tensor {missing[0]!r} ({len(missing)} missing)")

    def load(leaf: Any, name: str) -> Any:
        tensor, expected = tensors[name], jax.eval_shape(without_key, leaf)
        if (tensor.shape, tensor.dtype) != (expected.shape, expected.dtype):
            raise CheckpointError(
                f"{path}: tensor {name!r} is {tensor.dtype}{tensor.shape}, "
                f"expected {expected.dtype}{expected.shape}"
            )
        array = jax.device_put(tensor)
        return jax.random.wrap_key_data(array) if is_key(leaf) else array

    dynamic, static = eqx.partition(tree, _is_array)
    leaves, structure = jax.tree.flatten(dynamic)
    return eqx.combine(structure.unflatten([load(*pair) for pair in zip(leaves, names, strict=True)]), static)


def named_arrays(tree: Any) -> Iterable[tuple[str, Any]]:
    """Every array of a tree with the path to it, in the tree's order; keys as their raw bits."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(tree, _is_array)):
        yield jax.tree_util.keystr(path).lstrip("."), without_key(leaf)


def is_key(leaf: Any) -> bool:
    """Whether an array holds random keys."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def without_key(leaf: Any) -> Any:
    """An array as it is kept in files: keys as their raw bits."""
    return jax.random.key_data(leaf) if isinstance(leaf, jax.Array) and is_key(leaf) else leaf


def checksum(tensors: Iterable[tuple[str, np.ndarray]], config: str) -> str:
    """SHA-256 over names, types, shapes and bytes of the tensors, and the configuration."""
    digest = hashlib.sha256(config.encode())
    for name, tensor in sorted(tensors):
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()


def checkpoint_path(folder: Path, iteration: int) -> Path:
    """Where the checkpoint after an iteration is kept."""
    return folder / f"checkpoint-{iteration:08d}{SUFFIX}"


def list_checkpoints(folder: Path) -> list[Path]:
    """Checkpoints of a run, newest first."""
    return sorted(folder.glob(f"checkpoint-{'[0-9]' * 8}{SUFFIX}"), reverse=True)


def read_latest(folder: Path) -> tuple[dict[str, np.ndarray], dict, Path] | None:
    """The newest checkpoint that is whole; damaged ones are named on standard error and passed over."""
    for path in list_checkpoints(folder):
        try:
            return *read_checkpoint(path), path
        except CheckpointError as error:
            print(f"rapidtask: passing over {error}", file=sys.stderr)
    return None


def keep_latest(newest: Path, count: int) -> None:
    """Delete all but the newest checkpoints up to the one just written.

    What is called newer was found damaged when the run was resumed, and must not count in place of a whole
    one; the run writes it again when it gets there.
    """
    written = [path for path in list_checkpoints(newest.parent) if path.name <= newest.name]
    for path in written[count:]:
        path.unlink()


def _with_sorted_header(data: bytes) -> bytes:
    """A safetensors file with its header in order: the library's order of metadata is random.

    Equal content then gives equal bytes, so that two files can be compared by their checksums.
    """
    length = int.from_bytes(data[:8], "little")
    text = json.dumps(json.loads(data[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # what follows stays aligned
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _is_array(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)
