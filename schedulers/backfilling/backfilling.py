"""Backfilling: jobs behind the head of the queue start early where they do not delay those that were promised a start."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import Doc

from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import FITS, Reason, ReasonKind
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Decision, Start
from cluster_sim.run.view import View
from schedulers.backfilling.job_queue import JobQueue
from schedulers.backfilling.node_choice import NodeChoice
from schedulers.backfilling.profile_plan import ProfilePlan
from schedulers.backfilling.promise_log import PromiseLog
from schedulers.backfilling.timeline import Timeline
from schedulers.policy.policy import Scheduler
from schedulers.queue.orders import (
    Aging,
    AnyJobOrder,
    AnyNodeOrder,
    Memory,
    first,
    job_orders,
    node_orders,
    order_in,
    platform_order,
)

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

Reservation = Annotated[Literal["counted", "pinned"], Doc("a promise is of so many cores, or of certain ones")]


class Backfilling(Scheduler):
    """Base of EASY and conservative backfilling: the queue, the running jobs by expected end, and starting a job.

    ``jobs`` and ``nodes`` are orders, by name or as functions, see :mod:`schedulers.queue.orders`. ``reservation`` says
    what a promise is of: ``counted``, so many cores (the textbook's, Mu'alem and Feitelson 2001), or ``pinned``,
    certain cores of certain nodes (as Batsim's). With ``memory``, nodes must have room for the jobs' memory.
    Conservative backfilling, and EASY with a depth of 2 or more, pin their promises in any case where nodes have
    several cores, or jobs ask for nodes, tags or memory.

    A job is expected to end at its start plus its requested time; one that outlives that is put off step by step, see
    :class:`~schedulers.backfilling.timeline.Timeline`. All that happens in an instant is one pass.
    """

    def __init__(
        self,
        jobs: AnyJobOrder = first,
        nodes: AnyNodeOrder = platform_order,
        reservation: Reservation = "counted",
        memory: Memory = False,
        aging: Aging = math.inf,
    ):
        self._job_order = job_orders.make(jobs) if isinstance(jobs, str) else jobs
        self._aging = aging
        self._node_order = node_orders.make(nodes) if isinstance(nodes, str) else nodes
        self._pinned = reservation == "pinned"
        self.memory = memory

    def begin(self, view: View) -> None:
        """Start with an empty queue and an empty machine."""
        self._queue = JobQueue(order_in(view, self._job_order, self._aging))
        self._timeline = Timeline(view)
        for running in view.running:
            self._timeline.add(running)
        self._where = NodeChoice(view, self._node_order, self.memory)
        self._counted = view.machine.counts_only and not self._pinned and not view.planning.counts_memory
        self._log = PromiseLog(view, self.memory)

    def _profile(self, view: View) -> ProfilePlan:
        """Return a plan for many promises. While nodes would have to boot, promises are of certain nodes."""
        return ProfilePlan(self._where, self._timeline, self._counted and view.machine.boot_delays is None)

    def _start(
        self, view: View, place: int, job: Job, placement: Placement, why: Reason = FITS
    ) -> Generator[Decision, None, Running]:
        """Start the job at a place of the queue; the decision log gets to know why, and what the order says of it."""
        if view.explains:
            if told := self._queue.tell(job):
                why = replace(why or Reason(ReasonKind.SAID), said=told)
            start = Start(job, placement, why)
            yield from self._log.started(start)
            yield start
        else:
            yield Start(job, placement, why)
        self._queue.leave(place)
        return view.running_by_index[job.index]
