"""Expected cost of the rest of a run: for the potentials of shaped rewards and the scale of rewards."""

from __future__ import annotations

from collections.abc import Callable
from itertools import filterfalse

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.running import Running
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import requests
from learning.tasks.idle_nodes import Alone
from learning.tasks.job_node.actions import PairFinder
from learning.tasks.occupancy import JobRequest, JobRequests
from learning.tasks.reward import ByWorkload

Floats = npt.NDArray[np.float64]


LeastOf = ByWorkload[tuple[Floats, Floats, Floats, Floats]]


class CostToGo:
    """Expected energy, time and backlog of a run, from running jobs and the least needs of jobs that have not started.

    Jobs yet to be submitted are counted: this looks at the whole workload, and is not for agents. ``least`` remembers,
    by workload, the least figures of its jobs.
    """

    def __init__(self, simulation: Simulation, finder: PairFinder, least: LeastOf):
        view = simulation.view
        self._predictions = finder.predictions(view)
        figures = least.get(simulation.workload)
        if figures is None:
            figures = least[simulation.workload] = _least(simulation, self._predictions.alone)
        self._seconds, self._joules, self._core_seconds, submit = figures
        self.job_seconds = self._seconds  #: Least time of each job, s, by index.
        self.unstarted_j, self.unstarted_core_s = float(self._joules.sum()), float(self._core_seconds.sum())
        self._cores = view.platform.core_count
        self._earliest_end = float((submit + self._seconds).max()) if len(submit) else 0.0
        self._started: set[int] = set()
        self._version: object = None

    def started(self, view: View) -> None:
        """Take note of the jobs that have been started in this instant."""
        if view.machine.version is self._version:
            return
        self._version = view.machine.version
        for index in list(filterfalse(self._started.__contains__, view.running_by_index)):
            self._started.add(index)
            self.unstarted_j -= self._joules.item(index)
            self.unstarted_core_s -= self._core_seconds.item(index)

    def seconds(self, view: View) -> float:
        """Return the least time until all jobs are over, s."""
        self._predictions.update(view)
        now = view.now
        left = max(self._predictions.last_known_end(now), self._earliest_end) - now
        return max(left, self.unstarted_core_s / self._cores, 0.0)

    def joules(self, view: View, seconds: float) -> float:
        """Return the least energy until all jobs are over, if that takes so many seconds, J."""
        self._predictions.update(view)
        return (
            self._predictions.idle.idle_total_w * seconds
            + max(self._predictions.active_energy(view.now), 0.0)
            + max(self.unstarted_j, 0.0)
        )

    def expected_end(self, view: View, running: Running) -> float:
        """Return the expected end of a running job, s on the run's clock."""
        self._predictions.update(view)
        return self._predictions.end_of(running, view.now)

    def pending_wait(self, view: View) -> float:
        """Return the waits to come of the pending jobs, if the machine works off their cores one after the other, s."""
        work = sum([self._core_seconds.item(job.index) for job in view.pending])
        return 0.5 * view.pending_count * work / self._cores


def _least(simulation: Simulation, alone_of: Callable[[JobRequest], Alone]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return by job the least seconds, joules above idle, and core-seconds, and the submission.

    Jobs that no node can hold, or that requested no time, count for nothing.
    """
    numbered = JobRequests()
    numbered.begin(simulation.view)
    jobs = requests(simulation.workload.jobs)
    alone = [alone_of(numbered.of(job)) for job in jobs]
    seconds = np.array([one.best_finish for one in alone])
    joules = np.array([one.best_shared_energy for one in alone])
    known = seconds < 1e11
    seconds, joules = np.where(known, seconds, 0.0), np.where(known, joules, 0.0)
    cores = np.array([job.requested_cores for job in jobs], np.float64)
    return seconds, joules, seconds * cores, np.array([job.submit_time for job in jobs])


class TrueCostToGo(CostToGo):
    """Expected cost by true run times, since requested times in logs are often many times as long.

    Contention is not predicted. A running job ends when its slowest core has done its work.
    """

    def __init__(self, simulation: Simulation, finder: PairFinder, least: LeastOf):
        super().__init__(simulation, finder, least)
        self._truth = simulation.clairvoyant_view()
        jobs = requests(simulation.workload.jobs)
        seconds = np.array([self._truth.run_time(job) for job in jobs])
        share = np.divide(seconds, self._seconds, out=np.zeros(len(jobs)), where=self._seconds > 0.0)
        submit = np.array([job.submit_time for job in jobs])
        self.job_seconds = self._seconds = seconds
        self._joules, self._core_seconds = self._joules * share, self._core_seconds * share
        self.unstarted_j, self.unstarted_core_s = float(self._joules.sum()), float(self._core_seconds.sum())
        self._earliest_end = float((submit + seconds).max()) if len(jobs) else 0.0
        self._ends: dict[int, float] = {}

    def seconds(self, view: View) -> float:
        """Return the least time until all jobs are over, s."""
        last = max((self.expected_end(view, running) for running in view.running), default=0.0)
        return max(max(last, self._earliest_end) - view.now, self.unstarted_core_s / self._cores, 0.0)

    def joules(self, view: View, seconds: float) -> float:
        """Return the least energy until all jobs are over, if that takes so many seconds, J."""
        figures, now = self._predictions.idle, view.now
        busy_until: dict[int, float] = {}
        joules = 0.0
        for running in view.running:
            end = self.expected_end(view, running)
            for first, stop, cores in running.placement.spans:
                for node in range(first, stop):
                    joules += float(figures.dynamic_w[node]) * cores * (end - now)
                    busy_until[node] = max(busy_until.get(node, now), end)
        joules += sum(float(figures.static_w[n] - figures.idle_w[n]) * (end - now) for n, end in busy_until.items())
        return joules + figures.idle_total_w * seconds + max(self.unstarted_j, 0.0)

    def expected_end(self, view: View, running: Running) -> float:
        """Return the expected end of a running job, s on the run's clock."""
        end = self._ends.get(running.job.index)
        if end is None:
            end = self._ends[running.job.index] = self._truth.true_end(running)
        return max(end, view.now)
