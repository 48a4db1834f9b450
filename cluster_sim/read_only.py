"""What a view shows can be read by policies, and changed by the simulation alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class _Closed:
    """Base of the classes that :func:`closed` makes: attributes of their objects cannot be set."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set: policies yield decisions, see {DECISIONS}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted")


DECISIONS = "cluster_sim.run.decisions"


def _closed(kind: type) -> Any:
    if issubclass(kind, _Closed):
        return kind
    names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, _Closed), names)


closed: Callable[[type], Any] = cache(_closed)
"""Return the class whose objects are those of a class, read-only.

An object gets it when it has been built, ``self.__class__ = closed(type(self))``, which costs no call.
"""


def shown(thing: T) -> T:
    """Return an object for policies to see: from now on it is read-only."""
    thing.__class__ = closed(type(thing))
    return thing


def renew(seen: object, **values: object) -> None:
    """Set attributes of what policies can only read: for whoever makes the run."""
    for name, value in values.items():
        object.__setattr__(seen, name, value)


class ReadOnlyList(list[T]):
    """A list that is only read. Its owner changes it by the methods of ``list``: ``list.append(items, item)``."""

    __slots__ = ()


def refill(items: ReadOnlyList[T], values: Iterable[T]) -> None:
    """Put other values in place of those of a list, for its owner."""
    fresh = list(values)
    list.clear(items)
    list.extend(items, fresh)


class ReadOnlyDict(dict[str, T]):
    """A mapping that is only read. Its owner changes it by the methods of ``dict``."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type, tuple[dict[str, T]]]:
        """Support ``copy`` and ``pickle``, which would set item by item."""
        return ReadOnlyDict, (dict(self),)


def _refuse(items: object, *values: Any, **options: Any) -> NoReturn:
    raise TypeError(f"this is only read: policies yield decisions, see {DECISIONS}")


for _kind, _names in (
    (ReadOnlyList, "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__ __imul__"),
    (ReadOnlyDict, "clear pop popitem setdefault update __setitem__ __delitem__ __ior__"),
):
    for _name in _names.split():
        setattr(_kind, _name, _refuse)
