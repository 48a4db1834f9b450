"""PCBE that chooses its configuration, and tunes its ageing threshold, while it runs (future work of Cruz 2023)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le, Unit
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.options import checked
from cluster_sim.records.metrics import energy_delay_product, makespan
from cluster_sim.run.decisions import Decision, Start
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers.energy.pcbe import ENDS, METRICS, End, Metric, Pcbe, most_on_one_node, tenants_of
from schedulers.policy.policy import schedulers

# Expected end (s), position in the workload, the job, where; a job that runs already, as such.
_End = tuple[float, int, Job, Placement, Running | None]


_OVERRUN = 0.1  # what a job that outlives its estimate is expected to need more, as a fraction of what it has run
_PUBLISHED_AGING = 60.0  # s
_RECENT = 20  # aged starts from which the lag is learned
_AGED_SHARE = 10  # one in so many pending jobs may count as aged


class Configuration(NamedTuple):
    """One of the eight ways to be PCBE."""

    metric: Metric  #: ``energy`` or ``edp``: of keys and of estimates.
    job: End  #: Which key goes first, ``low`` or ``high``.
    node: End  #: Which estimate wins, ``low`` or ``high``.


CONFIGURATIONS = tuple(Configuration(*options) for options in product(METRICS, reversed(ENDS), ENDS))
HOME = Configuration("energy", "high", "low")
"""The configuration that PCBE's author recommends, and that is used while no job has to wait."""


class ExpectedEnd(NamedTuple):
    """Expectation if no further job comes: energy from now to the last completion (J), and when that is (s)."""

    energy_j: float
    end: float


@schedulers.register("adaptive-pcbe")
class AdaptivePcbe(Pcbe):
    """PCBE that chooses among its eight configurations by looking ahead, and ages jobs so as to meet a wait goal.

    *The configuration.* In a pass in which some job can start and some job will have to wait, each configuration is
    tried out on a copy of what is free: running jobs end, pending ones (the ``depth`` oldest) are placed by that
    configuration, and so on until all are over, by PCBE's own estimates of time and watts::

        time    r · requested_time · (f_min / f) / flops per cycle
        energy  idle watts of all nodes · (end - now)
                + Σ over jobs of dynamic · n · time + Σ over nodes of (static - idle watts) · time with a job on it
        value   energy                                              (metric energy)
                (energy so far + energy) · (end - first submission) (metric edp)

    with ``r`` the run times of the jobs that have ended over what their estimates said. The configuration of
    least value is taken, if it is less than that of the one in use by more than the fraction ``hysteresis``. A pass in which
    all pending jobs start has nothing to compare but guesses at which jobs come next: it uses energy, high jobs, low nodes.

    *The ageing threshold* is such that aged jobs start when they have waited ``wait_goal`` seconds: ``wait_goal`` less
    the mean time that the last 20 of them were aged for. Without a goal it is the published 60 s. With one it is never
    so low that more than a tenth of the queue is aged (one job at least): where all jobs are aged no job is helped,
    which is what a fixed threshold comes to on a full machine.

    It sees what every policy sees: requests, what runs and since when, jobs that ended, the energy so far. The look-ahead
    knows nothing of contention, memory, booting, or later arrivals.
    """

    @checked
    def __init__(
        self,
        metric: Annotated[Metric, Doc("what is to be least")] = "energy",
        wait_goal: Annotated[float, Ge(0), Unit("s"), Doc("wait that jobs should not exceed")] = math.inf,
        hysteresis: Annotated[
            float, Ge(0), Le(math.inf), Doc("share by which a configuration must be better to be taken")
        ] = 0.01,
        depth: Annotated[int, Ge(1), Unit("jobs"), Doc("pending jobs that the look-ahead places")] = 50,
    ) -> None:
        super().__init__(*HOME)
        self.objective, self.wait_goal, self.hysteresis, self.depth = metric, wait_goal, hysteresis, depth

    @property
    def configuration(self) -> Configuration:
        """Return the configuration in use."""
        return Configuration(self.metric, self.job, self.node)

    def begin(self, view: View) -> None:
        """Begin a run in which nothing has been learned yet."""
        super().begin(view)
        types = view.platform.node_types
        idle = [sum(p.power.get("static_w", 0.0) * p.power.get("min_power", 1.0) for p in t.processors) for t in types]
        self.idle_w = np.array(idle)[view.platform.type_of_node]  #: Of each node, W, shape (nodes,).
        self._members = {configuration: Pcbe(*configuration) for configuration in CONFIGURATIONS}
        for pcbe in self._members.values():
            pcbe.begin(view)
        self._run_s = self._estimated_s = 0.0  # of the jobs that have ended
        self._lags: deque[float] = deque(maxlen=_RECENT)
        self._first_submission = math.inf
        self.metric, self.job, self.node = HOME
        self.aging = _PUBLISHED_AGING if math.isinf(self.wait_goal) else self.wait_goal
        #: Every change of the configuration: when (s), and which one from then on.
        self.changes: list[tuple[float, Configuration]] = [(view.now, HOME)]

    def schedule(self, view: View) -> Iterable[Decision]:
        """Learn from what ended, choose configuration and threshold, and hold a pass of PCBE."""
        if view.submitted:
            self._first_submission = min(self._first_submission, view.submitted[0].submit_time)
        for running in view.ended:
            if math.isfinite(running.start_time) and math.isfinite(running.job.requested_time):
                self._run_s += view.now - running.start_time
                self._estimated_s += self.seconds(running.job, running.placement.nodes)
        self._join(view)
        if not self._queue or not (view.free_total or view.explains):
            return
        if math.isfinite(self.wait_goal):
            lag = sum(self._lags) / len(self._lags) if self._lags else 0.0
            oldest = view.pending  # in order of submission
            last_aged = oldest[max(1, len(oldest) // _AGED_SHARE) - 1]
            self.aging = max(self.wait_goal - lag, view.now - last_aged.submit_time)
        configuration = self._chosen(view)
        if configuration != self.configuration:
            self.metric, self.job, self.node = configuration
            self._queue = sorted(self._entry(view, job) for _, _, job, _ in self._queue)
            self.changes.append((view.now, configuration))
        for decision in self._pass(view):
            if isinstance(decision, Start):
                wait = view.now - decision.job.submit_time
                if wait >= self.aging:
                    self._lags.append(wait - min(self.aging, self.wait_goal))
            yield decision

    # ------------------------------------------------------------------ the configuration

    def _chosen(self, view: View) -> Configuration:
        most_free = int(view.free_cores.max())
        if all(needed > most_free for *_, needed in self._queue):
            return self.configuration
        ahead = LookAhead(self, view, self._run_s / self._estimated_s if self._estimated_s > 0.0 else 1.0)
        if ahead.all_start_now(self._members[HOME]):
            return HOME
        values: dict[Configuration, float] = {}
        for which, pcbe in self._members.items():
            energy_j, end = ahead.forecast(pcbe)
            if self.objective == "edp":
                values[which] = energy_delay_product(view.energy_j + energy_j, makespan(self._first_submission, end))
            else:
                values[which] = energy_j
        best = min(values, key=values.__getitem__)
        return best if values[best] < values[self.configuration] * (1.0 - self.hysteresis) else self.configuration


class LookAhead:
    """The queue and the running jobs played to their end by PCBE's estimates, under any configuration; no other job comes.

    Which jobs are aged is decided once, for all of them, now.
    """

    _now: float  # s, in the look-ahead
    _energy: float  # of jobs and of nodes that are no longer idle, J
    _ends: list[_End]  # heap of what runs in the look-ahead
    _waiting: list[Job]

    def __init__(self, scheduler: AdaptivePcbe, view: View, ratio: float):
        self._view, self._ratio = view, ratio
        self._pcbe: Pcbe = scheduler
        self._idle_w = scheduler.idle_w
        self._jobs = view.pending[: scheduler.depth]
        self._needed = {job.index: most_on_one_node(view, job) for job in self._jobs}
        self._tenants_now = tenants_of(view)
        self._aged = {job.index for job in self._jobs if job.submit_time + scheduler.aging <= latest(view.now)}
        self._running: list[_End] = []
        for running in view.running:
            job, placement, start = running.job, running.placement, running.expected_start
            estimate = start + ratio * scheduler.seconds(job, placement.nodes)
            end = max(estimate, view.now + _OVERRUN * max(view.now - start, 0.0))
            self._running.append((end, job.index, job, placement, running))

    def all_start_now(self, pcbe: Pcbe) -> bool:
        """Return whether no job that is looked at would have to wait."""
        self._begin(pcbe)
        self._place(self._in_turn())
        return not self._waiting

    def forecast(self, pcbe: Pcbe) -> ExpectedEnd:
        """Return what comes of the configuration of this scheduler; jobs that never fit are left out."""
        self._begin(pcbe)
        waiting = self._in_turn()
        while True:
            self._place(waiting)
            waiting = self._waiting
            if not self._ends:
                return ExpectedEnd(self._energy + float(self._idle_w.sum()) * (self._now - self._view.now), self._now)
            self._now = self._ends[0][0]
            while self._ends and self._ends[0][0] == self._now:
                _, _, job, placement, running = heappop(self._ends)
                if running is None:
                    self._outlook.give(job, placement)
                else:
                    self._outlook.release(running)
                self._tenants[placement.nodes] -= 1
                empty = [node for node in placement.nodes if self._tenants[node] == 0]
                awake_w = pcbe.static[empty] - self._idle_w[empty]
                self._energy += float((awake_w * (self._now - self._busy_since[empty])).sum())

    def _begin(self, pcbe: Pcbe) -> None:
        """Go back to the state of now."""
        self._pcbe = pcbe
        self._now = self._view.now
        self._outlook = self._view.planning.outlook()
        self._ends = self._running.copy()
        heapify(self._ends)
        self._tenants = self._tenants_now.copy()
        self._busy_since = np.full(len(self._tenants), self._now)  # of nodes with tenants
        self._waiting = []
        self._energy = 0.0
        for end, _, _, placement, _ in self._running:
            self._energy += (end - self._now) * self._dynamic_w(placement)

    def _in_turn(self) -> list[Job]:
        return sorted(self._jobs, key=lambda job: (job.index not in self._aged, self._pcbe.key(job), job.index))

    def _place(self, jobs: list[Job]) -> None:
        """Start what fits, and note the others as waiting."""
        self._waiting = []
        most_free = int(self._outlook.free.max())
        for job in jobs:
            placement = None
            if self._needed[job.index] <= most_free:
                ranks = self._pcbe.estimates(self._view, job, self._tenants)
                placement = self._outlook.place(job, ranks, time=self._now)
            if placement is None or not self._pcbe.affordable(job, placement.nodes, self._tenants):
                self._waiting.append(job)
                continue
            nodes = placement.nodes
            seconds = self._ratio * self._pcbe.seconds(job, nodes)
            self._outlook.take(job, placement)
            self._energy += seconds * self._dynamic_w(placement)
            self._busy_since[nodes] = np.where(self._tenants[nodes] == 0, self._now, self._busy_since[nodes])
            self._tenants[nodes] += 1
            heappush(self._ends, (self._now + seconds, job.index, job, placement, None))
            most_free = int(self._outlook.free.max())

    def _dynamic_w(self, placement: Placement) -> float:
        return sum(float(self._pcbe.dynamic[node]) * cores for node, cores in placement.cores_by_node().items())
