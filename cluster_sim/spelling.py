"""Guesses of what an unknown name was meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from cluster_sim.errors import ModelWarning, warn_user

_TOLD = 8
"""Unknown keys of a file that a warning names."""
_SPELLED_SO = 0.7
"""Likeness (1: equal) from which on a known key is told as what an unknown one may mean."""


class UnknownKeys:
    """The keys of a file that its reader does not know, gathered while it is read and told in one ModelWarning.

    For other programs' formats, which may hold more than is read here, and in which a misspelt key must not go unnoticed.
    Formats of our own refuse such keys (``native_platform.OwnKeys``). Give what a reader passes over on purpose as
    ``ignored``: it is not told, and a key that is near to it is.
    """

    def __init__(self, source: object):
        self._source = source
        self._found: dict[str, str] = {}  # what is told of each, by the key

    def look(
        self,
        mapping: Iterable[str],
        known: Iterable[str],
        place: str,
        ignored: Iterable[str] = (),
        takes_others: bool = False,
    ) -> None:
        """Note which keys of a mapping, which stands at ``place`` in the file, are neither known nor ignored.

        If the mapping ``takes_others``, keys of a user's own, only those are noted that are near to known ones.
        """
        for key in mapping:
            if key in known or key in ignored or key in self._found:
                continue
            close = near(str(key), sorted({*known, *ignored}), least=_SPELLED_SO)
            if takes_others and not close:
                continue
            hint = f" (the nearest known key is '{close[0]}')" if close else ""
            self._found[key] = f"'{key}' in {place}{hint}"

    def tell(self) -> None:
        """Warn of what was found; keys that are near to known ones come first."""
        if not self._found:
            return
        told = sorted(self._found.values(), key=lambda text: not text.endswith(")"))
        shown = ", ".join(told[:_TOLD]) + (f" and {len(told) - _TOLD} more" if len(told) > _TOLD else "")
        warn_user(ModelWarning(f"{self._source}: keys that have no meaning here are passed over: {shown}"))


def near(name: str, known: Iterable[str], count: int = 1, least: float = 0.6) -> list[str]:
    """Return at most ``count`` known names that ``name`` may stand for, the likeliest first.

    First come names that are spelled almost so (``requsted_time``), then names with words of it, and last names that are
    at least ``least`` alike (1: equal). Of several with the same words the first known one is taken: ``cores`` is rather
    ``requested_cores`` than ``used_cores``. The case of letters does not count; names are given as they are spelled.

    >>> near("cores", ["job_id", "requested_cores", "used_cores"])
    ['requested_cores']
    >>> near("priorityweightfairshar", ["PriorityWeightAge", "PriorityWeightFairshare"])
    ['PriorityWeightFairshare']
    """
    from difflib import get_close_matches

    spelled = {each.lower(): each for each in reversed(list(known))}
    words, name, lowered = {name.lower(), *_words(name)}, name.lower(), list(reversed(spelled))
    common = {each: len(words.intersection(_words(spelled[each]))) for each in lowered}
    with_words = sorted((each for each in lowered if common[each]), key=lambda each: -common[each])
    found = [
        *get_close_matches(name, lowered, count, 0.8),
        *with_words,
        *get_close_matches(name, lowered, count, least),
    ]
    return [spelled[each] for each in dict.fromkeys(found)][:count]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the most likely known name for ``name``, in words: ``submit_time (the nearest known name)``."""
    known = list(known)
    close = near(name, known, least=0.5)
    return f"{close[0]} (the nearest known name)" if close else f"one of {', '.join(known)}"


def no_attribute(thing: object, called: str, name: str, expected: str = "") -> AttributeError:
    """Return the error of a name that a thing, which is ``called`` so, does not have; it tells what is ``expected``."""
    return AttributeError(f"{called} has no {name}{expected and f': expected {expected}'}", name=name, obj=thing)


def guessed(thing: object, name: str, instead: Mapping[str, str]) -> AttributeError:
    """Return the error that a ``__getattr__`` raises: it tells what stands ``instead`` of a guess, or the nearest public name."""
    kind, expected = type(thing), ""
    if not name.startswith("_") and not hasattr(kind, name):
        expected = instead.get(name) or nearest(name, [each for each in dir(kind) if not each.startswith("_")])
    return no_attribute(thing, kind.__name__, name, expected)


class Guess:
    """A name that people guess and a class does not have: reading it raises AttributeError with what stands in its place.

    For classes whose attributes are read often: ``__getattr__`` would make each of these reads slower.
    """

    def __init__(self, instead: str):
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, thing: object, kind: type) -> NoReturn:
        raise no_attribute(thing, kind.__name__, self._name, self._instead)


def one_of(name: str, known: Iterable[str]) -> str:
    """Return all known names in words, and the nearest of them if one is near; for a few names."""
    known = list(known)
    return f"one of {', '.join(known)}{hint(name, known)}"


def hint(name: str, known: Iterable[str]) -> str:
    """Return which of several known names is the nearest, to stand behind a list of them; empty if none is near."""
    known = list(known)
    close = near(name, known)
    return f" (the nearest is {close[0]})" if close and len(known) > 1 else ""


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.split(r"[-_. /]+|(?<=[a-z])(?=[A-Z])", name)]
