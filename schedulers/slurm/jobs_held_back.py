"""Jobs that stand in no queue yet: held, not begun, waiting for others, or for their advance reservation."""

from __future__ import annotations

import math

from schedulers.slurm.cluster import SlurmCluster
from schedulers.slurm.dependencies import Dependencies
from schedulers.slurm.job_request import Ask
from schedulers.slurm.queue import ReasonCode


class JobsHeldBack:
    """Keeps jobs until they are eligible, which it tells the accounting. :attr:`reasons` has why, by their keys."""

    def __init__(self, cluster: SlurmCluster, dependencies: Dependencies | None):
        self._cluster = cluster
        self._dependencies = dependencies
        self._asks: dict[int, Ask] = {}
        self.reasons: dict[int, ReasonCode] = {}
        self.next_time = math.inf  #: When time alone may make one of them eligible, s.

    def add(self, ask: Ask, now: float) -> None:
        """Add a job that waits, and perhaps is eligible at once."""
        self._asks[ask.key] = ask
        self._look_at(ask, now)

    def drop(self, key: int) -> None:
        """Drop a job that has left the queue."""
        self._asks.pop(key, None)
        self.reasons.pop(key, None)

    def release(self, now: float) -> None:
        """Let those go that are eligible."""
        self.next_time = math.inf
        for _, ask in sorted(self._asks.items()):
            self._look_at(ask, now)

    def _look_at(self, ask: Ask, now: float) -> None:
        reason = self._reason(ask, now)
        if reason is ReasonCode.NONE:
            self.drop(ask.key)
            self._cluster.accounting.eligible(ask, now)
        else:
            self.reasons[ask.key] = reason
            times = [ask.begin_time]
            if self._dependencies is not None:
                times.append(self._dependencies.next_change(ask, now))
            if ask.reservation:
                times += [window.start for window in self._cluster.windows if window.name == ask.reservation]
            next_time = min((time for time in times if time > now), default=math.inf)
            self.next_time = min(self.next_time, next_time)

    def _reason(self, ask: Ask, now: float) -> ReasonCode:
        if ask.held:
            return ReasonCode.HELD
        if self._dependencies is not None:
            waits = self._dependencies.reason(ask, now)
            if waits is not ReasonCode.NONE:
                return waits
        if ask.begin_time > now:
            return ReasonCode.BEGIN_TIME
        return ReasonCode.NONE if self._cluster.is_open(ask, now) else ReasonCode.RESERVATION
