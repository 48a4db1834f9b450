"""PCBE: a greedy scheduler that places by estimated energy, or energy-delay product (Cruz 2023)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import mul
from typing import Annotated, Literal, get_args

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, Unit
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.machine.placement import shape
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.options import checked
from cluster_sim.platform.hardware import NodeType, ProcessorType
from cluster_sim.run.decisions import Decision, Hold, Start
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers.energy.expectations import expected_seconds
from schedulers.policy.policy import SKIPPED, Scheduler, schedulers
from schedulers.queue.orders import platform_order

_Entry = tuple[float, int, Job, int]  # key, position in the workload, the job, cores that it needs on one node


Metric = Literal["energy", "edp"]
End = Literal["low", "high"]
METRICS, ENDS = get_args(Metric), get_args(End)


@schedulers.register("pcbe")
class Pcbe(Scheduler):
    """PCBE (Cruz 2023): jobs by requested energy or EDP, each to the node with the best estimate; no job blocks.

    In every pass, first the jobs that have waited ``aging`` seconds or more, then all pending jobs, both in the order
    of their key, lowest (``job=low``) or highest first; a job that does not fit is skipped. With n tasks::

        key      = req_energy · n                       (metric energy; for edp times requested_time)
        estimate = time · (dynamic · n + static / (jobs on the node + 1))        (for edp times that time again)
        time     = requested_time · (f_min / f) / flops per cycle

    where ``static`` is the node's and ``f_min`` the platform's lowest clock; of processors that differ, means over the node's
    cores count. ``node=low`` takes the feasible node with the lowest estimate, ``high`` the one with the highest; of equal
    ones the first in the platform. A node on which a job's estimate exceeds its ``max_energy`` is not feasible. A job without
    ``req_energy`` is taken to draw, for its requested time, the mean dynamic watts of the platform's cores. Jobs wider than
    any node, of which the paper has none, take free cores in platform order.
    """

    @checked
    def __init__(
        self,
        metric: Annotated[Metric, Doc("what keys and estimates are of")] = "energy",
        job: Annotated[End, Doc("the jobs that go first, by their keys")] = "high",
        node: Annotated[End, Doc("the node that a job gets, by the estimates")] = "low",
        aging: Annotated[
            float, Ge(0), Le(math.inf), Unit("s"), Doc("wait after which a job goes before all others")
        ] = 60.0,
    ):
        self.metric, self.job, self.node, self.aging = metric, job, node, aging

    def begin(self, view: View) -> None:
        """Work out what does not change during a run."""
        types = view.platform.node_types
        kind = view.platform.type_of_node
        lowest = min(p.clock_ghz for p in view.platform.processor_types)
        self.slowness = np.array([_by_core(t, lambda p: lowest / p.clock_ghz / p.flops_per_cycle) for t in types])[kind]
        self.dynamic = np.array([_by_core(t, lambda p: p.power.get("dynamic_w", 0.0)) for t in types])[kind]
        self.static = np.array([sum(p.power.get("static_w", 0.0) for p in t.processors) for t in types])[kind]
        cores = view.platform.node_cores
        self._mean_dynamic = float((self.dynamic * cores).sum() / cores.sum())
        self._queue: list[_Entry] = []  # in order
        self._started: list[_Entry] = []  # still in the queue

    def schedule(self, view: View) -> Iterable[Decision]:
        """Start the aged jobs in the order of their keys, then all of them."""
        self._join(view)
        if self._queue and (view.free_total or view.explains):
            yield from self._pass(view)

    def _join(self, view: View) -> None:
        """Put new jobs in the queue, which is kept in the order of the keys, and forget those that left it."""
        for entry in self._started:
            del self._queue[bisect_left(self._queue, entry)]
        self._started.clear()
        if view.submitted:
            self._queue += [self._entry(view, job) for job in view.submitted]
            self._queue.sort()  # merges two sorted runs, for the most part
        if len(self._queue) != view.pending_count:  # some were cancelled
            self._queue = [entry for entry in self._queue if view.is_pending(entry[2])]

    def _entry(self, view: View, job: Job) -> _Entry:
        return self.key(job), job.index, job, most_on_one_node(view, job)

    def _pass(self, view: View) -> Iterator[Decision]:
        tenants = tenants_of(view)
        most_free = int(view.free_cores.max())
        now, aging = latest(view.now), self.aging
        aged = [entry for entry in self._queue if entry[2].submit_time + aging <= now]
        for entry in chain(aged, self._queue):  # what was started among the aged comes twice
            _, _, job, needed = entry
            # A quick look first: most of a long queue does not fit.
            if needed > most_free and not view.explains:
                if not most_free:
                    return
                continue
            if not view.is_pending(job):
                continue
            fits = needed <= most_free and job.requested_cores <= view.free_total
            placement = view.place(job, self.estimates(view, job, tenants)) if fits else None
            if placement is not None and self.affordable(job, placement.nodes, tenants):
                goes_first = view.explains and aging > 0.0 and job.submit_time + aging <= now
                why = f"aged: it had waited {aging:g} s or more, and went before the others" if goes_first else ""
                yield Start(job, placement, why)
                self._started.append(entry)
                tenants[placement.nodes] += 1
                most_free = int(view.free_cores.max())
            elif view.explains:
                if placement is not None:
                    why_not = Reason(ReasonKind.TOO_EXPENSIVE, amount=job.max_energy)
                else:
                    why_not = view.shortage(job) if view.planning.is_capped(job) else SKIPPED
                yield Hold(job, why_not)

    def key(self, job: Job) -> float:
        """Return the key of a job; the least goes first."""
        energy = job.req_energy
        if math.isnan(energy):
            energy = requested_time_of(job) * self._mean_dynamic
        key = energy * job.requested_cores * (requested_time_of(job) if self.metric == "edp" else 1.0)
        return -key if self.job == "high" else key

    def estimated(self, job: Job, tenants: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
        """Return time (s) and energy (J) of the job on each node."""
        time = requested_time_of(job) * self.slowness
        return time, time * (self.dynamic * job.requested_cores + self.static / (tenants + 1.0))

    def seconds(self, job: Job, nodes: list[int]) -> float:
        """Return the estimated time of the job on these nodes, s: that of the slowest of them."""
        return requested_time_of(job) * float(self.slowness[nodes].max())

    def estimates(self, view: View, job: Job, tenants: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        """Return the rank of each node for the job, least first; ``tenants`` are the jobs on each node."""
        if job.requested_cores > view.platform.widest_node:
            return platform_order(view, job)
        time, energy = self.estimated(job, tenants)
        estimate = energy * time if self.metric == "edp" else energy
        ranks = -estimate if self.node == "high" else estimate
        return np.where(energy > job.max_energy, np.inf, ranks)

    def affordable(self, job: Job, nodes: list[int], tenants: npt.NDArray[np.float64]) -> bool:
        """Return whether the job's estimate is within its ``max_energy`` on all of these nodes."""
        if math.isinf(job.max_energy):
            return True
        _, energy = self.estimated(job, tenants)
        return bool((energy[nodes] <= job.max_energy).all())


def _by_core(kind: NodeType, figure: Callable[[ProcessorType], float]) -> float:
    """Return a figure of a node's processors, mean over its cores."""
    figures = [figure(processor) for processor in kind.processors]
    if len(set(figures)) == 1:
        return figures[0]  # as it is: a mean would round it
    cores = [processor.cores for processor in kind.processors]
    return math.fsum(map(mul, figures, cores)) / sum(cores)


def most_on_one_node(view: View, job: Job) -> int:
    """Return the cores that some node must have free, or the job does not fit: those of its widest part."""
    parts = shape(job)
    if parts is not None:
        return max(parts)
    return job.requested_cores if job.requested_cores <= view.machine.widest_node(job) else 1


def requested_time_of(job: Job) -> float:
    """Return the requested time, s; of a job that names none, more than any job asks for."""
    return expected_seconds(job.requested_time)


def tenants_of(view: View) -> npt.NDArray[np.float64]:
    """Return the number of jobs on each node, shape (nodes,)."""
    tenants = np.zeros(view.platform.node_count)
    for running in view.running:
        tenants[running.placement.nodes] += 1
    return tenants
