"""Columns of a queue's jobs, and the limit of jobs that requested no time: for agents that switch nodes.

Observations, masks and rewards compare waits with requested times. A job without a requested time
counts as a day, :data:`NO_LIMIT_S`; a job that requested 0 s counts as the minute with which it is planned.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Gt, Le
from typing_extensions import Doc

from cluster_sim.workload.days import DAY_S
from cluster_sim.workload.jobs import Job
from schedulers.backfilling.timeline import planned_time

Floats = npt.NDArray[np.float64]
JOBS_IN_SIGHT = 10
"""Jobs of the queue that the program of Casagrande et al. (2022) looks at: the head and the next nine."""
NO_LIMIT_S = DAY_S
"""Requested time assumed for a job that requested none, s."""
HALF_STRETCH = 0.3
"""Summed stretch of waiting jobs at which its feature is 0.5: about where a good rule boots a node for them."""
SUBMISSION_HALF_S = 900.0
"""Time since the last submission at which its feature is 0.5, s."""
LATE = 0.5
"""tau: share of its requested time that a job may wait, in the papers' reward."""

SharePatience = Annotated[
    float, Gt(0), Le(math.inf), Doc("wait, as a share of the requested time, from which a job must have nodes")
]
LateFrom = Annotated[
    float, Gt(0), Le(math.inf), Doc("wait, as a share of the requested time, from which a job is late")
]


def limit_of(job: Job) -> float:
    """Return the job's requested time, s, above 0; :data:`NO_LIMIT_S` without one."""
    requested = planned_time(job)
    return requested if requested < math.inf else NO_LIMIT_S


class WaitingJobs:
    """Columns of the waiting jobs, in order of the queue; made once for a queue.

    ``indices`` are positions in the workload. Arrays of shape (jobs,): ``cores`` asked for, ``submits`` (s on the run's
    clock), ``limits`` (:func:`limit_of`, s), and ``late_from``, when each has waited ``tau`` times its limit (s on the
    run's clock).
    """

    def __init__(self, jobs: tuple[Job, ...], tau: float):
        self.jobs = jobs
        self._tau = tau
        self.indices = [job.index for job in jobs]
        self.cores = np.array([job.requested_cores for job in jobs], np.int64)
        self.submits = np.array([job.submit_time for job in jobs], np.float64)
        self.limits = np.array([limit_of(job) for job in jobs], np.float64)

    @cached_property
    def late_from(self) -> Floats:
        """Return the time from which on each job is late, s."""
        return self.submits + self._tau * self.limits

    def stretches(self, now: float) -> Floats:
        """Return the wait of each job so far, over its limit."""
        return (now - self.submits) / self.limits

    def have_waited(self, now: float, share: float) -> npt.NDArray[np.bool_]:
        """Return which jobs have waited ``share`` times their limit."""
        waited: npt.NDArray[np.bool_] = now - self.submits >= share * self.limits
        return waited

    def by_area(self, count: int) -> list[int]:
        """Return the places of the first ``count`` jobs: the head of the queue, then the others by cores · limit."""
        areas = (self.cores * self.limits).tolist()
        behind = range(1, min(count, len(areas)))
        return [*range(min(1, count, len(areas))), *sorted(behind, key=areas.__getitem__)]
