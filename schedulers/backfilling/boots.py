"""Boots of a plan: which nodes have to boot for a job that gets them. Meanwhile nothing else starts there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.engine import SAME_INSTANT
from cluster_sim.machine.placement import Placement

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job


class Boots:
    """The boots that jobs of a plan need: of those that have been started in this pass, and of those promised a start.

    ``needed`` is how long each node has to boot, s, shape (nodes,), or None if no node has to. A node that boots for one
    job can be had by no other until it is on; jobs that start there in the same instant boot it together. Whether an
    earlier job will have booted a node does not count: that job may go elsewhere.
    """

    def __init__(self, needed: npt.NDArray[np.float64] | None):
        self.needed = needed
        #: Boots that are worth telling apart, s, the shortest first: a place that needs none is looked for first.
        self.lengths: list[float] = [0.0] if needed is None else sorted({0.0, *needed.tolist()})
        self._begun: dict[int, tuple[float, npt.NDArray[np.int64]]] = {}  # by job: when, and which nodes boot
        self._table: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]] | None = None  # the same in columns

    def delay(self, placement: Placement) -> float:
        """Return how long a job would wait for the slowest boot of its nodes, s."""
        if self.needed is None:
            return 0.0
        return max(float(self.needed[first:stop].max()) for first, stop, _ in placement.spans)

    def add(self, job: Job, start: float, placement: Placement | None) -> None:
        """Note that a job is to get these nodes at ``start``, s."""
        if self.needed is not None and placement is not None:
            nodes = np.array(placement.nodes, np.int64)
            nodes = nodes[self.needed[nodes] > 0.0]
            if len(nodes):
                self._begun[job.index] = start, nodes
                self._table = None

    def remove(self, job: Job) -> None:
        """Take back the nodes that a job was to boot."""
        if self._begun.pop(job.index, None) is not None:
            self._table = None

    def within(self, room: npt.NDArray[np.int64], start: float, longest: float) -> npt.NDArray[np.int64]:
        """Return what a job that starts then can have of the room on each node.

        None of its nodes boots longer than ``longest``.
        """
        if self.needed is None:
            return room
        closed = self.needed > longest
        if self._begun:
            if self._table is None:
                starts = [np.full(len(nodes), start) for start, nodes in self._begun.values()]
                self._table = np.concatenate(starts), np.concatenate([nodes for _, nodes in self._begun.values()])
            begun, nodes = self._table
            first, last = np.minimum(begun, start), np.maximum(begun, start)
            closed[nodes[(first * SAME_INSTANT < last) & (last * SAME_INSTANT < first + self.needed[nodes])]] = True
        return np.where(closed, 0, room)
