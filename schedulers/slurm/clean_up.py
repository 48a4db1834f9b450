"""Nodes of jobs that have ended: they are free when they are cleaned up, which takes longer where a job was killed."""

from __future__ import annotations

import math
from collections import Counter
from enum import IntEnum
from heapq import heappop, heappush

from schedulers.slurm.cluster import SlurmCluster


class Freed(IntEnum):
    """Kind of clean-up: of some nodes of a job, of all, or of all of a job that was killed."""

    NOTHING = 0
    NODES = 1
    JOB = 2
    KILLED_JOB = 3


class CleanUps:
    """Clean-ups of nodes: ``delay`` s after the end of a job, ``kill_delay`` s the first of one that was killed."""

    def __init__(self, cluster: SlurmCluster, delay: float, kill_delay: float):
        self._cluster = cluster
        self._delay = delay
        self._kill_delay = kill_delay
        self._due: list[tuple[float, int]] = []  # (s, job; ~job: all its nodes but the first)
        self._kills: Counter[int] = Counter()  # of each job
        self._over: dict[int, float] = {}
        self._slow: set[int] = set()  # jobs that were killed

    @property
    def next(self) -> float:
        """Return when nodes are next free, s; inf: all are."""
        return self._due[0][0] if self._due else math.inf

    def over(self, key: int, now: float) -> float:
        """Return when the clean-up after a job's last end is over, s; now if it has not ended before."""
        return self._over.get(key, now)

    def begin(self, key: int, now: float, killed: bool) -> None:
        """Begin the clean-up after a job."""
        delay = self._delay
        if killed:
            own = self._cluster.held[key].ask.kill_cleanups_s[self._kills[key] :]
            self._kills[key] += 1
            self._slow.add(key)
            heappush(self._due, (now + delay, ~key))
            delay = max(own[0] if own else self._kill_delay, delay)  # its first node is the last to be free
        self._over[key] = now + delay
        heappush(self._due, (now + delay, key))

    def advance(self, now: float) -> Freed:
        """Free the nodes that are cleaned up by now; what of all that has most consequences."""
        freed = Freed.NOTHING
        while self.next <= now:
            _, key = heappop(self._due)
            if key < 0:
                self._cluster.clean_all_but_first(~key)
                freed = max(freed, Freed.NODES)
            else:
                self._cluster.clean(key)
                freed = max(freed, Freed.KILLED_JOB if key in self._slow else Freed.JOB)
                self._slow.discard(key)
        return freed
