"""Choice of nodes of a backfilling scheduler: how it turns a job into a placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import Placement
from cluster_sim.run.view import View
from schedulers.queue.orders import NodeOrder, platform_order, ranking

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job


class NodeChoice:
    """The scheduler's choice of nodes, and whether memory counts: how a plan turns a job into a placement."""

    def __init__(self, view: View, order: NodeOrder, memory: bool):
        self.view = view
        self._order = ranking(view, order)
        self.counts_memory = memory
        #: Whether jobs that ask for as many cores are placed alike.
        self.treats_alike = order is platform_order and view.machine.one_node_rule and not memory

    def now(self, job: Job, within: npt.NDArray[np.integer] | None = None) -> Placement | None:
        """Place the job on what is free now."""
        if job.requested_cores > self.view.free_total:
            return None  # before the node order is worked out
        ranks = None if self._order is None else self._order(self.view, job)
        return self.view.place(job, ranks, self.counts_memory, within)

    def later(
        self, job: Job, outlook: Free, time: float, within: npt.NDArray[np.integer] | None = None
    ) -> Placement | None:
        """Place the job on what should be free at ``time``."""
        if job.requested_cores > outlook.free_total:
            return None
        ranks = None if self._order is None else self._order(self.view, job)
        return outlook.place(job, ranks, self.counts_memory, within, time)

    def fits_later(self, job: Job, outlook: Free, time: float, within: npt.NDArray[np.integer]) -> bool:
        """Return whether the job could be placed at ``time``, on whatever nodes; draws no random order of nodes."""
        enough = job.requested_cores <= outlook.free_total
        return enough and outlook.place(job, None, self.counts_memory, within, time) is not None

    def memory_of(self, job: Job) -> float:
        """Return the memory of one task, MB, if memory counts."""
        return job.memory if self.counts_memory else 0.0
