"""Files of a user's, named in specs: Python, ``lsf.py:LSF``, and others, ``trace:FILE``, ``slurm:conf=FILE``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from cluster_sim.errors import InputError
from cluster_sim.files.reading import instead_of_file
from cluster_sim.packages import sibling

FILE_OPTIONS = ("conf", "accounts", "asks", "commands")
"""Options whose value is a file, of a policy or of an order within it: ``easy:order=multifactor:conf=FILE``."""
NAMING = ("learned", "replay", "trace")
"""Specs of policies that name a file or a folder: ``learned:DIR``."""
_IN_OPTION = re.compile(
    rf"(\b(?:{'|'.join(FILE_OPTIONS)})=)([^,]+)|(=)([^,:=]+\.py)(?=:)|(=({'|'.join(NAMING)}):)([^,]+)"
)
"""File as the value of an option, Python file in one, ``easy:order=mine.py:shortest``, or what names a file in one."""

PLUS = " + "
"""Text between two specs in one, such as those of a scheduler and a power policy: ``easy:order=saf + timeout:300``."""

READY_PREFIX = "ready:"
"""Before the name of an agent that comes with the toolkit: that one, whatever folders there are."""


def ready_agents() -> Container[str]:
    """Return the names of the agents that come with the toolkit."""
    found: Container[str] = sibling("learning.training.agent").ready_agents()
    return found


def source_of(spec: str) -> str | None:
    """Return the Python file that a spec such as ``lsf.py:LSF,depth=2`` names; None if it names none."""
    name = spec.partition(":")[0].strip()
    return name if name.endswith(".py") else None


def with_place(spec: str, place: Callable[[str], str], names: tuple[str, ...] = ("trace",)) -> str:
    """Return a spec with its files where ``place`` puts them: Python files, those of ``names`` and of options.

    A spec may hold others, as the value of an option and after :data:`PLUS`: ``cost:against=easy:order=mine.py:o + own.py:P``.
    """
    return _with_places(spec, lambda _, path: place(path), names)


def _with_places(spec: str, place: Callable[[str, str], str], names: tuple[str, ...]) -> str:
    """Return a spec with its files where ``place`` puts them, of what names a file (``learned``, or "") and the file."""

    def placed(match: re.Match[str]) -> str:
        option, path, begin, python, naming, name, named = match.groups()
        if name is not None:
            return naming + (place(name, named) if name in names else named)
        return option + place("", path) if option else begin + place("", python)

    parts = []
    for part in spec.split(PLUS):
        name, colon, rest = part.partition(":")
        if source_of(part) is not None:
            name = place("", name)
        elif colon and name in names:
            path, comma, options = rest.partition(",")
            rest = f"{place(name, path)}{comma}{options}"
        parts.append(f"{name}{colon}{_IN_OPTION.sub(placed, rest)}")
    return PLUS.join(parts)


def policy_with_place(spec: str, place: Callable[[str], str]) -> str:
    """Return the spec of a policy with its files and folders where ``place`` puts them.

    ``learned:NAME`` is ``learned:ready:NAME`` where NAME is one of :func:`ready_agents` and there is
    nothing at its place: no other folder of that name is meant.
    """

    def unless_ready(who: str, name: str) -> str:
        path = place(name)
        if who != "learned" or os.path.exists(path) or (ready := name.removeprefix(READY_PREFIX)) not in ready_agents():
            return path
        return READY_PREFIX + ready

    return _with_places(spec, unless_ready, NAMING)


def files_of(spec: str, names: tuple[str, ...] = ("trace",)) -> list[str]:
    """Return the files that a spec names, as :func:`with_place` finds them."""
    found: list[str] = []
    with_place(spec, lambda path: found.append(path) or path, names)  # type: ignore[func-returns-value]
    return found


def runs_python(spec: str) -> bool:
    """Return whether a policy of that spec may run a Python file: it names one, or trusts an agent that may."""
    return any(file.endswith(".py") for file in files_of(spec, NAMING)) or ("learned:" in spec and "trust=" in spec)


def load(path: str) -> ModuleType:
    """Load the file as a module, once in a process. It may import what stands beside it, after all else of these names.

    Raises InputError, with the line, for a file that Python cannot run, and within :func:`running_no_new_files` for one that
    this process has not run.
    """
    if not may_run(path):
        raise InputError(
            path,
            "a file that you name yourself, or learned:DIR,trust=yes: what results and agents name is not run",
            "it in a folder",
        )
    if not os.path.isfile(path):
        raise InputError(path, "a Python file", instead_of_file(path))
    full = str(Path(path).resolve())
    _loaded[full] = path
    return _run(full, path)


_runs_files: ContextVar[bool] = ContextVar("_runs_files", default=True)
_loaded: dict[str, str] = {}  # the files that were run, by their full paths, as they were named


@contextmanager
def running_no_new_files(unless: bool = False) -> Iterator[None]:
    """Refuse to run a Python file that this process has not run, unless the user trusts whatever names it.

    Folders of others name files that nobody has looked at.
    """
    token = _runs_files.set(_runs_files.get() and unless)
    try:
        yield
    finally:
        _runs_files.reset(token)


def may_run(spec: str) -> bool:
    """Return whether the Python file that a spec names may be run here; true of a spec without one."""
    path = source_of(spec)
    return path is None or _runs_files.get() or str(Path(path).resolve()) in _loaded


def failure_in_any(error: BaseException) -> tuple[str, str, str] | None:
    """Return what an InputError tells of an error that came up in a file that was run; None if in none."""
    return next((failure for path in _loaded.values() if (failure := failure_in(path, error))), None)


def place_in(path: str, error: BaseException) -> str | None:
    """Say where in the file an error came up, such as ``lsf.py line 7, in schedule``; None if not there."""
    full = str(Path(path).resolve())
    if isinstance(error, SyntaxError) and error.filename == full:
        return f"{path} line {error.lineno}"
    for frame in reversed(extract_tb(error.__traceback__)):
        if frame.filename == full:
            return f"{path} line {frame.lineno}" + ("" if frame.name == "<module>" else f", in {frame.name}")
    # SimPy makes the error of a process anew when that leaves a run.
    return None if error.__cause__ is None else place_in(path, error.__cause__)


def failure_in(path: str, error: BaseException) -> tuple[str, str, str] | None:
    """Return where, expected and found for an InputError about an error in the file; None if it came up elsewhere."""
    place = place_in(path, error)
    return None if place is None else (place, "code that runs", f"{type(error).__name__}: {error}")


@cache
def _run(full: str, path: str) -> ModuleType:
    name = f"cluster_sim_source_{abs(hash(full))}"
    found = spec_from_file_location(name, full)
    if found is None or found.loader is None:
        raise InputError(path, "a Python file", "one that Python does not know how to import")
    folder = str(Path(full).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    # As the documentation of importlib imports a file: dataclasses look their module up by its name.
    module = sys.modules[name] = module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        if isinstance(error, InputError):
            raise
        told = error.msg if isinstance(error, SyntaxError) else error
        raise InputError(place_in(path, error) or path, "Python that runs", f"{type(error).__name__}: {told}") from None
    return module
