"""One attempt of a job, as a SimPy process: from its allocation to the release of its cores."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import simpy

from cluster_sim.engine import EagerProcess, Environment
from cluster_sim.machine.course import WHOLE, Course
from cluster_sim.run.jobs.attempts import AttemptEnd

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.running import Running

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


class AttemptSteps:
    """The steps of an attempt, which its process takes."""

    communicates: bool  #: True if any job has data to exchange when its tasks have ended.

    def boot(self, attempt: Attempt) -> Generator[Event, Any, None]:
        """Boot the nodes of a job, and wait until they are on."""
        raise NotImplementedError

    def begin(self, attempt: Attempt) -> None:
        """Begin the tasks of a job, whose nodes are ready."""
        raise NotImplementedError

    def go_on(self, attempt: Attempt) -> Generator[Event, Any, bool]:
        """End the stage of a job that has several, and begin the next; return whether there is one."""
        raise NotImplementedError

    def communicate(self, attempt: Attempt) -> None:
        """Start what the tasks of a job exchange after their end, if they have not yet."""
        raise NotImplementedError

    def end(self, attempt: Attempt, kill: Kill | None = None) -> None:
        """End a job: its work is done, or it has been killed."""
        raise NotImplementedError


class Attempt(EagerProcess):
    """The process of one attempt of a job, or of the rest of one after a suspension: it holds cores, and loads them.

    If its nodes ``are_ready`` its tasks begin at once. ``running`` is what policies see of it, another object when its cores
    have changed.
    """

    since = inf  #: When its present stage began, s.

    def __init__(
        self,
        env: Environment,
        steps: AttemptSteps,
        running: Running,
        allocation: Allocation,
        course: Course,
        are_ready: bool,
    ):
        self.job = running.job
        self.running = running
        self.allocation = allocation
        self.course = course
        self.groups: Sequence[Event] = ()  #: What its tasks run as: one event, or a group on each channel.
        self.transfers: Sequence[Event] = ()  #: What its tasks exchange when they have ended: one, or nothing.
        self.whole_s: float | None = None  #: How long all its work takes on these cores, once somebody has asked, s.
        # Boots begin after the pass, or a node would be in transition for what the scheduler still decides in it.
        super().__init__(env, self._run(steps, are_ready), at_once=are_ready)

    def _run(self, steps: AttemptSteps, are_ready: bool) -> Generator[Event, Any, None]:
        try:
            if not are_ready:
                if self.running.has_ended:  # taken from it in the instant in which it got them
                    return
                yield from steps.boot(self)
            steps.begin(self)
            while True:
                try:
                    # Waiting for a group that has ended already costs nothing, so this joins them in any order.
                    for group in self.groups:  # noqa: UP028 - these are events, not a generator to delegate to
                        yield group
                    if self.course is not WHOLE and (yield from steps.go_on(self)):
                        continue
                    if steps.communicates:
                        steps.communicate(self)
                        for transfer in self.transfers:  # noqa: UP028 - as the groups
                            yield transfer
                    break
                except simpy.Interrupt as interrupt:
                    if interrupt.cause is not REPLANNED:
                        raise
        except simpy.Interrupt as interrupt:
            if interrupt.cause is not STOPPED:
                steps.end(self, interrupt.cause)  # a Kill
        else:
            steps.end(self)
