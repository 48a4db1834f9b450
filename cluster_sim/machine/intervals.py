"""Sets of integers: as maximal intervals, such as the nodes that have a free core, and as the bits of a number.

Allocations come in runs of neighbouring nodes, so that their number, not the size of the machine, is what operations cost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

_NEAR = 16
"""Numbers that are looked at one by one, before they are by the hundred."""


class IntervalSet:
    """Integers as a sorted list of bounds ``[first0, stop0, first1, stop1, …]``; adding and removing a run is a bisection."""

    __slots__ = ("bounds",)

    def __init__(self, first: int = 0, stop: int = 0):
        self.bounds = [first, stop] if stop > first else []  #: Of the maximal intervals: first, stop, first, stop, …

    def add(self, first: int, stop: int) -> None:
        """Add first … stop - 1; those already in it stay."""
        bounds = self.bounds
        # An even position lies outside all intervals, an odd one inside; neighbours that touch merge.
        left, right = bisect_left(bounds, first), bisect_right(bounds, stop)
        if left & 1:
            bounds[left:right] = () if right & 1 else (stop,)
        else:
            bounds[left:right] = (first,) if right & 1 else (first, stop)

    def remove(self, first: int, stop: int) -> None:
        """Take out first … stop - 1; those not in it are passed over."""
        bounds = self.bounds
        left, right = bisect_left(bounds, first), bisect_right(bounds, stop)
        if left & 1:
            bounds[left:right] = (first, stop) if right & 1 else (first,)
        else:
            bounds[left:right] = (stop,) if right & 1 else ()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Iterate over the maximal intervals as (first, stop), ascending."""
        bounds = iter(self.bounds)
        return zip(bounds, bounds, strict=True)

    def __contains__(self, number: int) -> bool:
        return bool(bisect_right(self.bounds, number) & 1)

    def covers(self, first: int, stop: int) -> bool:
        """Return whether all of first … stop - 1 are in it."""
        bounds = self.bounds
        position = bisect_right(bounds, first)
        return bool(position & 1) and stop <= bounds[position]

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def __len__(self) -> int:
        """Return how many integers there are."""
        return sum(self.bounds[1::2]) - sum(self.bounds[::2])

    def __repr__(self) -> str:
        return f"IntervalSet({', '.join(f'{first}-{stop - 1}' for first, stop in self)})"


def first_of_at_least(counts: npt.NDArray[Any], runs: Iterable[tuple[int, int]], least: int) -> int | None:
    """Return the first number in some runs (first, stop) whose count is ``least`` or more; None: there is none."""
    for first, stop in runs:
        # The answer is usually near, where Python's numbers are compared faster than numpy is called.
        for number, count in enumerate(counts[first : min(first + _NEAR, stop)].tolist(), first):
            if count >= least:
                return number
        # Then in growing windows: comparing a whole large machine is not free.
        first, window = first + _NEAR, 256
        while first < stop:
            enough = counts[first : min(first + window, stop)] >= least
            best = int(enough.argmax())
            if enough[best]:
                return first + best
            first += window
            window *= 4
    return None


def end_of_run(counts: npt.NDArray[Any], first: int, stop: int) -> int:
    """Return up to where before ``stop`` counts are the same as the first; runs are short, or very long."""
    if stop == first + 1 or counts.item(first + 1) != counts.item(first):
        return first + 1
    length = (counts[first:stop] == counts.item(first)).tobytes().find(b"\0")
    return stop if length < 0 else first + length


def lowest_bits(mask: int, count: int) -> int:
    """Return the ``count`` lowest set bits of ``mask`` (all of them if there are fewer)."""
    if mask.bit_count() <= count:
        return mask
    count = int(count)  # numpy's integers, of which users make placements, would overflow in the shifts
    taken = 0
    while count:
        low = (mask & -mask).bit_length() - 1
        run = ~(mask >> low)
        length = min((run & -run).bit_length() - 1, count)
        bits = ((1 << length) - 1) << low
        taken |= bits
        mask ^= bits
        count -= length
    return taken


def bits_of(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, lowest first."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
