"""The table of a backfill pass: which nodes are not promised to anybody, from when to when."""

from __future__ import annotations

from schedulers.slurm.nodes import NodeSet


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
        """Whether there is no room for another reservation."""
        return self._made >= self._size

    def over(self, nodes: NodeSet, start: float, end: float) -> tuple[NodeSet, float]:
        """Those of the nodes that are in no plan from ``start`` to ``end`` (s), and when more of them come free; 0: not.

        That is looked for in the records that overlap the time, and the one after them.
        """
        later, candidates = 0.0, nodes
        begins, ends, table = self._begins, self._ends, self._nodes
        last = len(begins) - 1
        for index in range(last + 1):
            if ends[index] <= start:
                continue
            if not later and index < last and table[index + 1] & ~table[index] & candidates:
                later = ends[index]
            if begins[index] > end:
                break
            nodes &= table[index]
        return nodes, later

    def overlaps(self, nodes: NodeSet, start: float, end: float) -> bool:
        """Whether any of the nodes is in a plan between ``start`` and ``end``."""
        return any(
            nodes & ~kept
            for begins, ends, kept in zip(self._begins, self._ends, self._nodes, strict=True)
            if ends > start and begins < end
        )

    def reserve(self, nodes: NodeSet, start: float, end: float) -> None:
        """Take nodes out of every record from ``start`` to ``end``; records are split there, and joined where they can be."""
        self._split(start)
        self._split(end)
        begins, ends, table = self._begins, self._ends, self._nodes
        for index, (begin, stop) in enumerate(zip(begins, ends, strict=True)):
            if begin >= start and stop <= end:
                table[index] &= ~nodes
        for index in range(len(begins) - 1, 0, -1):
            if table[index] == table[index - 1]:
                ends[index - 1] = ends[index]
                del begins[index], ends[index], table[index]

    def _split(self, time: float) -> None:
        for index, (begin, end) in enumerate(zip(self._begins, self._ends, strict=True)):
            if begin < time < end:
                self._begins.insert(index + 1, time)
                self._ends.insert(index + 1, end)
                self._nodes.insert(index + 1, self._nodes[index])
                self._ends[index] = time
                self._made += 1
                return
