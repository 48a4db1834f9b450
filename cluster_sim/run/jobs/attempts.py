"""What became of the jobs: every attempt to run one, from its allocation to its end, and the state of each job.

Passive and cheap: when an attempt got its cores, loaded them and gave them back stands in the machine's ledger, under its
number; here stands whose it was, and how it ended if it did not complete. Tables are made afterwards.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.run.jobs.stage_log import StageLog
from cluster_sim.workload.jobs import Job, JobState

if TYPE_CHECKING:
    from cluster_sim.machine.ledger import Ledger

STATES = (JobState.UNFINISHED, JobState.COMPLETED, JobState.KILLED, JobState.REJECTED)
_COMPLETED, _KILLED, _REJECTED = (STATES.index(s) for s in (JobState.COMPLETED, JobState.KILLED, JobState.REJECTED))


class AttemptEnd(StrEnum):
    """Ends of an attempt."""

    UNFINISHED = "unfinished"
    COMPLETED = "completed"
    KILLED = "killed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    REQUEUED = "requeued"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"


class Stopped(NamedTuple):
    """An attempt that ended before its work was done."""

    outcome: AttemptEnd
    work_done: float  #: Part of the job's work, 0 to 1.
    reason: str
    lost_core_s: float | None = None  #: Core-seconds that came to nothing; None: all that it computed.
    suspended_until: float = math.nan  #: When it was stopped, if that was while it was suspended, s.


class Absence(NamedTuple):
    """A gap in a wait of a job that was killed and came back: from when to when it was not in the queue, s.

    It lies within one wait as the tables have it: from eligibility, ``queue_time``, or the end of an attempt without a later
    one, to the next allocation or the job's end.
    """

    job: int  #: By its index.
    since: float
    until: float  #: inf: it has not joined the queue again.
    back: float = math.nan  #: When it came back, if something held it on its way to the queue then; NaN: nothing did.


class AttemptColumns(NamedTuple):
    """The attempts of a run up to some time, in order of allocation; arrays of shape (attempts,)."""

    job: npt.NDArray[np.int64]  #: The job by its index.
    allocation_time: npt.NDArray[np.float64]  #: When it got its cores, s.
    start_time: npt.NDArray[np.float64]  #: When its tasks began, s; NaN if they did not.
    end_time: npt.NDArray[np.float64]  #: When it gave its cores back, s; NaN while it holds them.
    stopped: dict[int, Stopped]
    queue_time: dict[
        int, float
    ]  #: When the job joined the queue again, s; of those that are not the first of their job.


class Attempts:
    """The attempts in order of allocation, and the states of the jobs by their index.

    Arrays of machine numbers, not lists of objects: a million jobs have to fit.
    """

    def __init__(self, jobs: int):
        self.job = array("q")  #: Of each attempt: the job by its index.
        self.stopped: dict[int, Stopped] = {}  #: Attempts that ended early.
        self.state = bytearray(jobs)  #: Of each job: its state, as an index into STATES.
        self.reason: dict[int, str] = {}  #: Why it was killed or rejected,
        self.left_queue: dict[int, float] = {}  #: and when, if it waited, s; by index.
        self.over = 0  #: Jobs that are completed, killed or rejected.
        self.all_over: list[Callable[[], object]] = []  #: Called whenever there is no other job.
        self.any_came_back = False  #: True if any job has been taken out of the queue, or waits again.
        self.suspended: set[int] = set()  #: Attempts that have lost their cores and are to go on.
        self.suspensions = 0  #: How often one was, and was not stopped by the scheduler before it had cores again.
        self.stages = StageLog()  #: What they did beside their work.
        self._absences: list[Absence] = []  # of jobs between two waits for one attempt
        # Jobs that are not in the queue: since when, because they were killed in it, or their attempt was stopped.
        self._taken_out: dict[int, float] = {}
        self._stopped: dict[int, float] = {}
        self._back: dict[int, float] = {}  # of those that were killed: when they came back, until they are in the queue
        self._rejoined: dict[int, Absence] = {}  # jobs that joined it for another attempt, and have not begun that
        self._queue_time: dict[int, float] = {}  # attempts that are not the first of their job: since when it waited

    def __len__(self) -> int:
        return len(self.job)

    def add_job(self) -> None:
        """Add a job that has been submitted."""
        self.state.append(0)

    def begin(self, job: Job) -> None:
        """Enter the next attempt of a job that got its cores."""
        if self._rejoined and job.index in self._rejoined:
            self._queue_time[len(self.job)] = self._rejoined.pop(job.index).until
        self.job.append(job.index)

    def completed(self, job: Job) -> None:
        """Enter that a job is over: its work is done."""
        self.state[job.index] = _COMPLETED
        self.over += 1
        if self.over == len(self.state):
            self._tell()

    def killed(self, now: float, job: Job, reason: str) -> None:
        """Enter that a job is over: it was killed with its attempt."""
        self._stopped[job.index] = now
        self._kill(job, reason)

    def withdrawn(self, now: float, job: Job, reason: str, in_queue: bool) -> None:
        """Enter that a job that waited was killed: ``in_queue``, or on its way there."""
        self.any_came_back = True
        if in_queue:
            self._taken_out[job.index] = now
        elif job.index in self._back and job.index in self._taken_out:  # once more since it came back: another gap
            gap = Absence(job.index, self._taken_out[job.index], now, self._back.pop(job.index))
            self._absences.append(gap)
            self._taken_out[job.index] = now
        self.left_queue[job.index] = now
        self._kill(job, reason)

    def killed_suspended(self, now: float, job: Job, reason: str) -> None:
        """Enter that a suspended job was killed."""
        self.left_queue[job.index] = now
        self.killed(now, job, reason)

    def _kill(self, job: Job, reason: str) -> None:
        self.state[job.index] = _KILLED
        self.reason[job.index] = reason
        self.over += 1
        self._tell()

    def rejected(self, now: float, job: Job, reason: str, waited: bool) -> None:
        """Enter that a job was refused: when it was submitted, or, having waited until now, by the scheduler."""
        if waited:
            self.left_queue[job.index] = now
        self.state[job.index] = _REJECTED
        self.reason[job.index] = reason
        self.over += 1
        self._tell()

    def _tell(self) -> None:
        for hear in self.all_over if self.over == len(self.state) else ():
            hear()

    def requeued(self, now: float, job: Job) -> None:
        """Enter that a job that ran, or was killed, is to wait again: on its way to the queue."""
        self.any_came_back = True
        index = job.index
        if self.state[index] == _KILLED:
            self.state[index] = 0
            self.over -= 1
            del self.reason[index]
            self.left_queue.pop(index, None)
            self._back[index] = now
        else:
            self._stopped[index] = now

    def joined(self, now: float, job: Job) -> None:
        """Enter that a job is in the queue, for the first time or again."""
        index = job.index
        back = self._back.pop(index, now) if self._back else now
        held_since = back if back < now else math.nan
        if index in self._taken_out:
            self._absences.append(Absence(index, self._taken_out.pop(index), now, held_since))
        elif index in self._stopped:
            self._rejoined[index] = Absence(index, self._stopped.pop(index), now, held_since)

    def has_waited(self, job: Job) -> bool:
        """Return whether a job on its way to the queue was in it before."""
        return job.index in self._taken_out or job.index in self._stopped

    def absences(self) -> list[Absence]:
        """Return the gaps in waits, up to now."""
        if not self.any_came_back:
            return []
        found = [*self._absences, *self._rejoined.values()]
        for index, since in (*self._taken_out.items(), *self._stopped.items()):
            is_over = self.state[index] != STATES.index(JobState.UNFINISHED)
            until = self.left_queue.get(index, since) if is_over else math.inf
            found.append(Absence(index, since, until, self._back.get(index, math.nan)))
        return [absence for absence in found if absence.until > absence.since]

    # ------------------------------------------------------------------ as arrays

    def columns(self, ledger: Ledger) -> AttemptColumns:
        """Return the attempts up to now, with what the ledger says of them."""
        allocated, started, ended = ledger.times_of(len(self.job))
        ended[list(self.suspended)] = np.nan
        times = allocated, started, ended
        return AttemptColumns(np.array(self.job), *times, dict(self.stopped), dict(self._queue_time))

    def spans(self, attempts: AttemptColumns) -> tuple[npt.NDArray[np.float64], ...]:
        """Return first allocation, first start, and finish of each job, s, NaN if there is none, shape (jobs,) each."""
        jobs = len(self.state)
        allocated, started, finished = np.full(jobs, np.nan), np.full(jobs, np.nan), np.full(jobs, np.nan)
        began = ~np.isnan(attempts.start_time)
        # Backwards: of several attempts the first one counts.
        allocated[attempts.job[::-1]] = attempts.allocation_time[::-1]
        started[attempts.job[began][::-1]] = attempts.start_time[began][::-1]
        finished[attempts.job] = attempts.end_time
        finished[list(self.left_queue)] = list(self.left_queue.values())
        finished[np.frombuffer(bytes(self.state), np.uint8) == STATES.index(JobState.UNFINISHED)] = np.nan
        return allocated, started, finished
