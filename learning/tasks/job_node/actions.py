"""The actions of JobNode: pairs of a job and a node, and waiting; which of them are allowed, and what each starts."""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.placement import Placement, shape
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.idle_nodes import IdleNodes
from learning.tasks.job_node.estimate import EnergyEstimate
from learning.tasks.job_node.pairs import Ints, PairOptions, Pairs
from learning.tasks.job_node.predictions import Predictions
from learning.tasks.occupancy import Asked, JobRequests, Occupancy

Floats = npt.NDArray[np.float64]


class PairFinder:
    """Finder of the pairs of every decision of a run; it keeps what the next decisions can use."""

    def __init__(self, options: PairOptions):
        self.options = options
        self._estimate: EnergyEstimate | None = None
        self._idle: IdleNodes | None = None
        self.requests = JobRequests()
        self._nodes = 0
        # The job and the node of each action, by their places.
        self._of_action: tuple[Ints, Ints] = (np.empty(0, np.int64), np.empty(0, np.int64))

    def begin(self, view: View) -> None:
        self._predictions: Predictions | None = None
        nodes = view.platform.node_count
        actions = self.options.num_jobs * nodes
        if len(self._of_action[0]) != actions or self._nodes != nodes:
            self._nodes, self._of_action = nodes, np.divmod(np.arange(actions), nodes)
        self.requests.begin(view)
        self.occupancy = Occupancy(view, self.requests)
        self._view = view
        if self._estimate is not None and not self._estimate.is_of(view):
            self._estimate = None
        if self._idle is not None and not self._idle.is_of(view):
            self._idle = None

    @property
    def estimate(self) -> EnergyEstimate:
        """Return the energy estimate on this machine; it is made at the first call."""
        if self._estimate is None:
            self._estimate = EnergyEstimate(self._view)
        return self._estimate

    def predictions(self, view: View) -> Predictions:
        """Return the predictions of this run; they are made at the first call."""
        if self._predictions is None:
            self._idle = self._idle or IdleNodes(view)
            self._predictions = Predictions(view, self.requests, self.occupancy, self._idle)
        return self._predictions

    def eligible(self, view: View) -> tuple[list[Job], Asked]:
        """Return the oldest pending jobs, the oldest of equal ones if these are merged, and their requests."""
        most, of = self.options.num_jobs, self.requests.of
        if not self.options.merge_equal:
            jobs = list(islice(view.pending_by_index.values(), most))
            return jobs, self.requests.listed(tuple([of(job).number for job in jobs]))
        first: dict[int, Job] = {}
        for job in view.pending_by_index.values():
            number = of(job).number
            if number not in first:
                first[number] = job
                if len(first) == most:
                    break
        return list(first.values()), self.requests.listed(tuple(first))

    def pairs(self, view: View, may_wait: bool = False) -> Pairs:
        """Return the allowed pairs."""
        jobs, asked = self.eligible(view)
        placements: dict[tuple[int, int], Placement] = {}
        allowed = self._startable(view, jobs, asked, placements)
        if asked.has_limits:
            self.occupancy.update(view)
            most = np.array([request.max_energy for request in asked.requests])
            affordable = self.estimate.of(asked.times, asked.cores, self.occupancy.job_count) <= most[:, None]
            allowed &= affordable
        if self.options.merge_equal and np.count_nonzero(allowed):
            self.occupancy.update(view)
            first = self.occupancy.first_of_each_state(view)
            if first is not None:
                allowed &= first
        may_wait = may_wait and self.options.wait
        return Pairs(view, jobs, asked, allowed, placements, self.options, may_wait, self._of_action)

    def is_too_hungry(self, view: View, job: Job) -> bool:
        """Return whether the job's energy estimate exceeds its ``max_energy`` on every idle node that could hold it."""
        request = self.requests.of(job)
        if request.max_energy == np.inf:
            return False
        eligible = view.machine.eligible(job)
        could = np.ones(view.platform.node_count, np.bool_) if eligible is None else eligible
        if request.cores <= view.machine.widest_node(job):
            could = could & (view.platform.node_cores >= request.cores)
        times, cores = np.array([request.requested_time]), np.array([float(request.cores)])
        return not (self.estimate.of(times, cores, np.zeros(len(could)))[0, could] <= request.max_energy).any()

    def _startable(
        self, view: View, jobs: list[Job], asked: Asked, placements: dict[tuple[int, int], Placement]
    ) -> npt.NDArray[np.bool_]:
        """Return which jobs can start where, bool, shape (jobs, nodes); add placements beyond cores of one node."""
        usable = view.machine.usable_cores
        allowed: npt.NDArray[np.bool_] = usable >= asked.needed
        memory = self.options.memory and view.planning.counts_memory
        plain = view.machine.one_node_rule and not memory and not view.machine.power_budget.is_set
        if plain and asked.widest <= view.platform.widest_node:
            return allowed
        for row, job in enumerate(jobs):
            wide = job.requested_cores > view.machine.widest_node(job) or shape(job) is not None
            if wide or not plain:
                allowed[row] = self._placed(
                    view, row, job, usable if wide else usable * allowed[row], memory, placements
                )
        return allowed

    def _placed(
        self,
        view: View,
        row: int,
        job: Job,
        usable: npt.NDArray[np.int32],
        memory: bool,
        placements: dict[tuple[int, int], Placement],
    ) -> npt.NDArray[np.bool_]:
        """Return the nodes that can begin a placement of the job; for requests beyond free cores of a node."""
        found = np.zeros(len(usable), np.bool_)
        if view.place(job, None, memory) is None:
            return found
        wide = job.requested_cores > view.machine.widest_node(job) or shape(job) is not None
        order, within = np.zeros(len(usable)), np.zeros(len(usable), np.int32)
        candidates = usable > 0
        if self.options.merge_equal:
            self.occupancy.update(view)
            first = self.occupancy.first_of_each_state(view)
            if first is not None:
                candidates &= first
        for node in np.flatnonzero(candidates).tolist():
            order[node], within[node] = -1.0, usable[node]
            placement = view.place(job, order, memory, None if wide else within)
            order[node], within[node] = 0.0, 0
            if placement is not None and placement.spans[0][0] == node:
                placements[row, node] = placement
                found[node] = True
        return found
