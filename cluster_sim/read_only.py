"""What a view shows can be read by policies, and changed by the simulation alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class ReadOnly:
    """Base of objects whose attributes cannot be set once they are made: :meth:`_close` ends that."""

    def _close(self) -> None:
        vars(self)["_is_closed"] = True

    def __setattr__(self, name: str, value: object) -> None:
        if "_is_closed" in vars(self):
            raise AttributeError(
                f"{type(self).__name__}.{name} cannot be set: policies yield decisions, see {DECISIONS}"
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted")


DECISIONS = "cluster_sim.run.decisions"


def renew(shown: ReadOnly, **values: object) -> None:
    """Set attributes of what policies can only read: for whoever makes the run."""
    vars(shown).update(values)


class ReadOnlyList(list[T]):
    """A list that is only read. Its owner changes it by the methods of ``list``: ``list.append(items, item)``."""


def refill(items: ReadOnlyList[T], values: Iterable[T]) -> None:
    """Put other values in place of those of a list, for its owner."""
    fresh = list(values)
    list.clear(items)
    list.extend(items, fresh)


def _refuse(items: object, *values: Any, **options: Any) -> NoReturn:
    raise TypeError(f"this list is only read: policies yield decisions, see {DECISIONS}")


for _name in (
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"),
    *("__setitem__", "__delitem__", "__iadd__", "__imul__"),
):
    setattr(ReadOnlyList, _name, _refuse)
