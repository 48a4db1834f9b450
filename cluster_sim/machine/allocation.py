"""What a job or a guest holds of the machine: cores and memory."""

from __future__ import annotations

from collections.abc import Sequence

NOBODY = -1
"""The tenant of cores that are held where no run asks whose they are. Attempts of jobs count from 0, guests down from -2."""


class Allocation:
    """The holdings of a tenant: cores by processor and mask, runs of whole nodes as spans, and memory."""

    __slots__ = ("hold", "idle", "memory_mb", "node", "pieces", "spans")

    def __init__(self, memory_mb: float) -> None:
        self.pieces: list[tuple[int, int, int, int]] = []  #: (node, processor, mask of its cores, how many)
        self.spans: list[tuple[int, int, int, int]] = []  #: (first node, stop node, first processor, stop processor)
        self.memory_mb = memory_mb  #: Memory with each core, of one task; of a guest, with all of them,
        self.node = -1  #: and on which node; -1 of a job.
        self.idle: Sequence[tuple[int, int]] = ()  #: (node, cores) held beside, so that nobody else gets them.
        self.hold = -1  #: Its number in the ledger, which says whose it is.


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
