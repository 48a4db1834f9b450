"""Ranges of cores, and what they mean for processors and nodes, in bulk.

A range (tenant, first core, last core) is cut at the bounds of *units*, which are processors or nodes. **Runs** are units
that the range holds entirely, so that no other tenant can be there; **pieces** are single units that it may share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Holds:
    """Cores held over time, one row each: whose, which (first and last by their global indices), from when to when (s)."""

    tenant: Ints
    first: Ints
    last: Ints
    start: Floats
    end: Floats

    def __add__(self, other: Holds) -> Holds:
        """Return the rows of both."""
        pairs = zip(self._columns, other._columns, strict=True)
        return Holds(*(np.concatenate(pair) for pair in pairs))

    @property
    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        return self.tenant, self.first, self.last, self.start, self.end

    def where(self, rows: npt.NDArray[np.bool_] | Ints | slice) -> Holds:
        """Return some of the rows: those where a mask is true, or of these numbers, in their order."""
        return Holds(self.tenant[rows], self.first[rows], self.last[rows], self.start[rows], self.end[rows])

    def of(self, tenant: Ints) -> Holds:
        """Return the same rows as held by other tenants."""
        return Holds(tenant, self.first, self.last, self.start, self.end)

    def joined(self, apart: npt.NDArray[np.bool_] | None = None) -> Holds:
        """Join rows that follow each other if a tenant holds neighbouring cores in the same time.

        Those of ``apart`` do not join the row before.
        """
        begins = self.beginnings(apart)
        ends = np.append(begins[1:], len(self.tenant)) - 1 if len(begins) else begins
        return Holds(self.tenant[begins], self.first[begins], self.last[ends], self.start[begins], self.end[begins])

    def beginnings(self, apart: npt.NDArray[np.bool_] | None = None) -> Ints:
        """Return the number of the first row of each of those that :meth:`joined` makes."""
        tenant, first, last, start, end = self._columns
        fresh = np.ones(len(tenant), dtype=bool)
        fresh[1:] = (
            (tenant[1:] != tenant[:-1])
            | (start[1:] != start[:-1])
            | (end[1:] != end[:-1])
            | (first[1:] != last[:-1] + 1)
        )
        return np.flatnonzero(fresh if apart is None else fresh | apart)

    def within(self, begin: int, stop: int) -> Holds:
        """Return what is held of cores ``begin`` … ``stop`` - 1."""
        part = self.where((self.first < stop) & (self.last >= begin))
        first, last = np.maximum(part.first, begin), np.minimum(part.last, stop - 1)
        return Holds(part.tenant, first, last, part.start, part.end)


@dataclass(frozen=True, slots=True)
class Runs:
    """Units ``first`` … ``stop`` - 1 that a tenant holds entirely."""

    tenant: Ints
    first: Ints
    stop: Ints
    start: Floats
    end: Floats

    def expanded(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Return (tenant, unit, start, end), one row per unit."""
        count = self.stop - self.first
        return (
            np.repeat(self.tenant, count),
            spread(self.first, count),
            np.repeat(self.start, count),
            np.repeat(self.end, count),
        )


@dataclass(frozen=True, slots=True)
class HeldCores:
    """``cores`` cores of one unit that a tenant holds."""

    tenant: Ints
    unit: Ints
    cores: Ints
    start: Floats
    end: Floats


def cut(holds: Holds, bounds: Ints) -> tuple[Runs, HeldCores]:
    """Cut holds at the bounds of units; ``bounds`` are the units' first cores and the core count, ascending."""
    first_unit = np.searchsorted(bounds, holds.first, side="right") - 1
    last_unit = np.searchsorted(bounds, holds.last, side="right") - 1
    begin = first_unit + (holds.first > bounds[first_unit])
    stop = last_unit + (holds.last == bounds[last_unit + 1] - 1)
    has_run = begin < stop
    runs = Runs(holds.tenant[has_run], begin[has_run], stop[has_run], holds.start[has_run], holds.end[has_run])
    head = (holds.first > bounds[first_unit]) | (first_unit == last_unit) & ~has_run
    tail = (holds.last < bounds[last_unit + 1] - 1) & (first_unit != last_unit)
    head_cores = np.minimum(bounds[first_unit + 1] - 1, holds.last) - holds.first + 1
    tail_cores = holds.last - bounds[last_unit] + 1
    pieces = HeldCores(
        np.concatenate([holds.tenant[head], holds.tenant[tail]]),
        np.concatenate([first_unit[head], last_unit[tail]]),
        np.concatenate([head_cores[head], tail_cores[tail]]),
        np.concatenate([holds.start[head], holds.start[tail]]),
        np.concatenate([holds.end[head], holds.end[tail]]),
    )
    return runs, pieces


def units_of(holds: Holds, bounds: Ints) -> tuple[Ints, Ints]:
    """Return the first unit that each hold touches, and how many it touches."""
    first = np.searchsorted(bounds, holds.first, side="right") - 1
    return first, np.searchsorted(bounds, holds.last, side="right") - first


def by_unit(holds: Holds, bounds: Ints, most: Ints | None = None) -> tuple[Holds, Ints]:
    """Cut holds at the bounds of units: a row for each unit that they touch, and which unit that is.

    With ``most`` only the first so many of each hold.
    """
    first_unit, count = units_of(holds, bounds)
    if most is not None:
        count = np.minimum(count, most)
    unit = spread(first_unit, count)
    pieces = holds.where(np.repeat(np.arange(len(count)), count))
    first, last = np.maximum(pieces.first, bounds[unit]), np.minimum(pieces.last, bounds[unit + 1] - 1)
    return Holds(pieces.tenant, first, last, pieces.start, pieces.end), unit


def spread(first: Ints, count: Ints) -> Ints:
    """Return first, first + 1, …, ``count`` numbers for each entry, concatenated."""
    total = int(count.sum())
    offsets = np.repeat(np.cumsum(count) - count, count)
    return np.repeat(first, count) + np.arange(total) - offsets


def seconds_in_runs(runs: Runs, units: int) -> Floats:
    """Return seconds that each unit is held entirely, shape (units,)."""
    change = np.zeros(units + 1)
    duration = runs.end - runs.start
    np.add.at(change, runs.first, duration)
    np.subtract.at(change, runs.stop, duration)
    return np.cumsum(change)[:-1]


@dataclass(frozen=True, slots=True)
class HeldSteps:
    """The cores held of each shared unit as a step function: rows sorted by unit, then time.

    ``row_of_start`` and ``row_of_end`` say for each piece where it begins and ends to count.
    """

    unit: Ints
    seconds: Floats
    cores: Ints
    time: Floats
    row_of_start: Ints
    row_of_end: Ints


def steps(pieces: HeldCores) -> HeldSteps:
    """Return the step function of the pieces' cores on each unit."""
    count = len(pieces.tenant)
    unit = np.concatenate([pieces.unit, pieces.unit])
    time = np.concatenate([pieces.start, pieces.end])
    change = np.concatenate([pieces.cores, -pieces.cores])
    order = np.lexsort((time, unit))
    row = np.empty(2 * count, np.int64)
    row[order] = np.arange(2 * count)
    unit, time = unit[order], time[order]
    held = np.cumsum(change[order])
    seconds = np.zeros(2 * count)
    if count:
        # Over the last row of a unit nothing is held, so the jump to the next unit's first row lasts no time.
        seconds[:-1] = np.where(unit[1:] == unit[:-1], time[1:] - time[:-1], 0.0)
    # In the middle of an instant cores that change hands count twice, or less than nothing: only what lasts counts.
    held[seconds == 0.0] = 0
    return HeldSteps(unit, seconds, held, time, row[:count], row[count:])


def busy_intervals(holds: Holds, bounds: Ints) -> tuple[Ints, Floats, Floats]:
    """Return maximal intervals (unit, start, end) in which some core of a unit is held, sorted by unit and start."""
    pieces, unit = by_unit(holds, bounds)
    table = steps(HeldCores(pieces.tenant, unit, pieces.last - pieces.first + 1, pieces.start, pieces.end))
    lasting = table.seconds > 0.0
    unit, time, seconds = table.unit[lasting], table.time[lasting], table.seconds[lasting]
    busy = table.cores[lasting] > 0
    unit, start, end = unit[busy], time[busy], time[busy] + seconds[busy]
    if not len(unit):
        return unit, start, end
    stop = table.time[np.flatnonzero(lasting)[busy] + 1]  # the next row's time itself, which start + seconds rounds
    breaks: npt.NDArray[Any] = np.flatnonzero((unit[1:] != unit[:-1]) | (start[1:] != stop[:-1])) + 1
    begins = np.concatenate([[0], breaks])
    ends = np.concatenate([breaks, [len(unit)]]) - 1
    return unit[begins], start[begins], stop[ends]
