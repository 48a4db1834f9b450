"""The libraries that a run's figures may depend on, by their versions."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib.metadata import version

LIBRARIES = ("simpy", "numpy", "pandas")
"""numpy draws what is random, and may draw otherwise in its next version (NEP 19); it and pandas round sums their way."""


def made_with() -> dict[str, str]:
    """Return versions of Python and of :data:`LIBRARIES` by name: with others the same seed may give other bytes."""
    return _versions() | ({"torch": version("torch")} if "torch" in sys.modules else {})  # agents decide with it


@cache
def _versions() -> dict[str, str]:
    return {platform.python_implementation(): platform.python_version(), **{name: version(name) for name in LIBRARIES}}
