"""Jobs with a course on the machine: SimPy processes that go from stage to stage, and from part to part."""

from __future__ import annotations

from collections.abc import Callable, Generator
from math import inf
from typing import TYPE_CHECKING, Any

import simpy

from cluster_sim.machine.course import Doing
from cluster_sim.run.jobs.execution import REPLANNED, STOPPED

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.course import Course
    from cluster_sim.machine.running import Running
    from cluster_sim.run.jobs.execution import Executor
    from cluster_sim.run.jobs.job_life import JobLife
    from cluster_sim.run.jobs.stage_log import StageLog


def pursue(life: JobLife, course: Course, running: Running) -> Generator[Event, Any, None]:
    """Make the process of a job with a course, from its allocation to where it loses its last cores or ends.

    When its cores change, the process goes on with what ``course.running`` then is.
    """
    if running._ended:  # taken from it in the instant in which it got them
        return
    try:
        if running.start_time == inf:
            yield from life.boot(running)
        while True:
            try:
                if course.stage is not None:
                    for group in _on_machine(course)._groups:  # noqa: UP028 - as in execute
                        yield group
                    life.stages.complete(course)
                if course.at_boundary:
                    yield from life.changes.at_boundary(course)
                    course.at_boundary = False
                if course.stage is None and life.stages.begin_next(course):
                    continue
                if life.communicates:
                    running = _on_machine(course)
                    life.communicate(running)
                    if running._transfer is not None:
                        yield running._transfer
                break
            except simpy.Interrupt as interrupt:
                if interrupt.cause is not REPLANNED:
                    raise
    except simpy.Interrupt as interrupt:
        if interrupt.cause is not STOPPED:
            life.end(_on_machine(course), interrupt.cause)  # a Kill
    else:
        life.end(_on_machine(course))


def _on_machine(course: Course) -> Running:
    assert course.running is not None
    return course.running


class Stages:
    """The stages of jobs: their beginnings and ends, and what they do to the work."""

    def __init__(self, executor: Executor, request_pass: Callable[[], None], log: StageLog):
        self._executor = executor
        self._log = log
        self._request_pass = request_pass

    def begin_next(self, course: Course) -> bool:
        """Begin the next stage of a job's tasks; return whether there is one."""
        running, now = _on_machine(course), self._executor.now
        if course.begin(self._executor.whole_seconds(running)) is None:
            return False
        course.since = now
        self._executor.start_tasks(running)
        return True

    def complete(self, course: Course) -> None:
        """Enter that all tasks of a job have done their stage."""
        running = _on_machine(course)
        stage = course.stage
        now = self._executor.now
        course.complete(running.placement.cores * (now - course.since))
        self._executor.stop_tasks(running)
        if stage is not None and stage.doing is not Doing.WORK:
            self._log.note(running._attempt, stage.doing, course.since, now, course.saved)
            if stage.doing is Doing.RECONFIGURATION:
                self._request_pass()  # its cores can be changed again

    def cut_short(self, course: Course) -> None:
        """End the stage of a job here, done or not: its tasks stop."""
        running = _on_machine(course)
        if course.stage is not None and running.start_time < inf:
            doing, now = course.stage.doing, self._executor.now
            fraction, seconds = self._executor.stage_done(running), now - course.since
            if doing is not Doing.WORK and seconds > 0.0:
                self._log.note(running._attempt, doing, course.since, now, course.saved)
            course.interrupt(fraction, running.placement.cores * seconds)
        self._executor.stop_tasks(running)
