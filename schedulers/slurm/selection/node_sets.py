"""Sets of nodes as the bits of a whole number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
"""One entry per node."""

NodeSet = int
"""Set of nodes: bit i stands for node i, by its position in the platform."""


def set_of(nodes: Sequence[int]) -> NodeSet:
    """Return the set of some nodes."""
    octets = bytearray((max(nodes, default=0) >> 3) + 1)
    for node in nodes:
        octets[node >> 3] |= 1 << (node & 7)
    return int.from_bytes(octets, "little")


def bits(mask: NodeSet) -> npt.NDArray[np.uint8]:
    """Return a set of nodes as zeros and ones, one for each node up to the last of the set, and some zeros."""
    octets = mask.to_bytes((mask.bit_length() >> 3) + 1, "little")
    return np.unpackbits(np.frombuffer(octets, np.uint8), bitorder="little")


def members(mask: NodeSet) -> list[int]:
    """Return the nodes of a set, rising."""
    found: list[int] = bits(mask).nonzero()[0].tolist()
    return found


def edges(mask: NodeSet) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first node of each run of consecutive nodes of a set, and the first node after each."""
    changes = bits(mask ^ (mask << 1)).nonzero()[0]
    return changes[::2], changes[1::2]


def runs(mask: NodeSet) -> Iterator[tuple[int, int]]:
    """Return first node and length of each run of consecutive nodes of a set."""
    base = 0
    while mask:
        gap = (mask & -mask).bit_length() - 1
        mask >>= gap
        length = (~mask & (mask + 1)).bit_length() - 1
        yield base + gap, length
        base += gap + length
        mask >>= length


def set_where(nodes: npt.NDArray[np.bool_]) -> NodeSet:
    """Return the set of the nodes where the mask, shape (nodes,), is true."""
    return int.from_bytes(np.packbits(nodes, bitorder="little").tobytes(), "little")
