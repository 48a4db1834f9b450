"""Conservative backfilling: a promise to everybody."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.decisions import Decision, Start, WakeAt
from schedulers.backfilling import Backfilling, spec_of
from schedulers.base import schedulers
from schedulers.orders import JobOrder, NodeOrder, first, name_of, platform_order
from schedulers.plans import Promise
from schedulers.profile_plan import ProfilePlan
from schedulers.releases import Returns, planned_time

if TYPE_CHECKING:
    from cluster_sim.jobs import Job
    from cluster_sim.view import View

NEVER: Promise = (math.inf, None)


class ConservativeBackfilling(Backfilling):
    """Conservative: every job is promised a start when it is submitted, and no promise is ever put off for another job.

    A job gets the earliest start that delays no promise made before (Feitelson and Weil 1998). When a job ends earlier
    than expected, the pending ones are moved forward where they can be, one after the other in the order of the queue;
    the order decides nothing else. Only where the machine does not do as expected (a job outlives its request, a node
    fails) are all promises made anew, in the order of their times.
    """

    def __init__(
        self,
        order: str | JobOrder = first,
        nodes: str | NodeOrder = platform_order,
        reservation: str = "counted",
        memory: bool = False,
    ):
        super().__init__(order, nodes, reservation, memory)
        options = {
            "order": name_of(order),
            "nodes": name_of(nodes),
            "reservation": reservation,
            "memory": "yes" if memory else "no",
        }
        self.spec = spec_of("conservative", options)

    def begin(self, view: View) -> None:
        """Start with no promise."""
        super().begin(view)
        self._promises: dict[int, Promise] = {}  # by job index
        self._waiting: dict[int, Job] = {}  # the jobs that have one
        self._due: list[tuple[float, int]] = []  # (promised start, job index), also of promises that were replaced
        self._plan: ProfilePlan | None = None
        self._capacity_changes = -1
        self._wakes_at = -1.0

    def schedule(self, view: View) -> Iterator[Decision]:
        """One pass: what has ended early moves others forward; the new jobs are promised a start; due jobs start."""
        self._queue.close_up()
        ended_early = self._follow(view)
        put_off = self._releases.put_off_overdue(view.now) | Returns(view).are_late()
        if self._plan is None or put_off or view.capacity_changes != self._capacity_changes:
            self._queue.join(view.submitted, view)
            yield from self._promise_anew(view)
        else:
            self._plan.profile.advance(view.now)
            if ended_early | self._withdraw_the_cancelled(view):
                yield from self._move_forward(view)
            self._queue.join(view.submitted, view)
            for job in view.submitted:
                if view.is_pending(job):
                    yield from self._promise(view, job)
        yield from self._start_due(view)
        if self._due and self._due[0][0] != self._wakes_at and self._due[0][0] > view.now:
            # Nothing else need happen then: the job whose end was waited for may have been moved forward since.
            self._wakes_at = self._due[0][0]
            yield WakeAt(self._wakes_at)

    def _follow(self, view: View) -> bool:
        """Take note of what has ended; whether anything was expected to run on."""
        early = False
        for running in view.ended:
            until = self._releases.drop(running)
            if until > view.now and self._plan is not None:
                self._plan.give_back(running, until)
                early = True
        return early

    def _withdraw_the_cancelled(self, view: View) -> bool:
        """Take back the promises of jobs that no longer wait; whether there were any."""
        queue, plan = self._queue, self._plan
        assert plan is not None
        if len(queue) + len(view.submitted) == view.pending_count:
            return False
        gone = [(place, job) for place, job in queue.after(queue.first) if not view.is_pending(job)]
        for place, job in gone:
            queue.leave(place)
            if job.index in self._promises:
                plan.withdraw(job, *self._promises.pop(job.index))
        return bool(gone)

    def _promise(self, view: View, job: Job) -> Iterator[Decision]:
        assert self._plan is not None
        yield from self._note(view, job, self._plan.promise(job))

    def _note(self, view: View, job: Job, promise: Promise | None) -> Iterator[Decision]:
        if promise is not None:
            self._promises[job.index] = promise
            self._waiting[job.index] = job
            heappush(self._due, (promise[0], job.index))
        if view.explains and (promise is None or promise[0] > view.now):
            yield from self._reasons(view, job, promise)

    def _promise_anew(self, view: View) -> Iterator[Decision]:
        """Forget the profile and all promises, and make them again, in the order of their times."""
        self._capacity_changes = view.capacity_changes
        self._plan = ProfilePlan(self._where, self._releases, self._counted)
        self._queue.refresh(view)
        earlier, self._promises, self._due = self._promises, {}, []
        waiting = [(place, job) for place, job in self._queue.after(self._queue.first)]
        for place, job in sorted(waiting, key=lambda entry: (earlier.get(entry[1].index, NEVER)[0], entry[1].index)):
            if view.is_pending(job):
                yield from self._promise(view, job)
            else:
                self._queue.leave(place)

    def _move_forward(self, view: View) -> Iterator[Decision]:
        """Give every pending job, in the order of the queue, an earlier start if there is one now."""
        queue, plan = self._queue, self._plan
        assert plan is not None
        queue.refresh(view)
        jobs = [queue.job(place) for place in range(queue.stop)]
        starts = np.array([0.0 if job is None else self._promises.get(job.index, NEVER)[0] for job in jobs])
        first = 0
        while first < queue.stop:
            worth = plan.could_be_earlier(queue.cores(first), starts[first:])
            for place in (first + np.flatnonzero(worth)).tolist():
                job = jobs[place]
                if job is not None and (yield from self._moved(view, job)):
                    first = place + 1  # what it has left may serve a job behind it
                    break
            else:
                break
        plan.tidy()

    def _moved(self, view: View, job: Job) -> Generator[Decision, None, bool]:
        """Promise the job anew; whether it starts earlier."""
        assert self._plan is not None
        earlier = self._promises.get(job.index, NEVER)
        if not self._plan.can_be_earlier(job, earlier[0]):
            return False
        if earlier is not NEVER:
            self._plan.withdraw(job, *earlier)
        promise = self._plan.promise(job)
        if promise is not None and promise[0] < earlier[0]:
            yield from self._note(view, job, promise)
            return True
        if promise is not None:
            self._plan.withdraw(job, *promise)
        if earlier is not NEVER:
            self._plan.keep(job, earlier)
        return False

    def _start_due(self, view: View) -> Iterator[Decision]:
        """Start the jobs whose promised time has come."""
        assert self._plan is not None
        while self._due and self._due[0][0] <= view.now:
            time, index = heappop(self._due)
            start, placement = self._promises.get(index, NEVER)
            if start != time:
                continue  # it was promised another start since
            job = self._waiting[index]
            place = self._queue.place_of(job)
            placement = placement or self._where.now(job)
            if placement is None or not view.allows(job, placement):
                # A power cap keeps it from starting. Nobody overtakes it, or it might never find room.
                self._capacity_changes = -1
                return
            del self._promises[index]
            yield Start(job, placement)
            running, planned = self._started(view, place, job), time + planned_time(job)
            self._plan.begin(running)
            if running.expected_end > planned:
                # Its nodes have to boot, which may be in the way of promises: they are all made anew.
                self._plan.extend(running, planned)
                self._capacity_changes = -1


@schedulers.register("conservative")
def conservative(
    order: str = "first", nodes: str = "first", reservation: str = "counted", memory: bool = False
) -> ConservativeBackfilling:
    """Conservative backfilling: every job is promised a start when it comes, and keeps it or gets an earlier one."""
    return ConservativeBackfilling(order, nodes, reservation, memory)
