"""EASY backfilling (Lifka 1995): the head of the queue is promised a start, and jobs behind it may not delay that.

In every pass, jobs start from the head of the queue on, until one does not fit. This *head job* is promised the earliest
start that it can have if every running job ends by the time that it requested:

- the *shadow time* is when enough of them should have ended for the head job to start;
- the *spare cores* are those that will be free at the shadow time beside what the head job needs then.

Another job is *backfilled*, that is, it overtakes the head job, if it fits on the cores that are free now and passes the
*backfill test*: it ends by the shadow time, or it takes no more than the spare cores (Mu'alem and Feitelson 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import FITS, Reason, ReasonKind
from cluster_sim.machine.running import Running
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold
from cluster_sim.run.view import View
from schedulers.backfilling.backfilling import Backfilling, Reservation
from schedulers.backfilling.candidates import candidates
from schedulers.backfilling.node_choice import NodeChoice
from schedulers.backfilling.node_plan import NodePlan
from schedulers.backfilling.plans import DELAYS, Plan, PlanOnDemand, Promise, ends_in_time, refusal
from schedulers.backfilling.timeline import Timeline, planned_time
from schedulers.queue.orders import (
    Aging,
    AnyJobOrder,
    AnyNodeOrder,
    Memory,
    first,
    job_orders,
    order_once,
    platform_order,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

BACKFILLED = Reason(ReasonKind.BACKFILLED)

Depth = Annotated[
    int, Ge(0), Unit("jobs"), Doc("waiting jobs that are promised a start; all: conservative backfilling")
]
BackfillOrder = Annotated[str | Callable[..., Any] | None, Doc("order in which jobs are backfilled; else the queue's")]


class CountedPlan:
    """The head job's promise in two numbers, shadow time and spare cores, where any free cores are as good as others."""

    def __init__(self, where: NodeChoice, timeline: Timeline):
        self._where = where
        self._view = where.view
        self._timeline = timeline
        self._head: Job | None = None  # nobody is promised a start yet, and whatever fits may start
        self._shadow_time = math.inf
        self._spare_cores: float = math.inf

    def promise(self, job: Job, beside: int = 0) -> Promise | None:
        """Promise the job the earliest start at which its cores are free, and so many ``beside`` them."""
        spare = self._timeline.free_cores - job.requested_cores - beside  # below 0: so many are lacking
        coming = iter(self._timeline.coming())  # soonest first
        for end, _, cores, _ in coming:
            spare += cores
            if spare >= 0:
                shadow_time = latest(end)
                break
        else:
            return None  # not even if all running jobs ended: nodes are down
        for later, _, cores, _ in coming:
            if later > shadow_time:
                break
            spare += cores  # it ends at the shadow time, too
        # If jobs that requested no time have to end first, no job is known to end before them.
        self._shadow_time = shadow_time if end < math.inf else -math.inf
        self._spare_cores, self._head = spare, job
        return Promise(end)

    def keeps_promise(self, end: float, cores: int) -> bool:
        """Return whether the head job is not delayed by a job that holds so many cores until ``end``: the backfill test."""
        return end <= self._shadow_time or cores <= self._spare_cores

    def place(self, job: Job) -> Placement | None:
        """Return where the job can start now without delaying the head job."""
        end, cores = self._view.now + planned_time(job), job.requested_cores
        if not self.keeps_promise(end, cores):
            return None
        placement = self._where.now(job)
        if placement is None or not (boot_s := self._view.planning.boot_time(placement)):
            return placement
        return placement if self.keeps_promise(self._view.now + boot_s + planned_time(job), cores) else None

    def take(self, running: Running) -> None:
        """Take a job's cores off the spare ones, if it still holds them at the shadow time."""
        if running.expected_end > self._shadow_time:
            self._spare_cores -= running.placement.cores

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which requests (cores, s) fit and pass the backfill test, all at once; shape (jobs,)."""
        free, spare = self._view.free_total, self._spare_cores
        fits = cores <= free
        if spare < free:
            in_time = ends_in_time(times, self._shadow_time, self._view.now)
            fits &= (in_time | (cores <= spare)) if spare > 0 else in_time
        return fits

    def may_stay(self, running: Running) -> bool:
        """Return whether a running job, whose cores count as free, could be backfilled where it is."""
        return self.keeps_promise(running.expected_end, running.placement.cores)

    def is_over_in_time(self, job: Job) -> bool:
        """Return whether a job that starts now, without a boot, ends by the shadow time."""
        return self._view.now + planned_time(job) <= self._shadow_time

    def refusal(self, job: Job) -> Hold:
        """Return why a job waits that would fit."""
        return refusal(job, self._head)


class EasyBackfilling(Backfilling):
    """EASY: the first ``depth`` jobs that cannot start are promised a start; any other may start that delays none of them.

    Depth 1 is EASY, 0 starts whatever fits, and more is between EASY and conservative. Promises are made anew in every
    pass. ``backfill`` is the order in which the jobs behind the promised ones are tried, by default the queue's own;
    ``order=saf`` instead sorts the whole queue. With ``aging``, jobs that have waited that long (s) go first.

    Where it matters on which nodes a job runs, a promise is of a place (:class:`~schedulers.backfilling.node_plan.NodePlan`).
    Several promises, and promises of memory, of counted resources or around advance reservations stand in a profile
    (:class:`~schedulers.backfilling.profile_plan.ProfilePlan`). The passes are the same.
    """

    spec = "easy"

    @checked
    def __init__(
        self,
        order: AnyJobOrder = first,
        nodes: AnyNodeOrder = platform_order,
        depth: Depth = 1,
        backfill: BackfillOrder = None,
        reservation: Reservation = "counted",
        memory: Memory = False,
        aging: Aging = math.inf,
    ):
        super().__init__(order, nodes, reservation, memory, aging)
        self._depth = depth
        self.head_alone_delays, self._tells_several = depth == 1, depth > 1
        self.keeps_back = DELAYS if depth > 1 else FITS
        self._backfill_order = job_orders.make(backfill) if isinstance(backfill, str) else backfill

    def begin(self, view: View) -> None:
        """Start with an empty queue and no promise."""
        super().begin(view)
        self._order_behind = None if self._backfill_order is None else order_once(view, self._backfill_order)
        self._new_plan = self._plans(view)
        self._plan: Plan | None = None  # None: the next pass looks at the whole queue
        self._promised = 0  # how many jobs are promised a start
        self._behind = 0  # the place in the queue behind them
        self._version: object = None  # of the machine, after the last pass

    def _plans(self, view: View) -> Callable[[], Plan]:
        """Return what makes the plan of each pass of a run."""
        if view.machine.counts_resources:
            return partial(PlanOnDemand, self._where, partial(self._profile, view))
        if self._depth > 1 or self.memory or view.machine.turns:
            return partial(self._profile, view)
        by_number = partial(CountedPlan, self._where, self._timeline)
        if self._counted:
            return by_number
        return partial(NodePlan, self._where, self._timeline, by_number, self._pinned)

    def schedule(self, view: View) -> Iterable[Decision]:
        """Hold a pass: over the whole queue only if something else has happened than that jobs came."""
        queue, submitted = self._queue, view.submitted
        if view.explains:
            self._log.follow(self._timeline)
        first_new = queue.join(submitted, view)
        if (
            self._follow(view)
            or view.machine.version is not self._version
            or first_new < self._behind + (not self._depth)  # what stands there is not promised, and can be overtaken
            or self._promised < self._depth
            or self._plan is None
            or (queue.may_be_stale and queue.is_stale)
            or queue.count != len(view.pending_by_index)  # one was cancelled: perhaps one that had a promise
        ):
            return self._whole_queue(view)
        # Jobs refused before would be refused again: no more is free than then, and the promised start is nearer.
        free = view.free_total
        for job in submitted:
            if job.requested_cores <= free:
                return self._backfill(view, self._plan, first_new)
        return ()

    def _follow(self, view: View) -> bool:
        """Take note of jobs that have ended or outlived their requests; return whether all promises are to be made anew."""
        return self._timeline.follow()

    def _whole_queue(self, view: View) -> Iterator[Decision]:
        """Start jobs from the head on, promise those a start that do not fit, ``depth`` at the most, and backfill."""
        queue = self._queue
        queue.refresh(view)
        plan = self._plan = self._new_plan()
        self._promised = 0
        if view.explains or self._tells_several:
            self._log.begin_renewal()
        for place in range(queue.first, queue.stop):
            job = queue.jobs[place]
            if job is None:
                continue
            self._behind = place
            if view.pending_by_index.get(job.index) is not job:  # it was cancelled
                queue.leave(place)
                continue
            placement = self._place_first(plan, job)
            if placement is not None:
                running = yield from self._start(view, place, job, placement)
                self._timeline.add(running)
                plan.take(running)
                self._log.others_first = True
                continue
            if self._promised < self._depth:
                yield from self._hold(view, plan, place, job)
            if self._plan is None or self._promised == self._depth:
                break
        else:
            self._behind = queue.stop
        if view.explains or self._tells_several:
            yield from self._log.end_renewal()
        if self._plan is not None:
            yield from self._backfill(view, plan, self._behind)

    def _place_first(self, plan: Plan, job: Job) -> Placement | None:
        """Return where a job starts now that is the first of the queue, or comes after jobs with a promise."""
        return plan.place(job) if job.requested_cores <= self._where.view.free_total else None

    def _hold(self, view: View, plan: Plan, place: int, job: Job) -> Iterator[Decision]:
        """Promise a start to a job that does not fit now."""
        promise = plan.promise(job)
        told = 1 if self.head_alone_delays else self._depth if self._tells_several else 0
        yield from self._log.first_held(plan, job, promise, told)
        if view.machine.power_budget.is_set and view.planning.is_capped(job):
            self._plan = None  # a job that overtook it would take the watts that it waits for
            return
        self._behind = place + 1
        self._promised += promise is not None  # else its start is not known, and no job waits for it

    def _backfill(self, view: View, plan: Plan, first: int) -> Iterator[Decision]:
        """Start those of the jobs from place ``first`` on that delay no promised start."""
        queue, pending = self._queue, view.pending_by_index
        why = BACKFILLED if self._promised else FITS
        for place in candidates(view, queue, first, plan, self._order_behind) if view.free_total else ():
            job = queue.jobs[place]
            if job is None or job.requested_cores > view.free_total:
                continue
            if pending.get(job.index) is not job:
                queue.leave(place)
                continue
            placement = plan.place(job)
            if placement is not None:
                running = yield from self._start(view, place, job, placement, why)
                self._timeline.add(running)
                plan.take(running)
                if not view.free_total:
                    break
            elif view.explains:
                missing = view.shortage(job, self.memory)
                if not missing:
                    yield plan.refusal(job)
                elif view.planning.is_capped(job):
                    yield Hold(job, missing)
        self._version = view.machine.version
