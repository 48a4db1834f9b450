"""Patient greedy: a job that could start now may wait, for cores that compute with less energy or to leave room for others."""

from __future__ import annotations

import math

import numpy as np

from cluster_sim.errors import SpecError
from cluster_sim.machine.placement import Placement
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers.energy.contention_aware import ContentionAware
from schedulers.policy.policy import schedulers
from schedulers.queue.orders import JobOrder


@schedulers.register("patient")
class Patient(ContentionAware):
    """Contention-aware greedy that waits rather than waste energy, or rather than fill the machine with long jobs.

    ``frugal``: nodes whose watts per operation, all cores busy, exceed the least by more than this fraction stay empty
    as long as a job fits the other ones together; it waits for those. ``spare``: a job that requested more than
    ``short`` seconds leaves this fraction of the machine's cores free, so that short jobs, whose slowdown suffers most
    from a wait, find room. Both hold while something runs, so that nothing can stall. ``metric``, ``order``,
    ``weight`` and ``memory`` are those of :class:`~schedulers.energy.contention_aware.ContentionAware`. Raises SpecError for a
    number out of range.
    """

    def __init__(
        self,
        frugal: float = math.inf,
        spare: float = 0.0,
        short: float = 900.0,
        metric: str = "energy",
        order: str | JobOrder = "first",
        weight: float = 0.5,
        memory: bool = False,
    ):
        super().__init__(metric, order, weight=weight, memory=memory)
        if not frugal >= 0.0:
            raise SpecError("scheduler 'patient', option frugal", "a number, 0 or more", frugal)
        if not 0.0 <= spare < 1.0:
            raise SpecError("scheduler 'patient', option spare", "a number from 0 to below 1", spare)
        if not short >= 0.0:
            raise SpecError("scheduler 'patient', option short", "seconds, 0 or more", short)
        self.frugal, self.spare, self.short = frugal, spare, short
        self.spec = (
            f"{self.spec.replace('contention-aware', 'patient')},frugal={frugal:g},spare={spare:g},short={short:g}"
        )

    def begin(self, view: View) -> None:
        """Begin a run in which nothing runs yet."""
        super().begin(view)
        cost = view.node_max_watts / (view.node_gflops * view.platform.node_cores)
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
