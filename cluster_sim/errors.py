"""Errors and warnings of the toolkit, one tree.

::

    ClusterSimError
    ├── InputError          what the user gave is wrong (also a ValueError); the command line exits with 2
    │   ├── FormatError     a file: malformed, truncated, an unknown reference, an impossible value
    │   ├── SpecError       a name or an option in a spec such as ``list:first/low_power``
    │   ├── OptionError     an option that a class does not have (also a TypeError)
    │   ├── MissingLibraryError   a library of an extra that is not installed (also an ImportError)
    │   └── ShadowedError   another module with the name of one of our packages (also an ImportError)
    └── SimulationError     a request that the state of the running simulation forbids
        ├── PlacementError  a placement on cores that are busy, absent or not ready
        ├── NodeStateError  a node asked for a transition that its state does not allow
        └── StallError      jobs wait, none starts, and a policy asks for ever to be woken; the command line exits with 2

    ModelWarning (UserWarning)   input that runs, but with a stated substitute for what it asks
    ├── CautionWarning      what a run assumes, or leaves out
    ├── SchedulerWarning    what only some schedulers do of it
    ├── StallWarning        a run in which nothing is left to happen while jobs wait
    └── UnfamiliarWarning   a run that is far from what an agent learned from
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PACKAGES = ("cluster_sim", "schedulers", "learning", "analysis")
"""The packages of the toolkit. Each uses those before it."""


class ClusterSimError(Exception):
    """Base of every error that the toolkit raises on purpose."""


class InputError(ClusterSimError, ValueError):
    """Wrong input, told in one line: where, what was expected, what was found."""

    def __init__(self, where: object, expected: str = "", found: object = None):
        if isinstance(where, InputError):  # Gymnasium makes an error anew, from itself or from its text alone
            where, expected, found = where.args
        self.where = str(where)
        self.expected = expected
        self.found = found
        # Exceptions are made anew from their arguments, by pickle between processes and by SimPy when one leaves a run.
        super().__init__(self.where, expected, found)

    def __str__(self) -> str:
        line = f"{self.where}: expected {self.expected}" if self.expected else self.where
        if self.found is not None:
            value = self.found
            if hasattr(value, "item") and getattr(value, "shape", None) == ():
                value = value.item()  # a numpy scalar, which would print its type
            text = value if isinstance(value, str) else repr(value)
            text = printable(text) if text.strip() else "nothing"
            shortened = text if len(text) <= 120 else text[: 120 - 1] + "…"
            line += f", found {shortened}"
        return printable(" ".join(line.split()))


class FormatError(InputError):
    """A file that cannot be read; ``where`` names the file and the line or key."""


class SpecError(InputError):
    """A registry name or an option of one that does not exist or has a wrong value."""


class OptionError(InputError, TypeError):
    """An option that a class does not have. Libraries that try options out, as TorchRL does, know Python's words for it."""

    def __init__(self, where: object, expected: str = "", found: object = None):
        super().__init__(where if found is None else f"{where}, unexpected keyword argument '{found}'", expected)


class MissingLibraryError(InputError, ImportError):
    """A library of an extra that is not installed; it says how to install it."""


class ShadowedError(InputError, ImportError):
    """Raised where a file or package of the user's has the name of one of our packages."""


class SimulationError(ClusterSimError):
    """A request that the state of the running simulation forbids."""


class PlacementError(SimulationError):
    """A placement on cores that are busy, absent or not ready."""


class NodeStateError(SimulationError):
    """A node asked for a transition that its state does not allow."""


class StallError(SimulationError):
    """Jobs wait and none starts, as none can under these policies, one of which asks again and again to be woken."""


class ModelWarning(UserWarning):
    """The input runs, but with a stated substitute for something it asks."""


class CautionWarning(ModelWarning):
    """An assumption of a run where its inputs say nothing, or something left out; ``result.cautions`` has it, too."""


class SchedulerWarning(ModelWarning):
    """Something that the input asks is done by some schedulers only."""


class StallWarning(ModelWarning):
    """Warns that no event is left in a run while jobs still wait; ``cause`` says why, as a clause."""

    def __init__(self, text: str, cause: str = ""):
        super().__init__(text)
        self.cause = cause


class UnfamiliarWarning(ModelWarning):
    """A run, of the workload ``log`` where there are several, is far from what ``agent``, a spec, has learned from."""

    def __init__(self, text: str, agent: str = "", log: str = ""):
        super().__init__(text)
        self.agent, self.log = agent, log


_LISTENING: ContextVar[list[Warning] | None] = ContextVar("listening", default=None)
"""Where the warnings of this thread go; None: to Python's own."""


def warn_user(warning: Warning) -> None:
    """Warn at the user's line: from here outwards the first that is neither the toolkit's nor SimPy's.

    For what comes up in a reader of a format or in a process of a run, whose callers are many, and not the same for each.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_no_users(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warn(warning, level)


def warn(warning: Warning, level: int = 1) -> None:
    """Warn as ``warnings.warn`` does with ``level`` as its stacklevel; within :func:`heard` only that one is told."""
    listening = _LISTENING.get()
    if listening is None:
        warnings.warn(warning, stacklevel=level + 1)
    else:
        listening.append(warning)


@contextmanager
def heard() -> Iterator[list[Warning]]:
    """Collect the toolkit's warnings in a list, in this thread alone; Python's own way of it is of the whole process."""
    found: list[Warning] = []
    token = _LISTENING.set(found)
    try:
        yield found
    finally:
        _LISTENING.reset(token)


def at_users_line(what: str) -> str:
    """Return ``what`` with the file and line where the user asked for it: for errors in a process of a run."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_no_users(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return f"{frame.f_code.co_filename} line {frame.f_lineno}, {what}"


def _is_no_users(module: str) -> bool:
    return module.partition(".")[0] in (*PACKAGES, "simpy")


def unfamiliar_to(*policies: object) -> list[UnfamiliarWarning]:
    """Return what the agents among the schedulers and power policies have warned of in their last run."""
    return [one for policy in policies if (one := getattr(policy, "unfamiliar", None)) is not None]


@contextmanager
def naming(path: object) -> Iterator[None]:
    """Put the name of a file before what is wrong with what it asks for, unless that is named already."""
    try:
        yield
    except InputError as error:
        if str(path) in error.where:
            raise
        raise type(error)(f"{path}: {error.where}", error.expected, error.found) from None


def printable(text: str) -> str:
    """Return ``text`` from a file or a path, in which whatever could steer a terminal or break the line is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def counted(count: int, noun: str, ending: str = "s") -> str:
    """Return a number with its noun: ``1 core``, ``8 cores``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{ending}"


def few(names: Iterable[object], most: int) -> str:
    """Return the first ``most`` names, and ``…`` if there are more: ``a, b, …``."""
    all_of_them = list(map(str, names))
    return ", ".join(all_of_them[:most]) + ", …" * (len(all_of_them) > most)


def told_apart(value: object) -> object:
    """Return a value for a message that expects another type: text that reads as a number or a truth is in quotes.

    An integer of thousands of digits cannot be printed.
    """
    if not isinstance(value, str):
        return "a huge integer" if isinstance(value, int) and abs(value) > 10**30 else value
    try:
        float(value)
    except ValueError:
        return f'"{value}"' if value.lower() in ("true", "false") else value
    return f'"{value}"'
