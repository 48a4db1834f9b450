"""The packages of the toolkit: which modules are ours, and what to say where another file has the name of a package."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from cluster_sim.errors import PACKAGES, ShadowedError

__all__ = ["PACKAGES", "is_ours", "refuse_shadows", "sibling"]

_HOME = Path(__file__).resolve().parent.parent


def is_ours(module: object) -> bool:
    """Return whether the toolkit brings a module of that name."""
    return str(module).partition(".")[0] in PACKAGES


def sibling(name: str) -> ModuleType:
    """Import our module ``name``, such as ``analysis`` or ``schedulers.policy``.

    Raises ShadowedError where Python finds another package of that name first.
    """
    refuse_shadows(name.partition(".")[0])
    return import_module(name)


def refuse_shadows(*packages: str) -> None:
    """Raise ShadowedError where a file of the user's has the name of one of our packages and comes first on the path."""
    for package in packages or PACKAGES[1:]:
        spec = find_spec(package)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
        place = next(filter(None, places), "nothing")
        if Path(place).resolve().parent != _HOME / package:
            expected = "cluster-sim's package of that name; rename the file or folder that Python finds before it"
            raise ShadowedError(package, expected, place)
