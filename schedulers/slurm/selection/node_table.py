"""The table of a backfill pass: which nodes are not promised to anybody, from when to when."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from schedulers.slurm.selection.node_sets import NodeSet


class NodeTable:
    """Records in order of time, without gaps: begin, end (s), nodes. The first begins now, rounded down.

    Neighbours with the same nodes are one record, but what was ever made counts against its ``size``.
    """

    def __init__(self, begin: float, end: float, nodes: NodeSet, size: int):
        self._begins = [begin]
        self._ends = [end]
        self._nodes = [nodes]
        self._made = 1
        self._size = size

    @property
    def is_full(self) -> bool:
        """Return whether there is no room for another reservation."""
        return self._made >= self._size

    def over(self, nodes: NodeSet, start: float, end: float) -> tuple[NodeSet, float]:
        """Return the nodes that are in no plan from ``start`` to ``end`` (s), and when more of them come free; 0: not.

        That is looked for in the records that overlap the time, and the one after them.
        """
        later, candidates = 0.0, nodes
        begins, ends, table = self._begins, self._ends, self._nodes
        last = len(begins) - 1
        for index in range(bisect_right(ends, start), last + 1):
            if not later and index < last and table[index + 1] & ~table[index] & candidates:
                later = ends[index]
            if begins[index] > end:
                break
            nodes &= table[index]
        return nodes, later

    def first_open(
        self, nodes: NodeSet, start: float, length: float, least: int, not_before: float
    ) -> tuple[float, NodeSet, float]:
        """Return the first time from ``start`` on at which ``least`` nodes are in no plan for ``length`` s.

        With it come these nodes, and when more are.

        As long as more nodes come free before ``not_before`` it goes on, too; and it ends where none come free.
        """
        begins, ends, table = self._begins, self._ends, self._nodes
        last = len(begins) - 1
        start, index = self._gone_on(nodes, start, length, not_before)
        while True:
            later, following = 0.0, 0
            left, end = nodes, start + length
            for place in range(index, last + 1):
                kept = table[place]
                if not later and place < last and table[place + 1] & ~kept & nodes:
                    later, following = ends[place], place + 1
                if begins[place] > end:
                    break
                left &= kept
                if later and left.bit_count() < least:
                    break
            if not later or left.bit_count() >= least:
                return start, left, later
            start, index = later, following

    def _gone_on(self, nodes: NodeSet, start: float, length: float, not_before: float) -> tuple[float, int]:
        """Return the last time before ``not_before`` that :meth:`first_open` comes to, and the record that begins then.

        From each time it sees as far as to the record after those that overlap its length.
        """
        begins, ends, table = self._begins, self._ends, self._nodes
        index = bisect_right(ends, start)
        most = min(bisect_left(ends, not_before), len(begins) - 1)
        while True:
            place = min(bisect_right(begins, start + length) + 1, most) - 1
            while place >= index and not table[place + 1] & ~table[place] & nodes:
                place -= 1
            if place < index:
                return start, index
            start, index = ends[place], place + 1

    def overlaps(self, nodes: NodeSet, start: float, end: float) -> bool:
        """Return whether any of the nodes is in a plan between ``start`` and ``end``."""
        table = self._nodes
        first, last = bisect_right(self._ends, start), bisect_left(self._begins, end)
        return any(nodes & ~table[index] for index in range(first, last))

    def reserve(self, nodes: NodeSet, start: float, end: float) -> None:
        """Take nodes out of every record from ``start`` to ``end``; records are split there, and joined where they can be."""
        self._split(start)
        self._split(end)
        begins, ends, table = self._begins, self._ends, self._nodes
        first, last = bisect_left(begins, start), bisect_right(ends, end)
        for index in range(first, last):
            table[index] &= ~nodes
        for index in range(min(last, len(begins) - 1), max(first, 1) - 1, -1):
            if table[index] == table[index - 1]:
                ends[index - 1] = ends[index]
                del begins[index], ends[index], table[index]

    def _split(self, time: float) -> None:
        index = bisect_right(self._ends, time)
        if index < len(self._begins) and self._begins[index] < time:
            self._begins.insert(index + 1, time)
            self._ends.insert(index, time)
            self._nodes.insert(index + 1, self._nodes[index])
            self._made += 1
