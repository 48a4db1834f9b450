"""EASY backfilling, and what lies between first fit and conservative backfilling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le, Lt, Unit
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.machine.running import Running
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, Start, WakeAt
from cluster_sim.run.view import View
from schedulers.backfilling.backfilling import Backfilling, Reservation
from schedulers.backfilling.conservative import ConservativeBackfilling
from schedulers.backfilling.job_queue import JobQueue, rank
from schedulers.backfilling.plans import CountedPlan, NodePlan, Plan, PlanBefore, PlanWithRoom
from schedulers.backfilling.trials import Trials
from schedulers.policy.policy import schedulers
from schedulers.queue.orders import (
    Aging,
    AnyJobOrder,
    AnyNodeOrder,
    Commitment,
    Memory,
    first,
    job_orders,
    order_in,
    order_once,
    platform_order,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

FEW = 16
"""Number of jobs up to which looking at them one by one is faster than numpy."""
AT_ONCE = 64
"""Number of jobs that are tried before the others are compared again with what is left."""
HOUR_S = 3600.0
NO_ROOM = "would leave fewer cores free than are kept for short jobs"
"""Reason for which a job waits though enough cores are free for itself."""
BACKFILLED = "backfilled: it delays no job that was promised a start"
TRIAL_S = 120.0
TRIED = "on trial: it leaves when the first job of the queue can start with its cores"
LEAVES = "it was on trial, and the first job of the queue can start with its cores"
TRIED_ENOUGH = "it was on trial for long enough, and another job is tried"


Depth = Annotated[
    int, Ge(0), Unit("jobs"), Doc("waiting jobs that are promised a start; all: conservative backfilling")
]
BackfillOrder = Annotated[str | Callable[..., Any] | None, Doc("order in which jobs are backfilled; else the queue's")]
Commits = Annotated[bool, Doc("the first job that cannot start stays the first")]
TakesExtra = Annotated[bool, Doc("jobs are backfilled on cores that the promised job leaves free")]
Room = Annotated[float, Ge(0), Lt(1), Doc("share of the cores that long jobs leave free")]
RoomFor = Annotated[float, Ge(0), Le(math.inf), Unit("s"), Doc("requested time up to which a job may take them")]
MostTrials = Annotated[int, Ge(0), Unit("trials"), Doc("how often a job runs on trial, on idle cores")]
TrialFor = Annotated[float, Ge(0), Le(math.inf), Unit("s"), Doc("time of a trial after which another job may be tried")]


class EasyBackfilling(Backfilling):
    """EASY: the first ``depth`` jobs that cannot start are promised a start; any other may start that delays none of them.

    Depth 1 is EASY (Lifka 1995), 0 starts whatever fits, and more is between EASY and conservative. Promises are made
    anew in every pass, from what is known then. ``backfill`` is the order in which the jobs behind the promised ones are
    tried, by default the queue's own; ``order=saf`` instead sorts the whole queue. With ``aging``, jobs that have waited
    that long (s) go first, in order of submission.

    With ``commit``, the first job that cannot start stays the first until it has, whatever comes or becomes more urgent
    meanwhile: what the scheduler has chosen it stays with, as RLScheduler does (Zhang et al., SC 2020). Without ``extra``, only
    jobs that end before its promised start are backfilled, none on the cores that it will leave free: RLScheduler's rule, too.
    Beside advance reservations they are, as with ``extra``.

    ``room`` is a share of the machine's cores that jobs which request more than ``room_for`` seconds leave free when they start,
    so that short ones find some at once; while nothing runs they need not. It asks for nodes of one core each.

    With ``trials``, a job that may not be backfilled runs on idle cores all the same, on trial, so many times at the most
    (Perković and Keleher, SC 2000). What it holds counts as free. It is requeued when the first job of the queue can
    start with that, or when another job can be tried there after ``trial_for`` seconds. As soon as it could be
    backfilled where it runs, it stays. Jobs on trial boot no nodes.
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
        commit: Commits = False,
        extra: TakesExtra = True,
        room: Room = 0.0,
        room_for: RoomFor = HOUR_S,
        trials: MostTrials = 0,
        trial_for: TrialFor = TRIAL_S,
    ):
        super().__init__(order, nodes, reservation, memory, aging)
        if room and not extra:
            raise SpecError(
                "scheduler 'easy', option room", "extra=yes: beside the promised job others run", "extra=no"
            )
        if trials and not extra:
            raise SpecError("scheduler 'easy', option trials", "extra=yes", "extra=no")
        if trials and memory:
            raise SpecError("scheduler 'easy', option trials", "promises of cores, without memory", "memory=yes")
        for name, asked in (("commit", commit), ("extra=no", not extra), ("room", room > 0.0), ("trials", trials > 0)):
            if asked and depth != 1:
                raise SpecError(
                    f"scheduler 'easy', option {name}", "a depth of 1, of whose one promise it speaks", depth
                )
            if asked and name in ("extra=no", "room") and (memory or self._pinned):
                raise SpecError(f"scheduler 'easy', option {name}", "counted reservations without memory")
        self._depth = depth
        self._commits, self._takes_extra = commit, extra
        self._room, self._room_for = room, room_for
        self._most_trials, self._trial_s = trials, trial_for
        self._trials: Trials | None = None
        self._backfill_order = job_orders.make(backfill) if isinstance(backfill, str) else backfill

    def begin(self, view: View) -> None:
        """Start with an empty queue and no promise."""
        super().begin(view)
        if self._room and not self._counted:
            widest = view.platform.widest_node
            raise SpecError(
                "scheduler 'easy', option room",
                "nodes of one core each, and jobs that take any of them: free cores that are all alike",
                f"nodes of up to {widest} cores" if widest > 1 else "jobs that ask for certain nodes, or reservations",
            )
        if self._most_trials and view.turning_times:
            raise SpecError(
                "scheduler 'easy', option trials", "no advance reservations", f"{len(view.reservations)} of them"
            )
        self._room_cores = math.ceil(self._room * view.platform.core_count)
        before, self._trials = self._trials, None
        if self._most_trials:
            self._trials = Trials(self._most_trials, self._trial_s, self._where, self._counted)
            self._trials.go_on_from(before, self._releases)
        self._commitment = None
        if self._commits:
            self._commitment = Commitment(order_in(view, self._job_order, self._aging))
            self._queue = JobQueue(self._commitment)
        self._order_behind = None if self._backfill_order is None else order_once(view, self._backfill_order)
        self._new_plan = self._plans(view)
        self._plan: Plan | None = None
        self._behind = 0  # the place in the queue behind the promised jobs
        self._version: object = None
        self._promised = 0  # how many jobs are promised a start

    def schedule(self, view: View) -> Iterable[Decision]:
        """Hold a pass: over the whole queue only if something else has happened than that jobs came."""
        queue, submitted = self._queue, view.submitted
        if view.explains:
            self._losses.follow(view, self._releases.outlived(view))
        first_new = queue.join(submitted, view)
        puts_off = self._releases.follow(view)
        if self._trials is not None:
            self._trials.follow(self._releases)
        if (
            puts_off
            or self._trials
            or view.version is not self._version
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
                break
        else:
            return ()
        backfilled = self._backfill(view, first_new)
        return backfilled if self._trials is None else chain(backfilled, self._try_out(view, self._trials))

    def _whole_queue(self, view: View) -> Iterator[Decision]:
        queue, free, pending, explains = self._queue, view.free_total, view.pending_by_index, view.explains
        queue.refresh(view)
        plan = self._plan = self._new_plan()
        self._promised = 0
        told, others_first = dict(self._told), False  # of the log: nothing, if there is none
        capped = view.power_budget is not None
        for place in range(queue.first, queue.stop):
            job = queue.jobs[place]
            if job is None:
                continue
            self._behind = place
            if pending.get(job.index) is not job:  # it was cancelled
                queue.leave(place)
                continue
            placement = plan.place(job) if job.requested_cores <= free else None
            leaving: list[Running] = []
            if self._trials:
                assert isinstance(plan, CountedPlan)
                if placement is None and self._trials.settle_before(job, queue, plan, self._releases):
                    others_first = True
                leaving = self._trials.in_the_way_of_first(plan, job, placement)
                yield from self._trials.leave(leaving, job, LEAVES)
                if leaving:
                    placement = plan.place(job) if placement is None else self._trials.place(job)
            if placement is not None:
                start = Start(job, placement, self._because(job) if explains else "")
                if job.index in told:
                    yield from self._kept_its_promise(view, start, others_first)
                    del told[job.index]
                others_first = True
                yield start
                plan.take(self._started(view, place, job))
                if leaving:
                    # They may go before others that wait: the next pass, in this instant, looks at the whole queue.
                    self._plan = None
                    break
                free = view.free_total
                continue
            if self._promised == self._depth:
                break
            promise = plan.promise(job)
            if self._commitment is not None:
                self._commitment.hold(job, view)
            if explains:
                yield from self._reasons(view, plan, job, promise, _slowest_boot(view, job), others_first)
                told.pop(job.index, None)
                others_first = others_first or promise is not None
            if capped and view.is_capped(job):
                # A job that overtook it would take the watts that it waits for. The next pass looks at the whole queue.
                self._plan = None
                break
            self._behind = place + 1
            self._promised += promise is not None  # else its start is not known, and no job waits for it
            if self._promised == self._depth:
                break
        else:
            self._behind = queue.stop
        if view.explains:
            for job, _ in told.values():
                if view.is_pending(job):
                    yield self._taken_back(job, others_first)
                else:
                    del self._told[job.index]
            self._losses.forget()
        if self._plan is None:
            return
        if self._trials:
            assert isinstance(plan, CountedPlan)
            self._trials.settle(plan, self._releases)
        self._version = view.version
        if self._behind == queue.stop:
            return
        if free:
            yield from self._backfill(view, self._behind)
        if self._trials is not None:
            yield from self._try_out(view, self._trials)

    def _try_out(self, view: View, trials: Trials) -> Iterator[Decision]:
        """Start jobs on trial, also on the cores of those that have been on trial for long enough.

        These cores are also for those that end before the promised start, and wait only for them. If somebody waits for one who
        has not been on trial for long enough yet, a pass is held when it has.
        """
        queue, plan, enough = self._queue, self._plan, trials.long_enough()
        assert isinstance(plan, CountedPlan)
        places = (queue.requests(self._behind)[0] <= trials.free_without(trials)).nonzero()[0] + self._behind
        wide, waits = trials.free_without(enough), False
        for place in (places if self._order_behind is None else self._ranked(places, view)).tolist():
            job = queue.jobs[place]
            if job is None:
                continue
            if not view.is_pending(job):
                queue.leave(place)
                continue
            in_time = plan.is_over_in_time(job)
            if not in_time and not trials.may_try(job):
                continue
            placement = trials.place(job) if job.requested_cores <= wide else None
            if placement is None and enough:
                leaving = trials.in_the_way(job, enough, boots=False)
                yield from trials.leave(leaving, job, TRIED_ENOUGH)
                enough = [one for one in enough if one not in leaving]
                placement = trials.place(job) if leaving else None
            if placement is None:
                waits = True
            else:
                why = BACKFILLED if in_time else TRIED
                yield Start(job, placement, self._because(job, why) if view.explains else why)
                if in_time:
                    plan.take(self._started(view, place, job))
                else:
                    queue.leave(place)
                    trials.begin(view.running_by_index[job.index])
                wide = trials.free_without(enough)
            if waits and not wide:
                break
        if waits and (wake := trials.next_time()) is not None:
            yield WakeAt(wake)
        self._version = view.version

    @staticmethod
    def _delays(plan: Plan, job: Job) -> Hold:
        if isinstance(plan, PlanWithRoom) and plan.lacks_room(job):
            return Hold(job, NO_ROOM)
        return Backfilling._delays(plan, job)

    def _plans(self, view: View) -> Callable[[], Plan]:
        """Return what makes the plan of each pass of a run."""
        if self._depth > 1 or self.memory or view.turning_times:
            return partial(self._profile, view)
        known = self._where, self._releases, self._trials
        if not self._takes_extra:
            return partial(PlanBefore, *known)
        if self._room_cores:
            return partial(PlanWithRoom, *known, self._room_cores, self._room_for)
        return partial(CountedPlan, *known) if self._counted else partial(NodePlan, *known, self._pinned)

    def _backfill(self, view: View, first: int) -> Iterator[Decision]:
        """Start what can be started of the jobs from place ``first`` on."""
        queue, plan, free = self._queue, self._plan, view.free_total
        assert plan is not None
        alike = self._where.treats_alike and not self._trials
        pending, explains = view.pending_by_index, view.explains
        lacking: set[int] = set()  # numbers of cores for which there was no room: cores do not come back in a pass
        for place in self._worth_trying(view, first):
            job = queue.jobs[place]
            if job is None or job.requested_cores > free or job.requested_cores in lacking:
                continue
            if pending.get(job.index) is not job:
                queue.leave(place)
                continue
            placement = plan.place(job)
            if placement is not None:
                why = BACKFILLED if self._promised else ""
                yield Start(job, placement, self._because(job, why) if explains else why)
                plan.take(self._started(view, place, job))
                free = view.free_total
                if not free:
                    break
            elif explains:
                missing = view.shortage(job, self.memory)
                if not missing:
                    yield self._delays(plan, job)
                elif view.is_capped(job):
                    yield Hold(job, missing)
                elif alike:
                    lacking.add(job.requested_cores)
        self._version = view.version

    def _worth_trying(self, view: View, first: int) -> Iterable[int]:
        """Return the places of jobs that a comparison of numbers does not rule out, in the order of trying."""
        queue, plan = self._queue, self._plan
        assert plan is not None
        # Few jobs are looked at one by one. So are all for an explanation, which names those kept back by a promise.
        if queue.stop - first <= FEW or view.explains:
            places: Sequence[int] = range(first, queue.stop)
        else:
            fitting = plan.may_start(*queue.requests(first)).nonzero()[0] + first
            if len(fitting) > AT_ONCE:
                return self._still_worth_trying(fitting if self._order_behind is None else self._ranked(fitting, view))
            places = fitting.tolist()
        return places if self._order_behind is None or len(places) < 2 else self._ranked(places, view).tolist()

    def _ranked(self, places: Iterable[int], view: View) -> npt.NDArray[np.int64]:
        """Return the places that are not empty, in the order in which their jobs are backfilled."""
        assert self._order_behind is not None
        jobs = {place: job for place in places if (job := self._queue.jobs[place]) is not None}
        if not jobs:
            return np.array([], np.int64)
        return np.array([*jobs], np.int64)[rank(list(jobs.values()), self._order_behind, view.now)]

    def _still_worth_trying(self, places: npt.NDArray[np.int64]) -> Iterator[int]:
        """Yield the places, which may be thousands, without jobs that are ruled out by what has started meanwhile."""
        queue, plan = self._queue, self._plan
        assert plan is not None
        cores, times = queue.requests(0)
        while len(places):
            yield from places[:AT_ONCE].tolist()
            places = places[AT_ONCE:]
            places = places[plan.may_start(cores[places], times[places])]


def _slowest_boot(view: View, job: Job) -> float:
    """Return the longest time that the nodes of a promised job may have to boot first, s.

    Which nodes these are is found anew in every pass, and jobs that start meanwhile take those that are on. Nodes that
    jobs of this pass have got will be on. A node that has failed may be OFF when it is repaired, and then has to boot.
    """
    platform, delays, eligible = view.platform, view.boot_delays, view.eligible(job)
    unused = view.free_cores == platform.node_cores
    if eligible is not None:
        unused &= eligible
    slowest = 0.0 if delays is None else float(delays[unused].max(initial=0.0))
    failed = unused & ~(view.powered_on | view.powered_off)
    failed[list(view.transition_ends)] = False
    for kind in set(platform.type_of_node[failed].tolist()):
        slowest = max(slowest, platform.node_types[kind].transitions.switch_on_s)
    return slowest


@schedulers.register("easy")
def easy(
    order: AnyJobOrder = first,
    nodes: AnyNodeOrder = platform_order,
    depth: Depth | Literal["all"] = 1,
    backfill: BackfillOrder = None,
    reservation: Reservation = "counted",
    memory: Memory = False,
    aging: Aging = math.inf,
    commit: Commits = False,
    extra: TakesExtra = True,
    room: Room = 0.0,
    room_for: RoomFor = HOUR_S,
    trials: MostTrials = 0,
    trial_for: TrialFor = TRIAL_S,
) -> Backfilling:
    """EASY: order=saf sorts the queue, backfill=saf what is backfilled; depth=0,1,…,all; commit=yes; room=0.03; trials=1."""
    if depth == "all" and aging < math.inf:
        raise SpecError(
            "scheduler 'easy', option aging", "no ageing with depth=all, where everybody is promised a start", aging
        )
    if depth == "all" and (commit or not extra or room or trials):
        raise SpecError(
            "scheduler 'easy', options commit, extra, room and trials",
            "a depth of 1, of whose one promise they speak",
            depth,
        )
    if depth == "all":
        return ConservativeBackfilling(order, nodes, reservation, memory)
    return EasyBackfilling(
        *(order, nodes, depth, backfill, reservation, memory, aging, commit, extra, room, room_for, trials, trial_for)
    )


@schedulers.register("saf-easy")
def saf_easy(
    nodes: AnyNodeOrder = platform_order,
    reservation: Reservation = "counted",
    memory: Memory = False,
    aging: Aging = math.inf,
) -> EasyBackfilling:
    """EASY whose queue keeps its order, but backfills the smallest area first (Casagrande et al. 2022)."""
    return EasyBackfilling(nodes=nodes, backfill="saf", reservation=reservation, memory=memory, aging=aging)
