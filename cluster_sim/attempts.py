"""What became of the jobs: every attempt to run one, from its allocation to its end, and the state of each job.

Passive and cheap: a few appends an attempt, tables are made afterwards. Which cores an attempt held stands in the
machine's ledger, under the attempt's number.
"""

from __future__ import annotations

from array import array
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.jobs import JobState

if TYPE_CHECKING:
    from cluster_sim.jobs import Job

NAN = float("nan")
STATES = (JobState.UNFINISHED, JobState.COMPLETED, JobState.KILLED, JobState.REJECTED)
_COMPLETED, _KILLED, _REJECTED = (STATES.index(s) for s in (JobState.COMPLETED, JobState.KILLED, JobState.REJECTED))


class Outcome(StrEnum):
    """How an attempt ended."""

    UNFINISHED = "unfinished"
    COMPLETED = "completed"
    KILLED = "killed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    REQUEUED = "requeued"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"


OUTCOMES = tuple(Outcome)
_CODES = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class AttemptColumns(NamedTuple):
    """Attempts as arrays, shape (attempts,) each: see the columns of that name of :class:`Attempts`."""

    job: npt.NDArray[np.int64]
    queue_time: npt.NDArray[np.float64]
    allocation_time: npt.NDArray[np.float64]
    start_time: npt.NDArray[np.float64]
    end_time: npt.NDArray[np.float64]
    outcome: npt.NDArray[np.uint8]
    work_done: npt.NDArray[np.float64]
    ended_because: dict[int, str]


class Attempts:
    """Columns with an entry per attempt, in order of allocation, and columns with an entry per job of the workload.

    Arrays of machine numbers, not lists of objects: a million jobs have to fit.
    """

    def __init__(self, jobs: int):
        self.job = array("q")  #: Of each attempt: the job by its index,
        self.queue_time = array("d")  #: when the job joined the queue again for it, s; NaN for the first,
        self.allocation_time = array("d")  #: when it got its cores, s,
        self.start_time = array("d")  #: when its tasks began, s; NaN if they did not,
        self.end_time = array("d")  #: when it gave its cores back, s; NaN while it holds them,
        self.outcome = bytearray()  #: as an index into OUTCOMES,
        self.work_done = array("d")  #: and which part of the job's work was done at its end.
        self.ended_because: dict[int, str] = {}  #: Why attempts ended that were stopped; by attempt.
        self.state = bytearray(jobs)  #: Of each job: its state, as an index into STATES.
        self.reason: dict[int, str] = {}  #: Why it was killed or rejected,
        self.left_queue: dict[int, float] = {}  #: and when, if it waited, s; by index.
        self._rejoined: dict[int, float] = {}  # jobs that wait for another attempt: since when
        self.over = 0  #: Jobs that are completed, killed or rejected.

    def __len__(self) -> int:
        return len(self.job)

    def begin(self, now: float, job: Job) -> None:
        """A job got its cores: its next attempt."""
        self.job.append(job.index)
        self.queue_time.append(self._rejoined.pop(job.index, NAN) if self._rejoined else NAN)
        self.allocation_time.append(now)
        self.start_time.append(NAN)
        self.end_time.append(NAN)
        self.outcome.append(0)
        self.work_done.append(0.0)

    def end(self, now: float, attempt: int, outcome: Outcome, work_done: float, reason: str = "") -> None:
        """An attempt gave its cores back."""
        if reason:
            self.ended_because[attempt] = reason
        self.end_time[attempt] = now
        self.outcome[attempt] = _CODES[outcome]
        self.work_done[attempt] = work_done

    def completed(self, job: Job) -> None:
        """A job is over: its work is done."""
        self.state[job.index] = _COMPLETED
        self.over += 1

    def killed(self, job: Job, reason: str) -> None:
        """A job is over: it was killed."""
        self.state[job.index] = _KILLED
        self.reason[job.index] = reason
        self.over += 1

    def add_job(self) -> None:
        """Another job has been submitted."""
        self.state.append(0)

    def requeued(self, now: float, job: Job) -> None:
        """A job that ran, or was killed, waits again."""
        index = job.index
        if self.state[index] == _KILLED:
            self.state[index] = 0
            self.over -= 1
            del self.reason[index]
            self.left_queue.pop(index, None)
        self._rejoined[index] = now

    def withdrawn(self, now: float, job: Job, reason: str) -> None:
        """A job that waited was killed."""
        self.left_queue[job.index] = now
        self.killed(job, reason)

    def rejected(self, now: float, job: Job, reason: str, waited: bool) -> None:
        """A job was refused: when it was submitted, or, having waited until now, by the scheduler."""
        if waited:
            self.left_queue[job.index] = now
        self.state[job.index] = _REJECTED
        self.reason[job.index] = reason
        self.over += 1

    def columns(self) -> AttemptColumns:
        """The attempts up to now, as arrays."""
        return AttemptColumns(
            np.array(self.job),
            np.array(self.queue_time),
            np.array(self.allocation_time),
            np.array(self.start_time),
            np.array(self.end_time),
            np.frombuffer(bytes(self.outcome), np.uint8),
            np.array(self.work_done),
            dict(self.ended_because),
        )

    # ------------------------------------------------------------------ by job

    def spans(self) -> tuple[npt.NDArray[np.float64], ...]:
        """First allocation, first start, and finish of each job, s, NaN where there is none, shape (jobs,) each."""
        job, jobs = np.array(self.job), len(self.state)
        allocated, started, finished = (np.full(jobs, np.nan) for _ in range(3))
        began = ~np.isnan(np.array(self.start_time))
        # Backwards: of several attempts the first one counts.
        allocated[job[::-1]] = np.array(self.allocation_time)[::-1]
        started[job[began][::-1]] = np.array(self.start_time)[began][::-1]
        finished[job] = np.array(self.end_time)
        finished[list(self.left_queue)] = list(self.left_queue.values())
        finished[np.frombuffer(bytes(self.state), np.uint8) == STATES.index(JobState.UNFINISHED)] = np.nan
        return allocated, started, finished
