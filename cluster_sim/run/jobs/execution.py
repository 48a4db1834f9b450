"""A job on the machine: a SimPy process that waits for its nodes, starts its tasks together and joins them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import simpy

from cluster_sim.engine import Environment
from cluster_sim.machine.course import Doing
from cluster_sim.machine.machine import Machine
from cluster_sim.machine.memory_channel import TaskGroup
from cluster_sim.machine.running import Running
from cluster_sim.models.contention import contention_models
from cluster_sim.models.power import power_models
from cluster_sim.models.processor_step import ProcessorModels
from cluster_sim.run.jobs.attempts import AttemptEnd
from cluster_sim.workload.work import Work

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.guest_requests import Request
    from cluster_sim.machine.node import NodeState
    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.jobs.job_life import JobLife
    from cluster_sim.workload.phases import Phase


REPLANNED = "replanned"
"""Cause of an interrupt that only means: what you wait for has been replaced, look again."""
STOPPED = "stopped"
"""Cause of an interrupt that only means: your job has lost its cores already, there is nothing left to do."""


class Kill:
    """Cause of an interrupt that ends an attempt early: the reason, for people, and what it is called in the records."""

    __slots__ = ("outcome", "reason")

    def __init__(self, reason: str, outcome: AttemptEnd = AttemptEnd.KILLED):
        self.reason = reason
        self.outcome = outcome


def execute(life: JobLife, running: Running) -> Generator[Event, Any, None]:
    """Make the process of one job, from its allocation to the release of its cores."""
    if running._ended:  # taken from it in the instant in which it got them
        return
    try:
        if running.start_time == inf:
            yield from life.boot(running)
        while True:
            try:
                # Waiting for a group that has ended already costs nothing, so this joins them in any order.
                for group in running._groups:  # noqa: UP028 - these are events, not a generator to delegate to
                    yield group
                if life.communicates:
                    life.communicate(running)
                    if running._transfer is not None:
                        yield running._transfer
                break
            except simpy.Interrupt as interrupt:
                if interrupt.cause is not REPLANNED:
                    raise
    except simpy.Interrupt as interrupt:
        if interrupt.cause is not STOPPED:
            life.end(running, interrupt.cause)  # a Kill
    else:
        life.end(running)


class Executor:
    """Starts the tasks of jobs: as one planned event while no task can slow another, else as groups on the channels."""

    def __init__(self, machine: Machine, work: Work, running: dict[int, Running], on_channels: bool):
        self._machine = machine
        self._env = machine.env
        self.work = work
        self._running = running
        self.on_channels = on_channels  #: True if all jobs are; else only those on processors where guests move memory.
        self._shared: set[int] = set()  # such processors
        rates = {kind.ops_per_s for kind in machine.platform.processor_types}
        self._only_rate = rates.pop() if len(rates) == 1 else None

    @property
    def now(self) -> float:
        """Return the time, s."""
        return self._env.now

    def start_tasks(self, running: Running) -> None:
        """Start all tasks of a job now, together."""
        if self.on_channels or (self._shared and self._meets_traffic(running)):
            running._groups = self._on_channels(running)
            return
        course = running._course
        if course is None:
            lasts = self._undisturbed(running)
        elif self.work.in_phases:  # the sum of a stretch's phases rounds otherwise than the stage
            phases = (self._phases(running, rate) for rate in self._rates(running))
            lasts = max(sum([seconds for seconds, _ in some]) for some in phases)
        else:
            assert course.stage is not None
            lasts = course.stage.seconds
        running._groups = [self._env.at(self._env.now + lasts)]

    def _undisturbed(self, running: Running) -> float:
        index = running.job.index
        if self._only_rate is not None and not self.on_channels:
            return self.work.seconds(index, self._only_rate)
        return max(self.work.seconds(index, rate) for rate in self._rates(running))

    def _rates(self, running: Running) -> set[float]:
        """Return operations/s of the cores of a job."""
        return {
            self._machine.type_of[p].ops_per_s for p, _ in self._machine.cores.cores_by_processor(running._allocation)
        }

    def whole_seconds(self, running: Running) -> float:
        """Return how long all of the job's work takes on the cores that it has, undisturbed, s."""
        if running._whole_s is None or self.on_channels:  # clocks may have changed
            ratio = self.work.time_ratio(running.job.index, running.placement.cores)
            running._whole_s = ratio * self._undisturbed(running)
        return running._whole_s

    def _phases(self, running: Running, ops_per_s: float) -> list[Phase]:
        """Return what a task of the job does on a core of that rate: all its work, or its present stage."""
        course, index = running._course, running.job.index
        if course is None:
            return self.work.phases(index, ops_per_s)
        stage = course.stage
        assert stage is not None
        if stage.doing is not Doing.WORK:
            return [(stage.seconds, 0.0)]
        return self.work.stretch_of(index, ops_per_s, course.done, stage.share, running.placement.cores)

    def _on_channels(self, running: Running, since: float | None = None) -> list[Event]:
        """Put the tasks on their channels; ``since``: they have run uncontended since then."""
        course = running._course
        fixed = self.work.is_fixed(running.job.index) or (course is not None and not course.is_working)
        groups: list[Event] = []
        for processor, tasks in self._machine.cores.cores_by_processor(running._allocation):
            phases = self._phases(running, self._machine.type_of[processor].ops_per_s)
            begun = since
            if begun is not None:
                # Leave out the phases that are over; if all are, the job waits for tasks elsewhere that are slower.
                while phases and begun + phases[0][0] < self._env.now:
                    begun += phases.pop(0)[0]
                if not phases:
                    continue
            groups.append(self._machine.channel(processor).request(tasks, phases, begun, fixed, running._attempt))
        return groups

    def move_to_channels(self) -> None:
        """Put the work in progress on the channels, if it is not there: from now on tasks can change their speed."""
        if self.on_channels:
            return
        self.on_channels = True
        for job in self._running.values():
            self._move(job)

    def put_on_channel(self, processor: int) -> None:
        """Put the jobs of a processor on its channel, now and later: a guest may move memory there."""
        if self.on_channels or processor in self._shared:
            return
        self._shared.add(processor)
        for job in self._running.values():
            if self._meets_traffic(job):
                self._move(job)

    def _meets_traffic(self, running: Running) -> bool:
        held = self._machine.cores.cores_by_processor(running._allocation)
        return any(processor in self._shared for processor, _ in held)

    def _move(self, job: Running) -> None:
        if job._groups and not isinstance(job._groups[0], TaskGroup):
            since = job.start_time if job._course is None else job._course.since
            job._groups = self._on_channels(job, since)
            assert job._process is not None
            job._process.interrupt(REPLANNED)

    def work_done(self, running: Running) -> float:
        """Return which part of the job's work its tasks have done by now, from 0 to 1."""
        course = running._course
        if course is None:
            return self.stage_done(running)
        return course.done + (course.stage.share * self.stage_done(running) if course.stage is not None else 0.0)

    def stage_done(self, running: Running) -> float:
        """Return which part of the present stage (without stages: of all work) its tasks have done, from 0 to 1."""
        if running.start_time == inf:
            return 0.0
        now = self._env.now
        since = running.start_time if running._course is None else running._course.since
        left = total = 0.0
        on_channels = self.on_channels or any(isinstance(group, TaskGroup) for group in running._groups)
        for processor, tasks in self._machine.cores.cores_by_processor(running._allocation):
            phases = self._phases(running, self._machine.type_of[processor].ops_per_s)
            seconds = sum([seconds for seconds, _ in phases])
            total += tasks * seconds
            if not on_channels:
                left += tasks * max(since + seconds - now, 0.0)
        for group in running._groups:
            if isinstance(group, TaskGroup) and not group.triggered:
                left += group.tasks * group.left(now)
        return 1.0 - min(left / total, 1.0) if total > 0.0 else 1.0

    def stop_tasks(self, running: Running) -> None:
        """Take the tasks of a job off the channels, if they are on any: the job, or a stage of it, is over."""
        if self.on_channels or self._shared:
            for group in running._groups:
                if isinstance(group, TaskGroup):
                    group.resource.withdraw(group)
        running._groups = []


class MachineWithoutRun:
    """A machine without a simulation: nothing happens on it, but cores can be held (for views made by hand)."""

    def __init__(self, platform: Platform):
        contention = contention_models.make(platform.contention_model)
        models = ProcessorModels(contention, power_models.make(platform.power_model))
        self.machine = Machine(Environment(), platform, models, self)

    def nodes_changed(self, nodes: Sequence[int], state: NodeState) -> None:
        """Tell no scheduler."""

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Return 0: no job runs."""
        return 0

    def guest_left(self, guest: Request) -> None:
        """Do nothing: no job waits."""

    def traffic_on(self, processor: int) -> None:
        """Do nothing: no work is in progress."""

    def rates_will_change(self) -> None:
        """Do nothing: no work is in progress."""
