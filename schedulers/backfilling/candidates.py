"""Candidates for backfilling: the jobs of a long queue that a comparison of numbers does not rule out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers.backfilling.job_queue import JobQueue, rank
from schedulers.backfilling.plans import Plan, Promise
from schedulers.backfilling.profile_plan import ProfilePlan
from schedulers.backfilling.promises import Promises
from schedulers.queue.orders import JobOrder

if TYPE_CHECKING:
    import numpy.typing as npt

FEW = 16
"""Number of jobs up to which looking at them one by one is faster than numpy."""
AT_ONCE = 64
"""Number of jobs that are tried before the others are compared again with what is left."""


def candidates(view: View, queue: JobQueue, first: int, plan: Plan, order: JobOrder | None) -> Iterable[int]:
    """Return the places from ``first`` on whose jobs are worth trying, in this order; None: the queue's own."""
    # Few jobs are looked at one by one. So are all for an explanation, which names those kept back by a promise.
    if queue.stop - first <= FEW or view.explains:
        places: Sequence[int] = range(first, queue.stop)
    else:
        fitting = plan.may_start(*queue.requests(first)).nonzero()[0]
        if len(fitting) > AT_ONCE:
            fitting += first
            return _some_at_once(queue, plan, fitting if order is None else ranked(queue, fitting, order, view.now))
        places = [first + offset for offset in fitting.tolist()]
    return places if order is None or len(places) < 2 else ranked(queue, places, order, view.now).tolist()


def ranked(queue: JobQueue, places: Iterable[int], order: JobOrder, now: float) -> npt.NDArray[np.int64]:
    """Return the places that are not empty, their jobs in another order than the queue's."""
    jobs = {place: job for place in places if (job := queue.jobs[place]) is not None}
    if not jobs:
        return np.array([], np.int64)
    return np.array([*jobs], np.int64)[rank(list(jobs.values()), order, now)]


def improvable(queue: JobQueue, plan: ProfilePlan, promises: Promises) -> Iterator[tuple[Job, Promise]]:
    """Yield the jobs that may find an earlier start than promised, in the order of the queue.

    Who takes a job promises it that start before taking the next one.
    """
    again = True
    while again:
        starts = promises.times(queue.jobs)
        first, again = 0, False
        while first < queue.stop:
            worth = plan.could_be_earlier(queue.requests(first)[0], starts[first:])
            for place in (first + np.flatnonzero(worth)).tolist():
                job = queue.jobs[place]
                if job is None or not plan.can_be_earlier(job, old := promises.of(job)):
                    continue
                yield job, old
                if promises.of(job) is not old:
                    # One that was to start some day kept room for itself, which may serve any other such job.
                    again = again or starts[place] == math.inf
                    first = place + 1  # what it has left may serve a job behind it
                    break
            else:
                break


def _some_at_once(queue: JobQueue, plan: Plan, places: npt.NDArray[np.int64]) -> Iterator[int]:
    """Yield the places, which may be thousands, without jobs that are ruled out by what has started meanwhile."""
    cores, times = queue.requests(0)
    while len(places):
        yield from places[:AT_ONCE].tolist()
        places = places[AT_ONCE:]
        places = places[plan.may_start(cores[places], times[places])]
