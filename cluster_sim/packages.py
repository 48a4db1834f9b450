"""The packages of the toolkit: which modules are ours, what to say where another file has the name of a package, and the
names that a package offers: each loads its module when it is first used.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from cluster_sim.errors import PACKAGES, ShadowedError

__all__ = ["PACKAGES", "is_ours", "offered", "refuse_shadows", "sibling"]

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


def offered(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose stub, ``__init__.pyi``, says where its names are.

    A name that it does not have ends in an AttributeError with the nearest one. A library that is missing ends in the line of
    the command line (MissingLibraryError).
    """
    places = _places(package, Path(file).with_suffix(".pyi"))

    def get(name: str) -> Any:
        if name not in places:
            from cluster_sim.spelling import nearest, no_attribute

            similar = "" if name.startswith("__") else nearest(name, list(places))
            raise no_attribute(sys.modules.get(package), package, name, similar)
        module, attribute = places[name]
        try:
            found: Any = import_module(module) if module.startswith(package) else sibling(module)
        except ImportError as error:
            from cluster_sim.extras import needed

            with needed(f"{package}.{name}"):
                raise error
        value = getattr(found, attribute) if attribute else found
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(places), sorted(places)


def _places(package: str, stub: Path) -> dict[str, tuple[str, str]]:
    """Map each name to its module and its name there; "" stands for the module itself."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, [package if node.level else "", node.module]))
            found |= {alias.asname or alias.name: (module, alias.name) for alias in node.names if is_ours(module)}
        elif isinstance(node, ast.Import):
            found |= {alias.name: (alias.name, "") for alias in node.names if is_ours(alias.name)}
    return found
