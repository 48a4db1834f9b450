"""Notes rows while a run goes on. Passive and cheap: a few appends a job, tables are made afterwards."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cluster_sim.jobs import JobState

if TYPE_CHECKING:
    from cluster_sim.jobs import Job

NAN = float("nan")
STATES = (JobState.UNFINISHED, JobState.COMPLETED, JobState.KILLED, JobState.REJECTED)
_COMPLETED, _KILLED, _REJECTED = (STATES.index(s) for s in (JobState.COMPLETED, JobState.KILLED, JobState.REJECTED))


class Recorder:
    """Columns with one entry per job of the workload, and the allocations as ranges of cores.

    Arrays of machine numbers, not lists of objects: a million jobs have to fit.
    """

    def __init__(self, jobs: int):
        self.allocation_time = array("d", [NAN]) * jobs
        self.start_time = array("d", [NAN]) * jobs
        self.finish_time = array("d", [NAN]) * jobs
        self.state = bytearray(jobs)  #: Index into STATES.
        self.reason: dict[int, str] = {}
        self.range_job = array("q")  #: Ranges of cores: whose,
        self.range_first = array("q")  #: the first core by its global index,
        self.range_last = array("q")  #: and the last.
        self.over = 0  #: Jobs that are completed, killed or rejected.

    def allocated(self, now: float, job: Job, ranges: Iterable[tuple[int, int]]) -> None:
        """A job got its cores."""
        index = job.index
        self.allocation_time[index] = now
        for first, last in ranges:
            self.range_job.append(index)
            self.range_first.append(first)
            self.range_last.append(last)

    def started(self, now: float, job: Job) -> None:
        """A job's tasks began."""
        self.start_time[job.index] = now

    def ended(self, now: float, job: Job, reason: str) -> None:
        """A job completed, or was killed for a reason."""
        index = job.index
        self.finish_time[index] = now
        self.state[index] = _KILLED if reason else _COMPLETED
        self.over += 1
        if reason:
            self.reason[index] = reason

    def rejected(self, now: float, job: Job, reason: str, waited: bool) -> None:
        """A job was refused: when it was submitted, or, having waited until now, by the scheduler."""
        self.state[job.index] = _REJECTED
        self.reason[job.index] = reason
        self.over += 1
        if waited:
            self.finish_time[job.index] = now
