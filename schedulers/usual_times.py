"""How long each user's jobs take of late: what a scheduler can learn while it runs, as far as users tell jobs apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.run.view import View
    from cluster_sim.workload.workload import Workload

LAST = 10
"""So many of a user's jobs are remembered."""
KEPT = 0.7
"""What a job counts beside the same user's next."""
SHORTEST_S = 10.0
"""Jobs count as at least so long, as in the bounded slowdown."""
_COUNTS = KEPT ** np.arange(LAST) / (KEPT ** np.arange(LAST)).sum()
_NOTHING = np.full(LAST, np.inf)  # at most what is requested


class UsualTimes:
    """The geometric mean of what a user's last ten jobs took, none of which counts as longer than what the next one requests.

    The last job counts 1, the one before 0.7, the one before that 0.49, and so on; jobs that the user has not run yet count as
    the request, which is all there is to go by for a user of whom no job has ended. Known from the start are those jobs of a
    ``log`` that had ended by ``until`` (s on its clock), by their recorded waits and run times.
    """

    def __init__(self, log: Workload | None = None, until: float = math.inf):
        self._took: dict[str, npt.NDArray[np.float64]] = {}  # logarithms, the last job's first, by user
        if log is not None:
            table = log.jobs[log.jobs["recorded_run_time"].notna()]
            ends = table["submit_time"] + table["recorded_wait_time"].clip(lower=0.0) + table["recorded_run_time"]
            table = table.loc[ends[ends <= until].sort_values(kind="stable").index]
            for user, seconds in zip(table["user"].tolist(), table["recorded_run_time"].tolist(), strict=True):
                self.add(user, seconds)

    def add(self, user: str, seconds: float) -> None:
        """A job of the user has ended after so long."""
        before = self._took.get(user, _NOTHING)[:-1]
        self._took[user] = np.concatenate(([math.log(max(seconds, SHORTEST_S))], before))

    def of(self, users: Iterable[str], requested: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """What jobs of these users that request so much (s) can be expected to take, s."""
        most = np.log(np.maximum(requested, SHORTEST_S))
        took = np.array([self._took.get(user, _NOTHING) for user in users])
        # Not a product of matrices, whose last bits depend on how many jobs there are: equal jobs have to tie.
        return np.exp((np.minimum(took, most[:, np.newaxis]) * _COUNTS).sum(1))  # type: ignore[no-any-return]

    def follow(self, view: View) -> int:
        """Before a pass: learn from the jobs that have ended since the last; how many these were."""
        over = [
            running
            for running in view.ended
            if running.start_time <= view.now  # its nodes had booted
            and not view.is_pending(running.job)  # nor was it put back in the queue, suspended, or given other cores
            and running.job.index not in view.suspended_by_index
            and running.job.index not in view.running_by_index
        ]
        for running in over:
            self.add(running.job.user, view.now - running.start_time)
        return len(over)

    def __copy__(self) -> UsualTimes:
        """What is known now, to learn more from another run."""
        other = UsualTimes()
        other._took = dict(self._took)
        return other
