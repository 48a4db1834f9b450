"""Libraries that only some of the toolkit needs: which extra brings each, and how to get it; and versions of libraries.

An extra is a list of libraries, which come from the package index however cluster-sim itself was installed, from a clone or
from a wheel. So the hint names them: cluster-sim is on no index, and ``pip install cluster-sim[app]`` would find nothing.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version

from cluster_sim.errors import MissingLibraryError

EXTRA_OF = {
    "gymnasium": "learning",
    "safetensors": "learning",
    "tensorboard": "learning",
    "torch": "learning",
    "dash": "app",
    "pyarrow": "parquet",
    "scipy": "fit",
    "dask": "distributed",
    "distributed": "distributed",
    "jupytext": "lessons",
    "jupyterlab": "lessons",
    "anywidget": "notebook",
}
"""The extra of each library that is imported only where it is used."""

_OF_EXTRA = re.compile(r"\s*(?P<asked>[^;]+?)\s*;\s*extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]\s*")


@contextmanager
def needed(where: object, library: str = "") -> Iterator[None]:
    """Raise MissingLibraryError, naming ``where``, if an import in here fails because ``library`` is not installed.

    Without ``library``, any of those in EXTRA_OF.
    """
    try:
        yield
    except ImportError as error:
        missing = library or (error.name or "").partition(".")[0]
        if isinstance(error, MissingLibraryError) or missing not in EXTRA_OF:
            raise
        extra = EXTRA_OF[missing]
        expected = f"{missing} to be installed (cluster-sim[{extra}]): {pip_line(extra)}"
        raise MissingLibraryError(where, expected) from None


def pip_line(extra: str) -> str:
    """Return the command that installs what an extra asks for.

    >>> pip_line("app")
    'pip install "dash>=3"'
    """
    try:
        asked = requires("cluster-sim") or []
    except PackageNotFoundError:  # used from its sources, without being installed
        asked = []
    matches = [match for line in asked if (match := _OF_EXTRA.fullmatch(line))]
    libraries = [match["asked"] for match in matches if match["extra"] == extra]
    libraries = libraries or [name for name, brought_by in EXTRA_OF.items() if brought_by == extra]
    return " ".join(["pip install", *(f'"{name}"' if re.search(r"[<>=!~\[]", name) else name for name in libraries)])


LIBRARIES = ("simpy", "numpy", "pandas")
"""numpy draws what is random, and may draw otherwise in its next version (NEP 19); it and pandas round sums their way."""


def made_with() -> dict[str, str]:
    """Return versions of Python and of :data:`LIBRARIES` by name: with others the same seed may give other bytes."""
    libraries = (*LIBRARIES, "torch") if "torch" in sys.modules else LIBRARIES  # agents decide with torch
    return {platform.python_implementation(): platform.python_version(), **{name: _version(name) for name in libraries}}


_version = cache(version)
"""Version of a library; to look it up takes as long as a short run."""
