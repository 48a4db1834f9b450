"""Conservative backfilling: a promise to everybody."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated

import numpy as np
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.machine.guest_requests import Departure
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, WakeAt
from cluster_sim.run.view import View
from schedulers.backfilling.backfilling import Backfilling, Reservation
from schedulers.backfilling.plans import Promise
from schedulers.backfilling.promise_losses import CAPPED
from schedulers.backfilling.releases import are_late, in_turn
from schedulers.policy.policy import schedulers
from schedulers.queue.orders import AnyJobOrder, AnyNodeOrder, Memory, first, platform_order

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job
    from schedulers.backfilling.profile_plan import ProfilePlan

NEVER = Promise(math.inf)
NOT_MOVED = Reason(ReasonKind.NOT_MOVED)
"""Reason for which a job waits for its promise though nothing is in its way: the job that was moved after its turn."""


@schedulers.register("conservative")
class ConservativeBackfilling(Backfilling):
    """Conservative backfilling: every job is promised a start when it comes; with replan=yes, placed anew at every end.

    A job gets the earliest start that delays no promise made before (Feitelson and Weil 1998), and no promise is ever put
    off for another job. When a job ends earlier
    than expected, the pending ones are moved forward where they can be, one after the other in the order of the queue;
    the order decides nothing else. With ``replan``, as in Batsim's ``conservative_bf``, every pending job is placed anew
    whenever a job has ended, in that order, also where it starts no earlier: on the first nodes that will do.

    A promise is put off only where the machine does less than expected. Where nodes are lost, the promises that can be
    kept are kept. Where a job outlives its request, all are made anew, in the order of their times. Promises on
    nodes that are off allow for the boot, and are then of certain nodes.
    """

    @checked
    def __init__(
        self,
        order: AnyJobOrder = first,
        nodes: AnyNodeOrder = platform_order,
        reservation: Reservation = "counted",
        memory: Memory = False,
        replan: Annotated[bool, Doc("all pending jobs are placed anew whenever a job has ended")] = False,
    ):
        super().__init__(order, nodes, "pinned" if replan else reservation, memory)
        self._replans = replan

    def begin(self, view: View) -> None:
        """Start with no promise."""
        super().begin(view)
        self._promises: dict[int, Promise] = {}  # by job index
        self._waiting: dict[int, Job] = {}  # the jobs that have one
        self._due: list[tuple[float, int]] = []  # (promised time, job index), also of promises that were replaced
        self._plan: ProfilePlan | None = None
        self._capacity_changes = -1
        self._is_capped = False  # whether a power cap has kept a job from starting that was due
        self._wakes_at = -1.0
        self._usable = 0  # nodes that have not failed and are not withheld, when the profile was made,
        self._ends: dict[int, float] = {}  # and when those in transition were to be back, s
        self._guests: frozenset[Departure] = frozenset()  # that held cores then

    def schedule(self, view: View) -> Iterator[Decision]:
        """Hold a pass: move promises forward, promise new jobs a start, and start the jobs that are due."""
        self._queue.close_up()
        this_instant = latest(view.now)
        if view.explains:
            self._log.follow(self._releases)
        submitted = [job for job in view.submitted if view.is_pending(job)]  # one may have been cancelled at once
        has_ended, ended_early = bool(view.ended), False
        for running in view.ended:
            until = self._releases.drop(running)  # None: started and stopped in one instant
            if until is not None and until > this_instant and self._plan is not None:
                self._plan.give_back(running, until)
                ended_early = True
                if running.start_time == math.inf:
                    self._capacity_changes = -1  # its nodes still boot, and cannot be had before they are on
        for running in view.planning.resumed:
            if self._releases.take_up(running, view):
                self._capacity_changes = -1  # it has cores that the profile promises to others
        put_off = self._releases.put_off_overdue(view.now) | are_late(view)
        if self._plan is None or put_off or self._is_capped:
            self._queue.join(submitted, view)
            yield from self._promise_anew(view)
        else:
            self._plan.profile.advance(view.now)
            if self._withdraw_the_cancelled(view, len(submitted)):
                has_ended = ended_early = True
            if view.machine.capacity_changes != self._capacity_changes:
                ended_early |= self._gains(view)
                yield from self._keep_promises(view)
            if self._replans and has_ended:
                self._queue.join(submitted, view)
                self._queue.refresh(view)
                for _, job in self._queue.waiting():
                    yield from self._promise_instead(view, job, only_earlier=False)
                self._plan.tidy()
            else:
                if ended_early:
                    yield from self._move_forward(view)
                self._queue.join(submitted, view)
                for job in submitted:
                    yield from self._promise(view, job)
        while self._due and self._due[0][0] <= this_instant and (yield from self._start_due(view)):
            yield from self._move_forward(view)  # nodes were to boot that are on: that much is left
        if view.explains and not self._is_capped and (free := view.free_total):
            # The decision log names the jobs that would fit now, and wait for the sake of a promise.
            assert self._plan is not None
            for _, job in self._queue.waiting():
                if job.requested_cores <= free and view.is_pending(job) and not view.shortage(job, self.memory):
                    yield Hold(job, NOT_MOVED) if self._plan.could_start(job) else self._plan.refusal(job)
        self._log.losses.forget()
        if self._due and self._due[0][0] != self._wakes_at and self._due[0][0] > this_instant:
            # Perhaps nothing else wakes the scheduler then: the job whose end was waited for may have moved forward.
            self._wakes_at = self._due[0][0]
            yield WakeAt(self._wakes_at)

    def _withdraw_the_cancelled(self, view: View, submitted: int) -> bool:
        """Take back the promises of jobs that no longer wait; return whether there were any."""
        assert self._plan is not None
        if self._queue.count + submitted == view.pending_count:
            return False
        cancelled = self._queue.drop_cancelled(view)
        for job in cancelled:
            self._log.forget(job.index)
            if job.index in self._promises:
                self._plan.withdraw(job, self._promises.pop(job.index))
        return bool(cancelled)

    # ------------------------------------------------------------------ making promises

    def _promise(self, view: View, job: Job) -> Iterator[Decision]:
        assert self._plan is not None
        yield from self._note(view, job, self._plan.promise(job))

    def _note(self, view: View, job: Job, promise: Promise | None) -> Iterator[Decision]:
        if promise is not None:
            if self._promises.get(job.index, NEVER).time != promise.time:
                heappush(self._due, (promise.time, job.index))
            self._promises[job.index] = promise
            self._waiting[job.index] = job
        if view.explains and (promise is None or promise.time > latest(view.now)):
            assert self._plan is not None
            yield from self._log.held(self._plan, job, promise)

    def _promise_anew(self, view: View) -> Iterator[Decision]:
        """Forget the profile and all promises, and make them again, in the order of their times."""
        if self._is_capped:
            self._is_capped = False
            self._log.losses.note(CAPPED)
        self._gains(view)
        self._plan, self._capacity_changes = self._profile(view), view.machine.capacity_changes
        self._queue.refresh(view)
        earlier, self._promises, self._due = self._promises, {}, []
        for job in self._queue.drop_cancelled(view):
            self._log.forget(job.index)
        waiting = {job.index: job for _, job in self._queue.waiting()}
        for _, index in in_turn((earlier.get(index, NEVER).time, index) for index in waiting):
            yield from self._promise(view, waiting[index])

    def _keep_promises(self, view: View) -> Iterator[Decision]:
        """Make the profile anew, nodes having gone or come; keep promises that can be kept, and renew the others."""
        plan = self._plan = self._profile(view)
        self._capacity_changes = view.machine.capacity_changes
        earlier, self._promises = self._promises, {}
        broken = []
        for _, index in in_turn((promise.time, index) for index, promise in earlier.items()):
            promise = plan.renew(self._waiting[index], earlier[index])
            if promise is None:
                broken.append(self._waiting[index])
            else:
                self._promises[index] = promise
        without = [job for _, job in self._queue.waiting() if job.index not in earlier]
        for job in broken + without:
            yield from self._promise(view, job)

    def _gains(self, view: View) -> bool:
        """Return whether nodes or cores are back earlier than the profile expects."""
        before, usable = self._usable, view.machine.powered_on | view.machine.powered_off
        early = any(usable[node] and end > latest(view.now) for node, end in self._ends.items())
        guests = frozenset(view.machine.guests)
        early = early or any(guest.expected_end > latest(view.now) for guest in self._guests - guests)
        self._guests = guests
        usable[list(view.machine.transition_ends)] = True
        self._usable, self._ends = int((usable & ~view.machine.withheld).sum()), dict(view.machine.transition_ends)
        return early or self._usable > before

    def _move_forward(self, view: View) -> Iterator[Decision]:
        """Give every pending job, in the order of the queue, an earlier start if there is one now."""
        queue, plan = self._queue, self._plan
        assert plan is not None
        queue.refresh(view)
        again = True
        while again:
            times = [0.0 if job is None else self._promises.get(job.index, NEVER).time for job in queue.jobs]
            starts = np.array(times)
            first, again = 0, False
            while first < queue.stop:
                worth = plan.could_be_earlier(queue.requests(first)[0], starts[first:])
                for place in (first + np.flatnonzero(worth)).tolist():
                    job = queue.jobs[place]
                    if job is not None and (yield from self._promise_instead(view, job, only_earlier=True)):
                        # One that was to start some day kept room for itself, which may serve any other such job.
                        again = again or starts[place] == math.inf
                        first = place + 1  # what it has left may serve a job behind it
                        break
                else:
                    break
        plan.tidy()

    def _promise_instead(self, view: View, job: Job, only_earlier: bool) -> Generator[Decision, None, bool]:
        """Withdraw the job's promise and make another; return whether it was replaced.

        The old promise stays if the new one is later, and with ``only_earlier`` also if it is for the same time.
        """
        plan = self._plan
        assert plan is not None
        old = self._promises.get(job.index, NEVER)
        if only_earlier and not plan.can_be_earlier(job, old):
            return False
        if old is not NEVER:
            plan.withdraw(job, old)
        new = plan.promise(job)
        if only_earlier:
            replaces = new is not None and latest(new.ready) < old.ready
        else:
            replaces = old is NEVER or (new is not None and new.ready <= latest(old.ready))
        if not replaces:
            if new is not None:
                plan.withdraw(job, new)
            if old is not NEVER:
                plan.keep(job, old)
        elif new != old or old is NEVER:
            yield from self._note(view, job, new)
        return replaces

    # ------------------------------------------------------------------ keeping them

    def _start_due(self, view: View) -> Generator[Decision, None, bool]:
        """Start the jobs whose promised time has come; return whether any of them needs less than was planned."""
        assert self._plan is not None
        less, due, now = False, [], latest(view.now)
        while self._due and self._due[0][0] <= now:
            due.append(heappop(self._due))
        turns = iter(in_turn(due) if len(due) > 1 else due)
        for time, index in turns:
            promise = self._promises.get(index, NEVER)
            if promise.time != time:
                continue  # it was promised another start since
            job = self._waiting[index]
            place = self._queue.place_of(job)
            placement = promise.placement or self._where.now(job)
            if placement is None or not view.planning.allows(job, placement):
                # A power cap keeps it from starting. No job overtakes it, or it might never find room.
                self._is_capped = True
                for left in turns:
                    heappush(self._due, left)
                if view.explains:
                    yield Hold(job, view.shortage(job, self.memory), blocks=True)
                return False
            del self._promises[index], self._waiting[index]
            running = yield from self._start(view, place, job, placement)
            self._releases.add(running)
            self._plan.begin(running)
            less = self._plan.shorten(running, promise) or less
        return less
