"""Patient greedy: a job that could start now may wait, for cores that compute with less energy or to leave room for others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Le, Lt, Unit
from typing_extensions import Doc

from cluster_sim.machine.placement import Placement
from cluster_sim.options import checked
from cluster_sim.run.view import View
from schedulers.energy.contention_aware import ContentionAware, Metric, Weight
from schedulers.policy.policy import schedulers
from schedulers.queue.orders import AnyJobOrder, Memory

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


@schedulers.register("patient")
class Patient(ContentionAware):
    """Contention-aware greedy that waits rather than waste energy, or rather than fill the machine with long jobs.

    ``frugal``: nodes whose watts per operation, all cores busy, exceed the least by more than this fraction stay empty
    as long as a job fits the other ones together; it waits for those. ``spare``: a job that requested more than
    ``short`` seconds leaves this fraction of the machine's cores free, so that short jobs, whose slowdown suffers most
    from a wait, find room. Both hold while something runs, so that nothing can stall. ``metric``, ``order``,
    ``weight`` and ``memory`` are those of :class:`~schedulers.energy.contention_aware.ContentionAware`.
    """

    @checked
    def __init__(
        self,
        frugal: Annotated[
            float, Ge(0), Doc("share above the least watts per operation at which nodes stay empty")
        ] = math.inf,
        spare: Annotated[float, Ge(0), Lt(1), Doc("share of the cores that long jobs leave free")] = 0.0,
        short: Annotated[
            float, Ge(0), Le(math.inf), Unit("s"), Doc("requested time up to which a job is short")
        ] = 900.0,
        metric: Metric = "energy",
        order: AnyJobOrder = "first",
        weight: Weight = 0.5,
        memory: Memory = False,
    ):
        super().__init__(metric, order, weight=weight, memory=memory)
        self.frugal, self.spare, self.short = frugal, spare, short

    def begin(self, view: View) -> None:
        """Begin a run in which nothing runs yet."""
        super().begin(view)
        cost = view.machine.node_max_watts / (view.machine.node_gflops * view.platform.node_cores)
        most = cost.min() * (1.0 + self.frugal) if self.frugal < math.inf else math.inf
        self._is_frugal = cost <= most
        self._frugal_cores = int(view.platform.node_cores[self._is_frugal].sum())
        self._spared_cores = self.spare * view.platform.core_count

    def _place(self, view: View, job: Job) -> Placement | None:
        within = None
        if view.running_count:
            left = view.free_total - job.requested_cores
            if job.requested_time > self.short and left < self._spared_cores:
                return None
            if job.requested_cores <= self._frugal_cores and not self._is_frugal.all():
                within = np.where(self._is_frugal, view.free_cores, 0)
        return view.place(job, self.ranks(view, job), self.memory, within)
