"""The log of the nodes' states: when which node entered which state, in columns."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from cluster_sim.node_state import NodeState

if TYPE_CHECKING:
    import numpy.typing as npt

STATES = tuple(NodeState)
"""The states by their codes in the log."""

CODES = {state: code for code, state in enumerate(STATES)}

Change = tuple[float, int, NodeState, float]
"""(time s, node, state, W drawn when not on)."""


class TransitionLog(Sequence[Change]):
    """Rows (time s, node, new state, W drawn when not on), by time.

    Kept in columns: a run that switches its nodes has more of these than of anything else, and a list of tuples would
    have the garbage collector look at each of them again and again.
    """

    def __init__(self) -> None:
        self._times = array("d")
        self._nodes = array("q")
        self._codes = bytearray()
        self._watts = array("d")

    def add(self, time: float, nodes: Sequence[int], state: NodeState, watts: Sequence[float]) -> None:
        """Some nodes enter a state; ``watts`` are what each draws in it."""
        self._times.extend([time] * len(nodes))
        self._nodes.extend(nodes)
        self._codes.extend(bytes((CODES[state],)) * len(nodes))
        self._watts.extend(watts)

    def until(self, horizon: float) -> TransitionLog:
        """The rows up to a time, s."""
        stop, log = bisect_right(self._times, horizon), TransitionLog()
        log._times, log._nodes = self._times[:stop], self._nodes[:stop]
        log._codes, log._watts = self._codes[:stop], self._watts[:stop]
        return log

    def entering(self, state: NodeState, first: int) -> list[int]:
        """The nodes that entered a state in the rows from ``first`` on."""
        code = CODES[state]
        position = self._codes.find(code, first)
        nodes = []
        while position >= 0:
            nodes.append(self._nodes[position])
            position = self._codes.find(code, position + 1)
        return nodes

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """s, ascending, shape (rows,)."""
        return np.array(self._times, np.float64)

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """Nodes by position, shape (rows,)."""
        return np.array(self._nodes, np.int64)

    @property
    def codes(self) -> npt.NDArray[np.uint8]:
        """States as positions in STATES, shape (rows,)."""
        return np.frombuffer(bytes(self._codes), np.uint8)

    @property
    def watts(self) -> npt.NDArray[np.float64]:
        """W drawn when not on, shape (rows,)."""
        return np.array(self._watts, np.float64)

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, row: int) -> Change: ...
    @overload
    def __getitem__(self, row: slice) -> list[Change]: ...

    def __getitem__(self, row: int | slice) -> Change | list[Change]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        return self._times[row], self._nodes[row], STATES[self._codes[row]], self._watts[row]

    def __iter__(self) -> Iterator[Change]:
        states = map(STATES.__getitem__, self._codes)
        return zip(self._times, self._nodes, states, self._watts, strict=True)
