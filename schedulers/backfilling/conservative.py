"""Conservative backfilling (Feitelson and Weil 1998): every job is promised a start when it comes.

The promises stand in a *profile*: how many cores (or which) are free from each time on, if every running job ends by the
time that it requested and every promised job starts as promised. A new job gets the earliest start at which the profile
has enough for as long as the job asks. So it delays no promise made before.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Annotated

from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, WakeAt
from cluster_sim.run.view import View
from schedulers.backfilling.backfilling import Backfilling, Reservation
from schedulers.backfilling.candidates import improvable
from schedulers.backfilling.plans import Promise
from schedulers.backfilling.promises import Promises
from schedulers.backfilling.timeline import ExpectedReturns
from schedulers.policy.policy import schedulers
from schedulers.queue.orders import AnyJobOrder, AnyNodeOrder, Memory, first, platform_order

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job
    from schedulers.backfilling.profile_plan import ProfilePlan


@schedulers.register("conservative")
class ConservativeBackfilling(Backfilling):
    """Conservative backfilling: every job is promised a start when it comes; with replan=yes, placed anew at every end.

    No promise is ever put off for another job. When a job ends earlier than expected, the pending ones are moved forward
    where they can be, one after the other in the order of the queue; the order decides nothing else. With ``replan``, as in
    Batsim's ``conservative_bf``, every pending job is placed anew in that order whenever a job has ended, also where it
    starts no earlier: on the first nodes that will do.

    A promise is put off only where the machine does less than expected. Where nodes are lost, the promises that can be
    kept are kept. Where a job outlives its request, all are made anew, in the order of their times. Promises on
    nodes that are off allow for the boot, and are then of certain nodes.
    """

    keeps_back = Reason(ReasonKind.PROMISED_LATER)

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
        self._promises = Promises()
        self._returns = ExpectedReturns(view)
        self._plan: ProfilePlan  # made in the first pass
        self._is_void = True  # promises are to be made anew: there are none yet, or a power cap has stopped one
        self._wakes_at = -1.0

    def schedule(self, view: View) -> Iterator[Decision]:
        """Hold a pass: move promises forward, promise new jobs a start, and start the jobs that are due."""
        self._queue.close_up()
        this_instant = latest(view.now)
        if view.explains:
            self._log.follow(self._timeline)
        submitted = [job for job in view.submitted if view.is_pending(job)]  # one may have been cancelled at once
        has_more = self._follow(view, len(submitted))
        if self._timeline.put_off_overdue() or self._returns.are_late() or self._is_void:
            self._queue.join(submitted, view)
            yield from self._promise_anew(view)
        else:
            self._plan.profile.advance(view.now)
            all_anew = self._replans and (has_more or bool(view.ended))
            if view.machine.capacity_changes != self._returns.capacity_changes:
                has_more |= self._returns.renew()
                yield from self._keep_promises(view)
            if all_anew:
                self._queue.join(submitted, view)
                yield from self._move_forward(view, all_anew)
            else:
                if has_more:
                    yield from self._move_forward(view)
                self._queue.join(submitted, view)
                for job in submitted:
                    yield from self._promise(view, job, self._plan.promise(job))
        while self._promises.soonest <= this_instant and (yield from self._start_due(view, this_instant)):
            yield from self._move_forward(view)  # nodes were to boot that are on: that much is left
        if view.explains:
            yield from self._log.end_pass(self._plan, self._queue, is_capped=self._is_void)
        if this_instant < (time := self._promises.soonest) < math.inf and time != self._wakes_at:
            # Perhaps nothing else wakes the scheduler then: the job whose end was waited for may have moved forward.
            self._wakes_at = time
            yield WakeAt(time)

    def _follow(self, view: View, joining: int) -> bool:
        """Take note of jobs that have ended, gone on or been cancelled; return whether that leaves more than was planned."""
        has_more = False
        for running in view.ended:
            until = self._timeline.drop(running)  # None: started and stopped in one instant
            if until is not None and not self._is_void and self._plan.give_back(running, until):
                has_more = True
                if running.start_time == math.inf:
                    self._returns.mark_changed()  # its nodes still boot, and cannot be had before they are on
        for running in view.planning.resumed:
            if self._timeline.take_up(running):
                self._returns.mark_changed()  # it has cores that the profile promises to others
        for job in self._queue.drop_cancelled(view, joining):
            self._log.forget(job.index)
            self._plan.withdraw(job, self._promises.drop(job))
            has_more = True
        return has_more

    def _promise(self, view: View, job: Job, promise: Promise | None) -> Iterator[Decision]:
        """Enter the promise that the plan has made to a job; None: the machine has not enough, nodes being down."""
        if promise is not None:
            self._promises.put(job, promise)
        if view.explains and (promise is None or promise.time > latest(view.now)):
            yield from self._log.held(self._plan, job, promise)

    def _move_forward(self, view: View, all_anew: bool = False) -> Iterator[Decision]:
        """Give every pending job, in the order of the queue, an earlier start if there is one now; or another place."""
        self._queue.refresh(view)
        everybody = ((job, self._promises.of(job)) for _, job in self._queue.waiting())
        for job, old in everybody if all_anew else improvable(self._queue, self._plan, self._promises):
            new = self._plan.replace(job, old, only_earlier=not all_anew)
            if new is not old:
                yield from self._promise(view, job, new)
        self._plan.tidy()

    def _promise_anew(self, view: View) -> Iterator[Decision]:
        """Forget the profile and all promises, and make them again, in the order of their times."""
        self._is_void = False
        self._returns.renew()
        self._plan = self._profile(view)
        self._queue.refresh(view)
        earlier, self._promises = self._promises, Promises()
        for job in earlier.in_turn(job for _, job in self._queue.waiting()):
            yield from self._promise(view, job, self._plan.promise(job))

    def _keep_promises(self, view: View) -> Iterator[Decision]:
        """Make the profile anew, nodes having gone or come; keep promises that can be kept, and renew the others."""
        self._plan = self._profile(view)
        without = [job for _, job in self._queue.waiting() if job not in self._promises]
        broken = []
        for job in self._promises.in_turn():
            if (promise := self._plan.renew(job, self._promises.of(job))) is not None:
                self._promises.put(job, promise)
            else:
                self._promises.drop(job)
                broken.append(job)
        for job in broken + without:
            yield from self._promise(view, job, self._plan.promise(job))

    def _start_due(self, view: View, this_instant: float) -> Generator[Decision, None, bool]:
        """Start the jobs whose promised time has come; return whether any of them needs less than was planned."""
        needs_less = False
        due = self._promises.due(this_instant)
        for number, (job, promise) in enumerate(due):
            placement = promise.placement or self._where.now(job)
            if placement is None or not view.planning.allows(job, placement):
                # A power cap keeps it from starting. No job overtakes it, or it might never find room.
                self._is_void = True
                self._promises.put_back(due[number + 1 :])
                if view.explains:
                    yield Hold(job, view.shortage(job, self.memory), blocks=True)
                return False
            self._promises.drop(job)
            running = yield from self._start(view, self._queue.place_of(job), job, placement)
            self._timeline.add(running)
            self._plan.begin(running)
            needs_less |= self._plan.shorten(running, promise)
        return needs_less
