"""How long each user's jobs take of late: what a scheduler can learn while it runs, as far as users tell jobs apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.records.metrics import BOUND_S
from cluster_sim.run.view import View

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job
    from cluster_sim.workload.workload import Workload

LAST = 10
"""Number of a user's jobs that are remembered."""
KEPT = 0.7
"""Weight of a job beside the same user's next."""
_COUNTS = KEPT ** np.arange(LAST) / (KEPT ** np.arange(LAST)).sum()
_NOTHING = np.full(LAST, np.inf)  # at most what is requested


class UsualTimes:
    """The geometric mean of what a user's last ten jobs took, none of which counts as longer than what the next one requests.

    The last job counts 1, the one before 0.7, the one before that 0.49, and so on; jobs that the user has not run yet
    count as the request. So a user of whom no job has ended, and jobs without a user, are expected to take what they
    request. All count as 10 s at least, as in the bounded slowdown. From the start it knows the jobs of a ``log`` that
    had ended by ``until`` (s on its clock), by their recorded waits and run times; an unknown wait counts as none.
    """

    def __init__(self, log: Workload | None = None, until: float = math.inf):
        self._took: dict[str, npt.NDArray[np.float64]] = {}  # logarithms, the last job's first, by user
        # When attempts began, s, of jobs that have left cores and are not over.
        self._began: dict[int, tuple[Job, float]] = {}
        if log is not None:
            table = log.jobs[log.jobs["recorded_run_time"].notna()]
            ends = table["submit_time"] + table["recorded_wait_time"].clip(lower=0.0) + table["recorded_run_time"]
            table = table.loc[ends[ends <= until].sort_values(kind="stable").index]
            for user, seconds in zip(table["user"].tolist(), table["recorded_run_time"].tolist(), strict=True):
                self.add(user, seconds)

    def add(self, user: str, seconds: float) -> None:
        """Learn from a job of the user that has ended after so long."""
        if not user:
            return
        before = self._took.get(user, _NOTHING)[:-1]
        self._took[user] = np.concatenate(([math.log(max(seconds, BOUND_S))], before))

    def of(self, users: Iterable[str], requested: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return what jobs of these users that request so much (s) can be expected to take, s."""
        most = np.log(np.maximum(requested, BOUND_S))
        took = np.array([self._took.get(user, _NOTHING) for user in users])
        # Not a product of matrices, whose last bits depend on how many jobs there are: equal jobs have to tie.
        return np.exp((np.minimum(took, most[:, np.newaxis]) * _COUNTS).sum(1))  # type: ignore[no-any-return]

    def count(self, user: str) -> int:
        """Return of how many of a user's jobs something is known."""
        return int(np.isfinite(self._took.get(user, _NOTHING)).sum())

    def follow(self, view: View) -> int:
        """Learn from the jobs that are over since the last pass, from their last starts; return how many they were."""
        # A job that was suspended, or given other cores, is told of by several objects, perhaps in the same pass.
        for running in view.ended:
            _, began = self._began.get(running.attempt, (None, math.inf))
            self._began[running.attempt] = running.job, min(began, running.start_time)
        over = 0
        for attempt, (job, began) in list(self._began.items()):
            held = view.running_by_index.get(job.index) or view.planning.suspended_by_index.get(job.index)
            if held is not None and held.attempt == attempt:
                continue
            del self._began[attempt]
            # A job that waits or runs again has not ended, and a job whose nodes never booted has not run.
            if held is None and not view.is_pending(job) and began <= view.now:
                self.add(job.user, view.now - began)
                over += 1
        return over

    def __copy__(self) -> UsualTimes:
        """Return what is known now, to learn more from another run."""
        other = UsualTimes()
        other._took = dict(self._took)
        return other
