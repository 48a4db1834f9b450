"""The packages that stand beside this one, also where a user has a file or a folder of the same name.

``schedulers``, ``learning`` and ``analysis`` are names that a user's own files may have as well, and the folder of a script, or
the working directory, stands before ours on the path. A package is then imported with those entries of the path left out
that would give another one. Python keeps one module of a name in a process: whichever was imported first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from cluster_sim.errors import ShadowedError
from cluster_sim.packages import PACKAGES

_HOME = Path(__file__).resolve().parent.parent
_SIBLINGS = PACKAGES[1:]
READY_PREFIX = "ready:"
"""Before the name of an agent that comes with the toolkit: that one, whatever folders there are."""


def sibling(name: str) -> ModuleType:
    """Our module ``name``, such as ``analysis`` or ``schedulers.policy.policy``. Raises ShadowedError."""
    package = name.partition(".")[0]
    pass_over_others(_SIBLINGS[: _SIBLINGS.index(package) + 1])
    found = import_module(package)
    if not _is_ours(package, found.__spec__):
        other = getattr(found, "__file__", None) or "a folder"
        expected = "cluster_sim's own package of that name; rename what was imported before it"
        raise ShadowedError(package, expected, other)
    return import_module(name)


def ready_agents() -> Container[str]:
    """The names of the agents that come with the toolkit, looked up where one may be meant: ``learning`` takes its time."""
    found: Container[str] = sibling("learning.training.agent").ready_agents()
    return found


def stand_in(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a module of ours that is the package by another name. Raises ShadowedError."""
    ours = sibling(package)

    def get(name: str) -> object:
        if name == "__path__":  # else Python would load each module a second time, under this name
            raise AttributeError(name)
        return getattr(ours, name)

    return get, lambda: dir(ours)


def pass_over_others(packages: Iterable[str] = _SIBLINGS) -> None:
    """Import those of our packages that would not be found, because others of their names come first on the path."""
    for package in packages:
        if package not in sys.modules and (others := [entry for entry in sys.path if _has_another(package, entry)]):
            with _path_without(others):
                import_module(package)


def _has_another(package: str, entry: str) -> bool:
    spec = PathFinder.find_spec(package, [entry])
    return spec is not None and not _is_ours(package, spec)


def _is_ours(package: str, spec: ModuleSpec | None) -> bool:
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve().parent == _HOME / package


@contextmanager
def _path_without(entries: list[str]) -> Iterator[None]:
    before = sys.path[:]
    sys.path[:] = [entry for entry in before if entry not in entries]
    try:
        yield
    finally:
        sys.path[:] = before
