"""Tables of features: the columns of an observation, declared once and in order; code finds a column by its name.

A table is a class whose attributes are its columns::

    class Weather(FeatureTable):
        \"""What a sensor says.\"""

        warmth = feature("temperature", "over 40 °C")
        wind = feature("speed of the wind", "w / (w + 10 m/s)")

``Weather.wind`` is then 1, a plain number that indexes an array; ``Weather.size`` is 2; ``Weather.names`` are the
names, in order, and the manual has a table of their meanings. So no code names the number of a column, and a column
that is put in between moves the others everywhere. A trained agent knows columns by their numbers: new columns belong
at the end.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from cluster_sim.errors import SpecError

Of = TypeVar("Of", float, npt.NDArray[np.float64])

LONG_S = 1e6
"""Time whose logarithm counts as 1, s; so do longer times."""
_LOG_LONG = float(np.log1p(LONG_S))
ZERO, ONE = np.array(0.0), np.array(1.0)
"""Numbers as arrays: with a plain number, numpy takes twice as long for the few entries of a decision."""


class Feature(NamedTuple):
    """Column: its name, its meaning with the unit, and its scale."""

    name: str
    meaning: str
    scale: str


@dataclass(frozen=True)
class _Declared:
    """Declaration of one column, named as its attribute by default, or of several side by side."""

    columns: tuple[Feature, ...]
    is_block: bool


def feature(meaning: str, scale: str = "", name: str = "") -> Any:
    """Declare a column: in a :class:`FeatureTable` the attribute becomes its number."""
    return _Declared((Feature(name, meaning, scale),), False)


def block(names: Sequence[str], meaning: str, scale: str = "") -> Any:
    """Declare columns side by side with one meaning for different things: the attribute becomes their slice."""
    return _Declared(tuple(Feature(name, meaning, scale) for name in names), True)


def part(table: type[FeatureTable]) -> Any:
    """Declare all columns of another table: the attribute becomes their slice."""
    return _Declared(table.features, True)


class FeatureTable:
    """Base of tables of features; to declare one, derive from it and assign :func:`feature`, :func:`block` and :func:`part`."""

    features: ClassVar[tuple[Feature, ...]] = ()  #: The columns, in order.
    names: ClassVar[tuple[str, ...]] = ()  #: Their names.
    size: ClassVar[int] = 0  #: How many there are.

    def __init_subclass__(cls) -> None:
        """Number the columns in the order in which they are declared."""
        columns: list[Feature] = []
        for attribute, declared in list(vars(cls).items()):
            if isinstance(declared, _Declared):
                first = len(columns)
                columns += [column if column.name else column._replace(name=attribute) for column in declared.columns]
                setattr(cls, attribute, slice(first, len(columns)) if declared.is_block else first)
        cls.features = tuple(columns)
        cls.names = tuple(column.name for column in columns)
        cls.size = len(columns)
        if len(set(cls.names)) < cls.size:
            raise ValueError(f"{cls.__name__} has two features of one name")
        rows = [f"| {number} | {' | '.join(column)} |" for number, column in enumerate(columns)]
        table = ["| column | feature | what it is of | scale |", "|---|---|---|---|", *rows]
        cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", *table])


def span(first: int, last: int) -> slice:
    """Return the columns from one to another, both included."""
    return slice(first, last + 1)


def bounded(value: Of, half: float) -> Of:
    """Map values from 0 on to [0, 1): 0.5 at ``half``."""
    return value / (value + half)


def logarithmic(seconds: Of) -> Of:
    """Map times from 0 s on to [0, 1]: log(1 + s) / log(1 + LONG_S), 1 for longer times."""
    scaled: Of = np.minimum(np.log1p(seconds) / _LOG_LONG, 1.0)
    return scaled


def chosen(features: str, known: Sequence[str], where: str) -> tuple[str, ...]:
    """Return the names in ``a+b+c``, in the order of ``known``; all for an empty text. Raises SpecError for others."""
    wanted = [name.strip() for name in features.split("+")] if features else list(known)
    for name in wanted:
        if name not in known:
            raise SpecError(where, f"names among {', '.join(known)}, joined by +", name)
    return tuple(name for name in known if name in wanted)


def ranks(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return places in ascending order; of equal values the first comes first."""
    places = np.empty(len(values), np.int64)
    places[values.argsort(kind="stable")] = np.arange(len(values))
    return places
