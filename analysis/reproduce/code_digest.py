"""A digest of the code that could change results."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

CODE = ("cluster_sim", "schedulers", "learning", "analysis.reproduce")
"""Packages of which any change makes finished parts stale."""


@cache
def code() -> str:
    """Return a digest of the code that parts run: names and texts of the modules of :data:`CODE`."""
    digest = hashlib.sha256()
    for name in CODE:
        folder = Path(str(import_module(name).__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{name}/{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
