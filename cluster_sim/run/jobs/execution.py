"""The tasks of jobs: started together, stage by stage, on the channels or as one planned event, and stopped."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from cluster_sim.machine.course import WHOLE, Doing, StagedCourse
from cluster_sim.machine.machine import Machine
from cluster_sim.machine.memory_channel import TaskGroup
from cluster_sim.run.jobs.attempt import REPLANNED, Attempt
from cluster_sim.workload.work import Work

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.run.jobs.stage_log import StageLog
    from cluster_sim.workload.phases import Phase


class Executor:
    """Starts the tasks of jobs: as one planned event while no task can slow another, else as groups on the channels."""

    def __init__(
        self,
        machine: Machine,
        work: Work,
        holders: dict[int, Attempt],
        on_channels: bool,
        request_pass: Callable[[], None],
        log: StageLog,
    ):
        self._machine = machine
        self._env = machine.env
        self.work = work
        self._holders = holders
        self._request_pass = request_pass
        self._log = log
        self.on_channels = on_channels  #: True if all jobs are; else only those on processors where guests move memory.
        self._shared: set[int] = set()  # such processors
        self.any_on_channels = on_channels  #: True if any jobs are, or have been.
        rates = {kind.ops_per_s for kind in machine.platform.processor_types}
        self._only_rate = rates.pop() if len(rates) == 1 else None
        machine.hub.memory_moves.append(self._put_on_channel)
        machine.hub.clock_changes.append(self.move_to_channels)

    def start_tasks(self, attempt: Attempt) -> None:
        """Start all tasks of a job now, together."""
        attempt.since = self._env.now
        if self.on_channels or (self._shared and self._meets_traffic(attempt)):
            attempt.groups = self._on_channels(attempt)
            return
        course = attempt.course
        if course is WHOLE:
            rate = self._only_rate
            lasts = self._undisturbed(attempt) if rate is None else self.work.seconds(attempt.job.index, rate)
        elif self.work.in_phases:  # the sum of a stretch's phases rounds otherwise than the stage
            phases = (self._phases(attempt, rate) for rate in self._rates(attempt))
            lasts = max(sum([seconds for seconds, _ in some]) for some in phases)
        else:
            assert course.stage is not None
            lasts = course.stage.seconds
        attempt.groups = [self._env.at(attempt.since + lasts)]

    def _undisturbed(self, attempt: Attempt) -> float:
        index = attempt.job.index
        if self._only_rate is not None and not self.on_channels:
            return self.work.seconds(index, self._only_rate)
        return max(self.work.seconds(index, rate) for rate in self._rates(attempt))

    def _rates(self, attempt: Attempt) -> set[float]:
        """Return operations/s of the cores of a job."""
        return {
            self._machine.type_of[p].ops_per_s for p, _ in self._machine.cores.cores_by_processor(attempt.allocation)
        }

    def whole_seconds(self, attempt: Attempt) -> float:
        """Return how long all of the job's work takes on the cores that it has, undisturbed, s."""
        if attempt.whole_s is None or self.on_channels:  # clocks may have changed
            ratio = self.work.time_ratio(attempt.job.index, attempt.running.placement.cores)
            attempt.whole_s = ratio * self._undisturbed(attempt)
        return attempt.whole_s

    def _phases(self, attempt: Attempt, ops_per_s: float) -> list[Phase]:
        """Return what a task of the job does on a core of that rate: all its work, or its present stage."""
        course, index = attempt.course, attempt.job.index
        if course is WHOLE:
            return self.work.phases(index, ops_per_s)
        stage = course.stage
        assert stage is not None
        if stage.doing is not Doing.WORK:
            return [(stage.seconds, 0.0)]
        return self.work.stretch_of(index, ops_per_s, course.done, stage.share, attempt.running.placement.cores)

    def _on_channels(self, attempt: Attempt, since: float | None = None) -> list[Event]:
        """Put the tasks on their channels; ``since``: they have run uncontended since then."""
        fixed = self.work.is_fixed(attempt.job.index) or not attempt.course.is_working
        groups: list[Event] = []
        for processor, tasks in self._machine.cores.cores_by_processor(attempt.allocation):
            phases = self._phases(attempt, self._machine.type_of[processor].ops_per_s)
            begun = since
            if begun is not None:
                # Leave out the phases that are over; if all are, the job waits for tasks elsewhere that are slower.
                while phases and begun + phases[0][0] < self._env.now:
                    begun += phases.pop(0)[0]
                if not phases:
                    continue
            groups.append(
                self._machine.channel(processor).request(tasks, phases, begun, fixed, attempt.running.attempt)
            )
        return groups

    def move_to_channels(self) -> None:
        """Put the work in progress on the channels, if it is not there: from now on tasks can change their speed."""
        if self.on_channels:
            return
        self.on_channels = self.any_on_channels = True
        for attempt in self._holders.values():
            self._move(attempt)

    def _put_on_channel(self, processor: int) -> None:
        """Put the jobs of a processor on its channel, now and later: a guest may move memory there."""
        if self.on_channels or processor in self._shared:
            return
        self._shared.add(processor)
        self.any_on_channels = True
        for attempt in self._holders.values():
            if self._meets_traffic(attempt):
                self._move(attempt)

    def _meets_traffic(self, attempt: Attempt) -> bool:
        held = self._machine.cores.cores_by_processor(attempt.allocation)
        return any(processor in self._shared for processor, _ in held)

    def _move(self, attempt: Attempt) -> None:
        if attempt.groups and not isinstance(attempt.groups[0], TaskGroup):
            attempt.groups = self._on_channels(attempt, attempt.since)
            attempt.interrupt(REPLANNED)

    def work_done(self, attempt: Attempt) -> float:
        """Return which part of the job's work its tasks have done by now, from 0 to 1."""
        course = attempt.course
        return course.done + (course.stage.share * self.stage_done(attempt) if course.stage is not None else 0.0)

    def stage_done(self, attempt: Attempt) -> float:
        """Return which part of the present stage its tasks have done, from 0 to 1."""
        if attempt.running.start_time == inf:
            return 0.0
        now = self._env.now
        left = total = 0.0
        on_channels = self.on_channels or any(isinstance(group, TaskGroup) for group in attempt.groups)
        for processor, tasks in self._machine.cores.cores_by_processor(attempt.allocation):
            phases = self._phases(attempt, self._machine.type_of[processor].ops_per_s)
            seconds = sum([seconds for seconds, _ in phases])
            total += tasks * seconds
            if not on_channels:
                left += tasks * max(attempt.since + seconds - now, 0.0)
        for group in attempt.groups:
            if isinstance(group, TaskGroup) and not group.triggered:
                left += group.tasks * group.left(now)
        return 1.0 - min(left / total, 1.0) if total > 0.0 else 1.0

    def stop_tasks(self, attempt: Attempt) -> None:
        """Take the tasks of a job off the channels, if they are on any: the job, or a stage of it, is over."""
        for group in attempt.groups:
            if isinstance(group, TaskGroup):
                group.resource.withdraw(group)
        attempt.groups = []

    # ------------------------------------------------------------------ stages

    def begin_stage(self, attempt: Attempt) -> bool:
        """Begin the next stage of a job's tasks; return whether there is one."""
        if attempt.course.begin(self.whole_seconds(attempt)) is None:
            return False
        self.start_tasks(attempt)
        return True

    def complete_stage(self, attempt: Attempt, course: StagedCourse) -> None:
        """Enter that all tasks of a job have done their stage."""
        stage, now = course.stage, self._env.now
        course.complete(attempt.running.placement.cores * (now - attempt.since))
        self.stop_tasks(attempt)
        if stage is not None and stage.doing is not Doing.WORK:
            self._log.note(attempt.running.attempt, stage.doing, attempt.since, now, course.saved)
            if stage.doing is Doing.RECONFIGURATION:
                self._request_pass()  # its cores can be changed again

    def cut_short(self, attempt: Attempt, course: StagedCourse) -> None:
        """End the stage of a job here, done or not: its tasks stop."""
        if course.stage is not None and attempt.running.start_time < inf:
            doing, now = course.stage.doing, self._env.now
            fraction, seconds = self.stage_done(attempt), now - attempt.since
            if doing is not Doing.WORK and seconds > 0.0:
                self._log.note(attempt.running.attempt, doing, attempt.since, now, course.saved)
            course.interrupt(fraction, attempt.running.placement.cores * seconds)
        self.stop_tasks(attempt)
