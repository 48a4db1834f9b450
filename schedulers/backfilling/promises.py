"""The promised starts of waiting jobs, the soonest first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from schedulers.backfilling.plans import NEVER, Promise
from schedulers.backfilling.timeline import in_turn

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job


class Promises:
    """Promises by job: each job has one at most."""

    def __init__(self) -> None:
        self._promises: dict[int, Promise] = {}  # by job index
        self._jobs: dict[int, Job] = {}
        self._due: list[tuple[float, int]] = []  # (promised time, job index), also of promises that were replaced
        self.soonest = math.inf  #: The soonest of these times, s; inf: there is none.

    def __contains__(self, job: Job) -> bool:
        return job.index in self._promises

    def of(self, job: Job) -> Promise:
        """Return the promise of a job, or NEVER."""
        return self._promises.get(job.index, NEVER)

    def times(self, jobs: Sequence[Job | None]) -> npt.NDArray[np.float64]:
        """Return when each job is to start, s; 0 for None, inf for a job without a promise."""
        promises = self._promises
        return np.array([0.0 if job is None else promises.get(job.index, NEVER).time for job in jobs])

    def in_turn(self, jobs: Iterable[Job] | None = None) -> list[Job]:
        """Return jobs, by default those with a promise, by their promised times; those without one last."""
        by_index = self._jobs if jobs is None else {job.index: job for job in jobs}
        times = ((self._promises.get(index, NEVER).time, index) for index in by_index)
        return [by_index[index] for _, index in in_turn(times)]

    def put(self, job: Job, promise: Promise) -> None:
        """Enter a promise in place of the job's former one."""
        index = job.index
        if self._promises.get(index, NEVER).time != promise.time:
            heappush(self._due, (promise.time, index))
            self.soonest = self._due[0][0]
        self._promises[index], self._jobs[index] = promise, job

    def drop(self, job: Job) -> Promise:
        """Take out the promise of a job, and return it; NEVER where it has none."""
        self._jobs.pop(job.index, None)
        return self._promises.pop(job.index, NEVER)

    def due(self, until: float) -> list[tuple[Job, Promise]]:
        """Return the jobs promised a start by a time (s), in turn, with their promises; they are not due again."""
        popped, due = [], {}
        while self._due and self._due[0][0] <= until:
            popped.append(heappop(self._due))
        self.soonest = self._due[0][0] if self._due else math.inf
        for time, index in in_turn(popped) if len(popped) > 1 else popped:
            promise = self._promises.get(index, NEVER)
            if promise.time == time:  # else it was replaced
                due[index] = self._jobs[index], promise
        return [*due.values()]

    def put_back(self, due: Iterable[tuple[Job, Promise]]) -> None:
        """Make jobs due again that could not start."""
        for job, promise in due:
            heappush(self._due, (promise.time, job.index))
            self.soonest = self._due[0][0]
