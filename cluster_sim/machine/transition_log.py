"""The log of the nodes' states: when which node entered which state, in columns."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    import numpy.typing as npt

STATES = tuple(NodeState)
"""The states by their codes in the log."""

CODES = {state: code for code, state in enumerate(STATES)}

Change = tuple[float, int, NodeState, float]
"""(time s, node, state, W drawn when not on)."""


class TransitionLog(Sequence[Change]):
    """Rows (time s, node, new state, W drawn when not on), by time; policies see them, and the switching alone adds to them.

    They are kept in columns, of changes and of nodes: there may be more of them than of anything else. The garbage
    collector would look at each tuple of a list again and again.
    """

    def __init__(self) -> None:
        self._times = array("d")  # of each change
        self._codes = bytearray()
        self._stops = array("q")  # the rows up to and with it
        self._nodes = array("q")  # of each row
        self._watts = array("d")

    def _add(self, time: float, nodes: Sequence[int], state: NodeState, watts: Sequence[float]) -> None:
        """Enter that some nodes enter a state; ``watts`` are what each draws in it."""
        self._times.append(time)
        self._codes.append(CODES[state])
        self._nodes.extend(nodes)
        self._watts.extend(watts)
        self._stops.append(len(self._nodes))

    def until(self, horizon: float) -> TransitionLog:
        """Return the rows up to a time, s."""
        changes, log = bisect_right(self._times, horizon), TransitionLog()
        rows = self._stops[changes - 1] if changes else 0
        log._times, log._codes, log._stops = self._times[:changes], self._codes[:changes], self._stops[:changes]
        log._nodes, log._watts = self._nodes[:rows], self._watts[:rows]
        return log

    def entering(self, state: NodeState, first: int) -> list[int]:
        """Return the nodes that entered a state in the rows from ``first`` on, with which a change has to begin."""
        nodes: list[int] = []
        change = self._codes.find(CODES[state], bisect_right(self._stops, first))
        while change >= 0:
            nodes += self._nodes[self._stops[change - 1] if change else 0 : self._stops[change]]
            change = self._codes.find(CODES[state], change + 1)
        return nodes

    def entries(self, state: NodeState, start: float, end: float) -> int:
        """Return how often nodes entered a state from ``start`` on and before ``end``, s."""
        count, stop = 0, bisect_left(self._times, end)
        change = self._codes.find(CODES[state], bisect_left(self._times, start), stop)
        while change >= 0:
            count += self._stops[change] - (self._stops[change - 1] if change else 0)
            change = self._codes.find(CODES[state], change + 1, stop)
        return count

    def _by_row(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Repeat what is known of each change for each of its rows."""
        stops = np.zeros(len(self._stops) + 1, np.int64)
        stops[1:] = self._stops
        return np.repeat(values, stops[1:] - stops[:-1])

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """Return the times of the rows, s, ascending, shape (rows,)."""
        return self._by_row(np.array(self._times, np.float64))

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """Return nodes by position, shape (rows,)."""
        return np.array(self._nodes, np.int64)

    @property
    def codes(self) -> npt.NDArray[np.uint8]:
        """Return states as positions in STATES, shape (rows,)."""
        return self._by_row(np.frombuffer(bytes(self._codes), np.uint8))

    @property
    def watts(self) -> npt.NDArray[np.float64]:
        """Return W drawn when not on, shape (rows,)."""
        return np.array(self._watts, np.float64)

    def __len__(self) -> int:
        return len(self._nodes)

    @overload
    def __getitem__(self, row: int) -> Change: ...
    @overload
    def __getitem__(self, row: slice) -> list[Change]: ...

    def __getitem__(self, row: int | slice) -> Change | list[Change]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        node, watts = self._nodes[row], self._watts[row]  # raise IndexError beyond the end
        change = bisect_right(self._stops, row % len(self))
        return self._times[change], node, STATES[self._codes[change]], watts

    def __iter__(self) -> Iterator[Change]:
        states = map(STATES.__getitem__, self.codes.tolist())
        return zip(self.times.tolist(), self._nodes, states, self._watts, strict=True)
