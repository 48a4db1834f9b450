"""The cores that a job holds."""

from __future__ import annotations

from collections.abc import Sequence


class Allocation:
    """The cores that a job holds: single nodes by processor and core mask, runs of whole nodes as spans."""

    __slots__ = ("hold", "idle", "memory_mb", "pieces", "spans")

    def __init__(self, memory_mb: float) -> None:
        self.pieces: list[tuple[int, int, int, int]] = []  #: (node, processor, mask of its cores, how many)
        self.spans: list[tuple[int, int, int, int]] = []  #: (first node, stop node, first processor, stop processor)
        self.memory_mb = memory_mb  #: Memory of one task.
        self.idle: Sequence[tuple[int, int]] = ()  #: (node, cores) held beside, so that nobody else gets them.
        self.hold = -1  #: Its number in the ledger.


def lowest_bits(mask: int, count: int) -> int:
    """The ``count`` lowest set bits of ``mask`` (all of them if there are fewer)."""
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
