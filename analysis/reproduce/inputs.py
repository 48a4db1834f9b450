"""Where the papers' own inputs lie: platforms, workloads and logs that are not part of this project.

What was computed is kept by digests of these inputs and of the code that could change results.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

from cluster_sim.errors import InputError

VARIABLE = "CLUSTER_SIM_INPUTS"
DEFAULT = Path("..") / "shared"


def inputs_folder(given: str | Path | None = None) -> Path:
    """Return the folder of inputs: as given, else the environment variable CLUSTER_SIM_INPUTS, else ``../shared``.

    Raises InputError when a folder that was named is not there; the default may be absent.
    """
    named = given or os.environ.get(VARIABLE)
    folder = Path(named) if named else DEFAULT
    if named and not folder.is_dir():
        raise InputError("--inputs" if given else VARIABLE, "a folder", named)
    return folder.resolve()


def missing(folder: Path, needs: Iterable[str]) -> list[str]:
    """Return the paths (relative to ``folder``) that are not there."""
    return [need for need in dict.fromkeys(needs) if not (folder / need).exists()]


def fingerprint(folder: Path, needs: Iterable[str]) -> str:
    """Return a digest of the files among ``needs`` and in the folders among them: names and contents."""
    digest = hashlib.sha256()
    for need in sorted(set(needs)):
        path = folder / need
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for file in files:
            digest.update(str(file.relative_to(folder)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


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
