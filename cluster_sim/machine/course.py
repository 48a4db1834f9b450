"""How far a job is in its work, and what it does next: its parts, checkpoints, restarts and changes of its cores.

Passive: :mod:`cluster_sim.run.jobs.attempt` takes a job through its course, stage by stage. A job that has no parts, makes no
checkpoints, and is neither suspended nor resized nor started on other cores than it requested does all its work in one.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from cluster_sim.errors import InputError
from cluster_sim.workload.jobs import Job
from cluster_sim.workload.parts import MOST_CHECKPOINTS, Part, checkpoints_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.placement import Placement

NOTHING = 1e-9
"""A piece of work that is this part of an interval between checkpoints, or of a part of the work, is a rounding error."""


class Doing(StrEnum):
    """Kinds of stages: what the tasks of a job do."""

    WORK = "work"
    CHECKPOINT = "checkpoint"
    RESTART = "restart"
    RECONFIGURATION = "reconfiguration"


class Stage(NamedTuple):
    """A stage: what all tasks of a job do together, until the last has done it."""

    doing: Doing
    share: float  #: Of the whole work; 0 where it is none.
    seconds: float  #: How long it takes undisturbed; what is not work, nothing disturbs.


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs for a job to be prepared for a stop, and to go on after one."""

    interval: float = inf  #: s of work between checkpoints,
    growth: float = 1.0  #: times that after each of an attempt.
    checkpoint: float = 0.0  #: s.
    restart: float = 0.0  #: s.
    reconfiguration: float = 0.0  #: s.


class CourseProgress(NamedTuple):
    """The progress of a running job, as its user could know it."""

    parts_done: int
    parts: int
    would_lose_core_s: float  #: Core-seconds of work that a requeue now would undo.
    can_resize: bool  #: True if the number of its cores can be changed now, or, in parts, after the one that runs.
    wanted_cores: int  #: Cores that it asks for, for its next part; 0: it asks for no others.


class Course:
    """The way of a job through its work: here in one stage, of which nothing is kept when it is stopped.

    ``done`` and ``saved`` are parts of the whole work, 0 to 1: what is done, and what the last checkpoint holds.
    """

    done = saved = 0.0
    stage: Stage | None = Stage(Doing.WORK, 1.0, 0.0)  #: What its tasks do now; None: nothing.
    target: Placement | None = None  #: The cores on which it does its next part, if these are others,
    reserved: Allocation | None = None  #: and what it holds for that already.
    asks = 0  #: Cores that it asks for, for its next part; 0: it asks for no others.
    at_boundary = False  #: True if it has just come to the end of a part that is not the last.
    unsaved_core_s = 0.0  #: Core-seconds of work since the last checkpoint.
    to_exchange = 1.0  #: Part of what its tasks exchange when all work is done that they still have to.

    @property
    def is_working(self) -> bool:
        """Return whether its tasks do work, rather than make a checkpoint, restart or change their number."""
        return self.stage is not None and self.stage.doing is Doing.WORK

    def begin(self, whole_s: float) -> Stage | None:
        """Begin the next stage on cores on which all work takes ``whole_s``; None if nothing is left to do."""
        return self.stage

    def request(self, job: Job, cores: int) -> Job:
        """Return the job as it asks for what is left of it: that many cores, for the rest of its time."""
        return job.on_cores(cores)

    def time_left(self, job: Job, cores: int) -> float:
        """Return how long the job may run on that many cores by its request, s."""
        return job.on_cores(cores).requested_time

    def restart(self) -> None:
        """Go on from a checkpoint, or on other cores than before: that takes time first."""

    def go_back(self) -> None:
        """Lose what no checkpoint holds; another attempt begins with the last checkpoint, or from nothing."""


WHOLE = Course()
"""The course of every job whose work is one stage."""


class StagedCourse(Course):
    """The way of one job through several stages: parts of its work, checkpoints, restarts and changes of its cores."""

    def __init__(self, job: Job, parts: Sequence[Part], costs: Costs):
        self.job = job
        self.parts = parts
        self.costs = costs
        self.stage = None
        self._whole_s = 0.0  # how long all the work takes, as it was when the stage began
        self.used = 0.0  #: Part of its requested time that it has used up.
        self._part, self._left = 0, parts[0].share
        self._checkpointed = (0, parts[0].share)
        self._until_checkpoint = costs.interval
        self._interval = costs.interval
        self._checkpoints = 0  # in this attempt
        self._overheads: list[Stage] = []  # what comes before more work, the next one last

    @property
    def part(self) -> int:
        """Return how many parts are done."""
        return self._part

    @property
    def is_over(self) -> bool:
        """Return whether all work is done."""
        return self._part == len(self.parts)

    @property
    def changes_at_boundaries(self) -> bool:
        """Return whether the job has parts, be it one, and its cores change only between them."""
        return self.job.in_parts

    def begin(self, whole_s: float) -> Stage | None:
        if whole_s != self._whole_s:
            self._whole_s = whole_s
            interval, growth = self.costs.interval, self.costs.growth
            if growth >= 1.0 and checkpoints_in(self._whole_s, interval, growth) > MOST_CHECKPOINTS:
                expected = f"a time so that at most {MOST_CHECKPOINTS:,} are made in {self._whole_s:g} s of work"
                raise InputError(f"job {self.job.job_id}, checkpoint_interval", expected, interval)
        if self._overheads:
            self.stage = self._overheads.pop()
        elif self.is_over:
            self.stage = None
        else:
            share, seconds = self._left, self._left * whole_s
            if self._until_checkpoint < seconds * (1.0 - NOTHING):
                share = self._until_checkpoint / whole_s
                seconds = share * whole_s
            self.stage = Stage(Doing.WORK, share, seconds)
        return self.stage

    def complete(self, core_s: float) -> None:
        """End the stage, which took ``core_s`` core-seconds."""
        stage, self.stage = self.stage, None
        assert stage is not None
        if stage.doing is Doing.CHECKPOINT:
            self.saved, self._checkpointed = self.done, (self._part, self._left)
            self.unsaved_core_s = 0.0
        elif stage.doing is Doing.WORK:
            self._credit(stage.share, core_s)
            if self._until_checkpoint <= NOTHING * self._interval < inf and not self.is_over:
                self._overheads.insert(0, Stage(Doing.CHECKPOINT, 0.0, self.costs.checkpoint))
                self._interval *= self.costs.growth
                self._until_checkpoint = self._interval
                self._checkpoints += 1
                ends = self._interval > NOTHING * self._whole_s and self._checkpoints <= MOST_CHECKPOINTS
                if self.costs.growth < 1.0 and not ends:
                    where = f"job {self.job.job_id}, checkpoint_growth"
                    expected = "1 or more, or so much that the intervals between its checkpoints last for its work"
                    raise InputError(where, expected, self.costs.growth)

    def _credit(self, share: float, core_s: float) -> None:
        self.done = min(self.done + share, 1.0)
        self._left -= share
        self._until_checkpoint -= share * self._whole_s
        self.unsaved_core_s += core_s
        if self._left <= NOTHING * self.parts[self._part].share:
            self._part += 1
            self.at_boundary = not self.is_over
            if self.is_over:
                self.done = 1.0
            else:
                self._left = self.parts[self._part].share

    def interrupt(self, fraction: float, core_s: float) -> None:
        """End the stage early, with ``fraction`` of it done in ``core_s`` core-seconds; the rest is done later."""
        stage, self.stage = self.stage, None
        if stage is None:
            return
        if stage.doing is Doing.WORK:
            # What rounding would take for the whole is not: the end of a part is an event of its own.
            share = min(stage.share * fraction, self._left * (1.0 - 2.0 * NOTHING))
            self._credit(share, core_s)
        else:
            self._overheads.append(Stage(stage.doing, 0.0, stage.seconds * (1.0 - fraction)))

    def go_back(self) -> None:
        self.stage, self.done, self.at_boundary, self.asks, self.used = None, self.saved, False, 0, 0.0
        self._part, self._left = self._checkpointed
        self.unsaved_core_s, self.to_exchange = 0.0, 1.0
        self._until_checkpoint = self._interval = self.costs.interval
        self._checkpoints = 0
        self._overheads.clear()
        if self.saved > 0.0:
            self.restart()

    def seconds_ahead(self, whole_s: float, most_s: float = inf) -> float:
        """Return how long it takes, undisturbed, from the beginning of the present stage (else from now) to the end, s.

        ``whole_s`` is how long all work takes on the cores that it has; what comes after ``most_s`` is not looked at.
        """
        ahead, seconds = copy(self), 0.0
        ahead._overheads = self._overheads[:]
        while seconds < most_s and (stage := ahead.stage or ahead.begin(whole_s)) is not None:
            seconds += stage.seconds
            ahead.complete(0.0)
        return seconds

    def time_left(self, job: Job, cores: int) -> float:
        whole = self.job.on_cores(cores).requested_time
        return whole if whole == inf else max(whole * (1.0 - self.used), 0.0)

    def request(self, job: Job, cores: int) -> Job:
        return self.job.asking(cores, self.time_left(job, cores))

    def restart(self) -> None:
        self._overheads = [stage for stage in self._overheads if stage.doing is not Doing.RESTART]
        if self.costs.restart > 0.0:
            self._overheads.append(Stage(Doing.RESTART, 0.0, self.costs.restart))

    def reconfigure(self) -> None:
        """Go on with other cores: that takes time first."""
        if self.costs.reconfiguration > 0.0:
            self._overheads.append(Stage(Doing.RECONFIGURATION, 0.0, self.costs.reconfiguration))

    @property
    def next_cores(self) -> int:
        """Return the cores that the next part asks for; 0: none in particular."""
        return 0 if self.is_over else self.parts[self._part].cores
