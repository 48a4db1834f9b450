"""Occupancy of nodes by jobs, kept from decision to decision; and jobs and nodes that are equal for an agent.

Two jobs with the same request are equal for an agent: only their ages differ. Two nodes of one type with the same jobs
on them since the same times are equal, too, as far as a scheduler can know.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import filterfalse
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from cluster_sim.workload.resource_request import RESOURCE_COLUMNS


class JobRequest(NamedTuple):
    """Request of a job; jobs with equal requests share one."""

    number: int
    cores: int
    requested_time: float  #: s; inf when not given.
    mem_vol: float  #: MB per task.
    memory: float  #: MB per task.
    max_energy: float  #: J; inf when not given.
    shaped: bool  #: Whether the job itself names its number of nodes.
    key: Hashable  #: The whole request: equal for equal jobs of other runs.


class Asked:
    """List of requests as columns of shape (requests,). Equal lists are the same object."""

    def __init__(self, requests: Sequence[JobRequest]):
        self.requests = requests
        self.cores = np.array([float(request.cores) for request in requests])
        self.needed = self.cores.astype(np.int64)[
            :, None
        ]  #: The cores, to be compared with those that nodes have free.
        self.times = np.array([request.requested_time for request in requests])  #: s; inf where none was requested.
        self.widest = max([request.cores for request in requests], default=0)
        #: Whether some limit their energy.
        self.has_limits = min([request.max_energy for request in requests], default=math.inf) < math.inf
        self.seen: Any = None  #: Features that an observation keeps for this list.
        self.on_idle_nodes: Any = None  #: Figures that predictions keep for it.


MOST_LISTS = 1024
"""Number of lists of requests that are remembered."""


class JobRequests:
    """Numbering of the requests of a workload's jobs, kept from run to run of it; equal ones share a number."""

    def __init__(self) -> None:
        self._plain = True  # no job asks for nodes, tags, whole nodes or a reservation
        self._columns: Mapping[str, npt.NDArray[Any]] = {}
        # The first arrays of the columns: adding a job replaces them.
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._forget()

    def _forget(self) -> None:
        self._of_job: dict[int, JobRequest] = {}
        self._by_key: dict[Hashable, JobRequest] = {}
        self.numbered: list[JobRequest] = []  #: Requests by number.
        self._lists: dict[tuple[int, ...], Asked] = {}

    def begin(self, view: View) -> None:
        """Begin a run, of the same workload or of another."""
        if view.machine.one_node_rule != self._plain:
            self._plain = view.machine.one_node_rule
            self._forget()

    def of(self, job: Job) -> JobRequest:
        """Return the request of a job."""
        if job.all_requests is not self._columns:
            # Another run has begun: requests stay known if its jobs are those of the same workload.
            columns = job.all_requests
            known = self._arrays
            unchanged = bool(known) and all(
                self._columns[name] is array and columns.get(name) is array for name, array in known.items()
            )
            self._columns = columns
            if not unchanged:
                self._arrays = {name: array for name, array in columns.items() if name != "submit_time"}
                self._forget()
        request = self._of_job.get(job.index)
        if request is None:
            shaped = not self._plain and job.is_shaped
            figures = (job.requested_cores, job.requested_time, job.mem_vol, job.memory, job.max_energy, shaped)
            energy = job.req_energy
            wishes: Hashable = (None if math.isnan(energy) else energy, job.priority, job.deadline, job.tags)
            if not self._plain:
                shape = job.nodes, job.ntasks_per_node, job.switches, job.switch_wait if job.switches else 0.0
                wishes = wishes, shape, job.requires, job.exclusive, job.reservation
                counted = tuple(getattr(job, name) for name in RESOURCE_COLUMNS)
                # Of nodes on which jobs share GPUs, no two are alike: it matters which GPUs these are.
                wishes = wishes, counted, job.index if job.gpu_share < 1.0 else None
            key = figures, wishes
            request = self._by_key.get(key)
            if request is None:
                request = self._by_key[key] = JobRequest(len(self.numbered), *figures, key)
                self.numbered.append(request)
            self._of_job[job.index] = request
        return request

    def listed(self, numbers: tuple[int, ...]) -> Asked:
        """Return the requests of these numbers, together."""
        asked = self._lists.get(numbers)
        if asked is None:
            if len(self._lists) == MOST_LISTS:
                self._lists.clear()
            asked = self._lists[numbers] = Asked([self.numbered[number] for number in numbers])
        return asked


class Tenant(NamedTuple):
    """Job on a node."""

    request: JobRequest
    cores: int
    start: float  #: s; when its tasks begin, or should if its nodes boot.


class Occupancy:
    """Jobs on each node, as a view shows them."""

    def __init__(self, view: View, requests: JobRequests):
        nodes = view.platform.node_count
        self._requests = requests
        self._nodes_of: dict[int, list[int]] = {}
        self.tenants: list[dict[int, Tenant]] = [{} for _ in range(nodes)]  #: By index of the job.
        self.job_count = np.zeros(nodes)  #: Jobs on each node.
        self._numbers: dict[Hashable, int] = {}
        self._types = view.platform.type_of_node.tolist()
        self._one_processor = [len(kind.processors) == 1 for kind in view.platform.node_types]
        self._states = np.array([self._number((kind,)) for kind in self._types], np.int64)
        self._places = np.arange(nodes)
        self._first_of = np.empty(0, np.int64)  # the first node of each state, by its number
        self._unnumbered: set[int] = set()  # nodes whose states are out of date: not every observation asks for them
        self._version: object = None
        self.changes: list[int] = []  #: Nodes whose jobs have changed, in that order, since the run began.

    def update(self, view: View) -> None:
        """Take note of jobs that have ended or begun."""
        if view.machine.version is self._version:
            return
        self._version = view.machine.version
        present = view.running_by_index
        changed: set[int] = set()
        begun = list(filterfalse(self._nodes_of.__contains__, present))
        if len(self._nodes_of) + len(begun) != len(present):
            for index in list(filterfalse(present.__contains__, self._nodes_of)):
                for node in self._nodes_of.pop(index):
                    del self.tenants[node][index]
                    changed.add(node)
        for index in begun:
            running = present[index]
            request = self._requests.of(running.job)
            cores = running.placement.cores_by_node()
            self._nodes_of[index] = list(cores)
            for node, taken in cores.items():
                self.tenants[node][index] = Tenant(request, taken, running.expected_start)
                changed.add(node)
        for node in changed:
            self.job_count[node] = len(self.tenants[node])
        self._unnumbered |= changed
        self.changes += sorted(changed)

    def _number(self, state: Hashable) -> int:
        return self._numbers.setdefault(state, len(self._numbers))

    def first_of_each_state(self, view: View) -> npt.NDArray[np.bool_] | None:
        """Mark the first of the nodes that are equal for a job, bool, shape (nodes,); None: all differ."""
        keys = self._keys(view)
        if keys is None:
            return None
        most = 2 * len(self._numbers)
        if len(self._first_of) < most:
            self._first_of = np.empty(2 * most, np.int64)
        self._first_of.put(keys[::-1], self._places[::-1])  # of equal keys the last one stays
        first: npt.NDArray[np.bool_] = self._first_of.take(keys) == self._places
        return first

    def first_like(self, view: View, node: int) -> int:
        """Return the first node that is equal for a job to the given one."""
        keys = self._keys(view)
        return node if keys is None else int((keys == keys[node]).argmax())

    def _keys(self, view: View) -> npt.NDArray[np.int64] | None:
        """Return a number per node, equal for equal nodes; None if more decides than is known here."""
        if view.machine.restricts or view.machine.clock_changes:
            return None
        for node in self._unnumbered:
            tenants = self.tenants[node]
            if tenants and not self._one_processor[self._types[node]]:
                state = -1, node
            else:
                jobs = sorted((tenant.request.number, tenant.cores, tenant.start) for tenant in tenants.values())
                state = self._types[node], *jobs
            self._states[node] = self._number(state)
        self._unnumbered.clear()
        return self._states * 2 + view.machine.is_on
