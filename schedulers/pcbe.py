"""PCBE: a greedy scheduler that places by estimated energy, or energy-delay product (Cruz 2023)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.decisions import Decision, Start
from cluster_sim.errors import SpecError
from schedulers.base import Scheduler, schedulers
from schedulers.orders import platform_order

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.jobs import Job
    from cluster_sim.view import View

_METRICS = ("energy", "edp")
_ENDS = ("low", "high")
_ENDLESS_S = 1e12


@schedulers.register("pcbe")
class Pcbe(Scheduler):
    """PCBE (Cruz 2023): jobs by requested energy or EDP, each to the node with the best estimate; nobody blocks.

    In every pass, first the jobs that have waited ``aging`` seconds or more, then all pending jobs, both in the order
    of their key, ``low``est or ``high``est first; a job that does not fit is skipped. With n tasks::

        key      = req_energy · n                       (metric energy; for edp times requested_time)
        estimate = time · (dynamic · n + static / (jobs on the node + 1))        (for edp times that time again)
        time     = requested_time · (f_min / f) / flops per cycle

    where ``static`` is the node's and ``f_min`` the platform's lowest clock. ``node=low`` takes the feasible node with the
    lowest estimate, ``high`` the one with the highest; of equal ones the first in the platform. A node on which a job's
    estimate exceeds its ``max_energy`` is not feasible. A job without ``req_energy`` is taken to draw, for its requested
    time, the mean dynamic watts of the platform's cores. Jobs wider than any node, of which the paper has none, take
    free cores in platform order.
    """

    def __init__(self, metric: str = "energy", job: str = "high", node: str = "low", aging: float = 60.0):
        for name, value, allowed in (("metric", metric, _METRICS), ("job", job, _ENDS), ("node", node, _ENDS)):
            if value not in allowed:
                raise SpecError(f"scheduler 'pcbe', option {name}", f"one of {', '.join(allowed)}", value)
        if not aging >= 0.0:
            raise SpecError("scheduler 'pcbe', option aging", "seconds, 0 or more", aging)
        self.metric, self.job, self.node, self.aging = metric, job, node, aging
        self.spec = f"pcbe:metric={metric},job={job},node={node},aging={aging:g}"

    def begin(self, view: View) -> None:
        """Work out what does not change during a run."""
        types = view.platform.node_types
        kind = view.platform.type_of_node
        lowest = min(p.clock_ghz for p in view.platform.processor_types)
        first = [node_type.processors[0] for node_type in types]
        self._slowness = np.array([lowest / p.clock_ghz / p.flops_per_cycle for p in first])[kind]
        self._dynamic = np.array([p.power.get("dynamic_w", 0.0) for p in first])[kind]
        self._static = np.array([sum(p.power.get("static_w", 0.0) for p in t.processors) for t in types])[kind]
        cores = view.platform.node_cores
        self._mean_dynamic = float((self._dynamic * cores).sum() / cores.sum())
        self._keys: dict[int, tuple[float, int]] = {}

    def schedule(self, view: View) -> Iterable[Decision]:
        """The aged jobs in the order of their keys, then all of them."""
        for job in view.submitted:
            self._keys[job.index] = self._key(job)
        self._keys = {job.index: self._keys[job.index] for job in view.pending}  # some may have been killed
        pending = sorted(view.pending, key=lambda job: self._keys[job.index])
        tenants = np.zeros(view.platform.node_count)
        for running in view.running:
            tenants[running.placement.nodes] += 1
        aged = [job for job in pending if view.now - job.submit_time >= self.aging]
        for job in (*aged, *pending):
            if not view.is_pending(job) or job.requested_cores > view.free_total:
                continue
            placement = view.place(job, self.estimates(view, job, tenants))
            if placement is not None and self._affordable(job, placement.nodes, tenants):
                yield Start(job, placement)
                tenants[placement.nodes] += 1

    def _key(self, job: Job) -> tuple[float, int]:
        energy = job.req_energy
        if math.isnan(energy):
            energy = _requested_time(job) * self._mean_dynamic
        key = energy * job.requested_cores * (_requested_time(job) if self.metric == "edp" else 1.0)
        return (-key if self.job == "high" else key), job.index

    def _estimated(self, job: Job, tenants: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
        """Time (s) and energy (J) of the job on each node."""
        time = _requested_time(job) * self._slowness
        return time, time * (self._dynamic * job.requested_cores + self._static / (tenants + 1.0))

    def estimates(self, view: View, job: Job, tenants: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        """Rank of each node for the job, least first; ``tenants`` are the jobs on each node."""
        if job.requested_cores > view.platform.widest_node:
            return platform_order(view, job)
        time, energy = self._estimated(job, tenants)
        estimate = energy * time if self.metric == "edp" else energy
        ranks = -estimate if self.node == "high" else estimate
        return np.where(energy > job.max_energy, np.inf, ranks)

    def _affordable(self, job: Job, nodes: list[int], tenants: npt.NDArray[np.float64]) -> bool:
        if math.isinf(job.max_energy):
            return True
        _, energy = self._estimated(job, tenants)
        return bool((energy[nodes] <= job.max_energy).all())


def _requested_time(job: Job) -> float:
    """Requested time, s; of a job that names none, more than anybody asks for (∞ s at 0 W would be no number of joules)."""
    return min(job.requested_time, _ENDLESS_S)
