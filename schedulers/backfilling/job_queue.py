"""The queue of a backfilling scheduler: pending jobs in their order, as columns that one comparison scans."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job, JobColumns
from schedulers.backfilling.timeline import SHORTEST_S
from schedulers.queue.orders import JobOrder, told_by

if TYPE_CHECKING:
    import numpy.typing as npt


GONE = np.iinfo(np.int64).max
"""Requested cores of a place in the queue whose job has left it: more than any machine has."""

MOST_EMPTY = 64
"""Number of empty places up to which closing up is not worth while."""


class JobQueue:
    """Pending jobs, best first by a job order, ties in order of submission.

    A job keeps its *place* until :meth:`refresh`; a job that leaves the queue leaves its place empty, and places are
    only closed up when half of them are. So joining costs a bisection, leaving nothing, and the whole queue can be
    compared with what is free in a few numpy operations, whatever its length.
    """

    def __init__(self, order: JobOrder):
        self._order = order
        self._has_versions = hasattr(order, "version")
        self._version = getattr(order, "version", None)  # of the order, by which the jobs were put
        #: Whether keys change while jobs wait, and nobody says when.
        self.is_dynamic = bool(getattr(order, "dynamic", False)) and not self._has_versions
        self.may_be_stale = self.is_dynamic or self._has_versions  #: Whether keys can change at all.
        self._keys: list[tuple[Any, int]] = []  # of each place, also an empty one; ascending, unless they change
        self._key_of: dict[int, tuple[Any, int]] = {}  # by index of the job
        self._cores = np.full(16, GONE, np.int64)
        self._times = np.zeros(16)
        self.jobs: list[Job | None] = []  #: The job at each place; None where it has left.
        self.count = 0  #: Number of jobs in the queue.
        self.first = 0  #: Place of the head job; ``stop`` when the queue is empty.
        self.stop = 0  #: One past the last place.

    @property
    def is_stale(self) -> bool:
        """Return whether keys may have changed since the jobs were put in their order."""
        return self.is_dynamic or (self._has_versions and self._order.version != self._version)  # type: ignore[attr-defined]

    def tell(self, job: Job) -> str:
        """Return what the order says of a waiting job's place; empty: nothing."""
        return told_by(self._order, job)

    def before(self, job: Job, others: Sequence[Job], now: float) -> list[Job]:
        """Return which of the other jobs, in the queue or not, the order has before a job."""
        ranked = rank([job, *others], self._order, now).tolist()
        return [others[place - 1] for place in ranked[: ranked.index(0)]]

    def place_of(self, job: Job) -> int:
        """Return the place of a job that is in the queue."""
        if self.is_dynamic:
            return self.jobs.index(job, self.first)
        # One that has come back may have left an empty place with its key before.
        return self.jobs.index(job, bisect_left(self._keys, self._key_of[job.index]))

    def requests(self, first: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the requested cores and the planned times (s) at the places from ``first`` on.

        An empty place asks for more cores than there are.
        """
        return self._cores[first : self.stop], self._times[first : self.stop]

    def waiting(self) -> list[tuple[int, Job]]:
        """Return the places that are not empty, with their jobs."""
        return [(place, job) for place, job in enumerate(self.jobs) if job is not None]

    def drop_cancelled(self, view: View, joining: int = 0) -> list[Job]:
        """Empty the places of jobs that no longer wait, and return these jobs; so many others wait and are to join."""
        if self.count + joining == view.pending_count:
            return []
        cancelled = [(place, job) for place, job in self.waiting() if not view.is_pending(job)]
        for place, _ in cancelled:
            self.leave(place)
        return [job for _, job in cancelled]

    def join(self, jobs: Sequence[Job], view: View) -> int:
        """Enter jobs, submitted later than all before; return the first place with another job (``stop``: none)."""
        first = self.stop
        for job in jobs:
            stop = place = self.stop
            key = (0.0 if self.is_dynamic else self._order(job, view.now), job.index)
            if stop and not self.is_dynamic and not key > self._keys[-1]:
                place = bisect_right(self._keys, key)
            if stop == len(self._cores):
                self._cores, self._times = np.tile(self._cores, 2), np.tile(self._times, 2)
            self._keys.insert(place, key)
            self._key_of[job.index] = key
            self.jobs.insert(place, job)
            if place < stop:
                for column in (self._cores, self._times):
                    column[place + 1 : stop + 1] = column[place:stop]
            self._cores[place] = job.requested_cores
            self._times[place] = job.requested_time or SHORTEST_S
            self.stop = stop + 1
            self.count += 1
            first = min(first, place)
        self.first = min(self.first, first)
        return first

    def leave(self, place: int) -> None:
        """Empty a place, since its job has started or is no longer pending."""
        key = self._keys[place]
        if self._key_of.get(key[1]) is key:  # else the job has joined again meanwhile
            del self._key_of[key[1]]
        self.jobs[place] = None
        self._cores[place] = GONE
        self.count -= 1
        if place == self.first:
            jobs, stop = self.jobs, self.stop
            while place < stop and jobs[place] is None:
                place += 1
            self.first = place

    def refresh(self, view: View) -> None:
        """Close up empty places and order the jobs by their keys of now, before a pass over the whole queue."""
        if self.may_be_stale and self.count and self.is_stale:
            places = [place for place, _ in self.waiting()]
            jobs = [job for _, job in self.waiting()]
            if not self._has_versions:
                self._keep([places[i] for i in rank(jobs, self._order, view.now)])
                return
            keys, indices = _by_column(jobs, self._order, view.now)
            ordered = np.lexsort((indices, keys))
            self._keep([places[i] for i in ordered])
            self._version = self._order.version  # type: ignore[attr-defined]
            self._keys = list(zip(keys[ordered].tolist(), indices[ordered].tolist(), strict=True))
            self._key_of = {key[1]: key for key in self._keys}
        elif self.stop - self.count > (MOST_EMPTY if self.count else 0):
            self.close_up()

    def close_up(self) -> None:
        """Close up the empty places, if there are many."""
        if not self.count:
            self._keys.clear()
            self.jobs.clear()
            self.first = self.stop = 0
        elif self.stop - self.count > max(self.count, MOST_EMPTY):
            self._keep([place for place, _ in self.waiting()])

    def _keep(self, places: list[int]) -> None:
        """Move what is at these places to the front, in this order."""
        kept, stop = len(places), self.stop
        self._keys = [self._keys[place] for place in places]
        self.jobs = [self.jobs[place] for place in places]
        for column in (self._cores, self._times):
            column[:kept] = column[places]
        self._cores[kept:stop] = GONE
        self.first, self.stop = 0, kept


def rank(jobs: Sequence[Job], order: JobOrder, now: float) -> npt.NDArray[np.int64]:
    """Return positions that put jobs in the order of their keys, ties in order of submission; shape (jobs,)."""
    if getattr(order, "by_column", False):
        keys, indices = _by_column(jobs, order, now)
        return np.lexsort((indices, keys))
    keyed = sorted((order(job, now), job.index, position) for position, job in enumerate(jobs))
    return np.array([position for _, _, position in keyed], np.int64)


def _by_column(
    jobs: Sequence[Job], order: JobOrder, now: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return keys of jobs by an order that takes all at once, and their positions in the workload."""
    indices = np.array([job.index for job in jobs], np.int64)
    return order(JobColumns(jobs[0], indices), now), indices  # type: ignore[arg-type]
