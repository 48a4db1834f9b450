"""Trainings and agents on disk: tensors as safetensors, everything else as JSON, and never half of either.

What is saved is a *tree*: dictionaries, lists and tuples of tensors, arrays, numbers, text, truths and None, such as the
``state_dict`` of a network or an optimiser. Its tensors go to a safetensors file, the rest to a JSON file, which names
that safetensors file and its SHA-256. The tensors' file is written first, under a name of its own; moving the JSON
into place is the one step at which the new tree replaces the old one. So a program that dies in between, by power or by
``kill -9``, leaves the old tree, and a reader sees one tree or the other. No pickle: a file from elsewhere can only be
data.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.errors import FormatError
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.documents import read_document
from cluster_sim.files.reading import check_regular
from cluster_sim.spelling import UnknownKeys

if TYPE_CHECKING:
    import torch

FORMAT = "cluster-sim-tree-1"
MAX_JSON_BYTES = 256 * 2**20


def save(folder: str | Path, name: str, tree: Mapping[str, Any]) -> None:
    """Write ``tree`` to ``folder`` as ``name``.json and a safetensors file; both replace an earlier tree of that name.

    Raises FormatError when it cannot be written, TypeError for a value that a tree cannot hold.
    """
    from safetensors.torch import save as safetensors

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, torch.Tensor] = {}
    rest = _taken_apart(tree, name, tensors)
    data = safetensors(tensors)
    weights = f"{name}-{secrets.token_hex(6)}.safetensors"
    document = {"format": FORMAT, "tensors": weights, "sha256": hashlib.sha256(data).hexdigest(), "tree": rest}
    write_bytes(folder / weights, data)
    write_bytes(folder / f"{name}.json", (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())
    for other in folder.glob(f"{name}-*.safetensors"):
        if other.name != weights:
            other.unlink(missing_ok=True)


_KEYS = ("format", "tensors", "sha256", "tree")


def load(folder: str | Path, name: str) -> dict[str, Any]:
    """Load the tree that :func:`save` left in ``folder``. Raises FormatError if it is missing or broken."""
    from safetensors import SafetensorError
    from safetensors.torch import load as safetensors

    path = Path(folder) / f"{name}.json"
    document = read_document(path, MAX_JSON_BYTES)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(path, f"a document of format {FORMAT}")
    keys = UnknownKeys(path)
    keys.look(document, _KEYS, "the file")
    keys.tell()
    for key in _KEYS[1:3]:
        if not isinstance(document.get(key), str):
            raise FormatError(f"{path}: {key}", "text", document.get(key, "nothing"))
    if _KEYS[3] not in document:
        raise FormatError(path, f"a key '{_KEYS[3]}'")
    weights = Path(folder) / Path(str(document.get("tensors"))).name  # beside it, whatever the text says
    check_regular(weights)
    try:
        data = weights.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: tensors, {weights.name}", "a readable file", error.strerror) from None
    if hashlib.sha256(data).hexdigest() != document.get("sha256"):
        raise FormatError(weights, f"the tensors that {path.name} was saved with", "others")
    try:
        tree = _put_together(document["tree"], safetensors(data))
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(path, "a tree as this program saves it", error) from None
    if not isinstance(tree, dict):
        raise FormatError(path, "a tree that is a dictionary", type(tree).__name__)
    return tree


def exists(folder: str | Path, name: str) -> bool:
    """Return whether ``folder`` has a tree saved under ``name``."""
    return (Path(folder) / f"{name}.json").is_file()


def _taken_apart(value: Any, key: str, tensors: dict[str, torch.Tensor]) -> Any:
    """Return ``value`` as JSON, with its tensors put aside under their place in the tree."""
    import torch

    if isinstance(value, torch.Tensor):
        tensors[key] = value.detach().to("cpu", copy=True).contiguous()
        return {"$": "tensor", "of": key}
    if isinstance(value, np.ndarray):
        tensors[key] = torch.from_numpy(np.array(value, order="C"))
        return {"$": "array", "of": key}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$": "float", "of": str(value)}
    if isinstance(value, list | tuple):
        items = [_taken_apart(item, f"{key}.{i}", tensors) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"$": "tuple", "of": items}
    if isinstance(value, Mapping):
        # As pairs: JSON's keys are text, and those of an optimiser's state are numbers.
        return {"$": "dict", "of": [[k, _taken_apart(v, f"{key}.{k}", tensors)] for k, v in value.items()]}
    raise TypeError(f"{key}: {type(value).__name__} is nothing that a checkpoint can hold")


def _put_together(value: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_put_together(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = value["$"], value["of"]
    if kind == "tensor":
        return tensors[content]
    if kind == "array":
        return tensors[content].numpy()
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(_put_together(item, tensors) for item in content)
    if kind == "dict":
        return {key: _put_together(item, tensors) for key, item in content}
    raise ValueError(f"a value of kind {kind!r}")
