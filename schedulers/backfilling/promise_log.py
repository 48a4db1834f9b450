"""What a backfilling scheduler tells the decision log: who waits why, what was promised to whom, and why later than before."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cluster_sim.engine import latest
from cluster_sim.machine.reason import FITS, Loss, Reason, ReasonKind
from cluster_sim.run.decisions import Decision, Hold, Reserve, Start
from cluster_sim.run.view import View
from schedulers.backfilling.job_queue import JobQueue
from schedulers.backfilling.plans import Plan, Promise
from schedulers.backfilling.profile_plan import ProfilePlan
from schedulers.backfilling.promise_losses import Losses
from schedulers.backfilling.timeline import Timeline

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


NOT_MOVED = Reason(ReasonKind.NOT_MOVED)
"""Reason for which a job waits for its promise though nothing is in its way: the job that was moved after its turn."""


class PromiseLog:
    """Follows the promises of a run whose decisions are logged. Without a log it tells only of :meth:`first_held`."""

    def __init__(self, view: View, memory: bool):
        self._view = view
        self._memory = memory
        self.losses = Losses()
        self._promised: dict[
            int, tuple[Job, float]
        ] = {}  # jobs with a promise, by index, and when they are to start, s
        self._told: tuple[Job | None, float] = None, math.inf
        self._not_renewed: dict[int, Job] = {}  # those whose promise has not been made anew in this pass
        self._capped: set[int] = set()  # those of them that a power cap alone has kept from starting
        self._blocking: set[int] = set()  # jobs that none might overtake, by index, in a run without a log
        #: Whether jobs go first, in this pass, that may have what those behind them in the queue were promised.
        self.others_first = False

    def follow(self, timeline: Timeline) -> None:
        """Note what the machine has lost since the last pass, before ``timeline`` follows it."""
        self.losses.follow(self._view, timeline.outlived())

    def begin_renewal(self) -> None:
        """Begin a pass in which all promises are made anew."""
        self._not_renewed = {index: job for index, (job, _) in self._promised.items()}
        self.others_first = False

    def end_renewal(self) -> Iterator[Decision]:
        """Tell which jobs that still wait have no promise any more."""
        for index, job in self._not_renewed.items():
            if self._view.is_pending(job):
                yield self._taken_back(job)
            else:
                self.forget(index)
        self.losses.forget()

    def forget(self, index: int) -> None:
        """Forget the promise of a job that no longer waits."""
        self._promised.pop(index, None)

    def held(self, plan: Plan, job: Job, promise: Promise | None, boot_s: float | None = None) -> Iterator[Decision]:
        """Tell why a job waits, and what it is promised, or that it has no promise any more.

        Its nodes may boot for ``boot_s``, by default as long as the promise says.
        """
        view = self._view
        self._not_renewed.pop(job.index, None)
        missing, is_capped = view.shortage(job, self._memory), view.planning.is_capped(job)
        yield Hold(job, missing, blocks=is_capped) if missing else plan.refusal(job)
        if is_capped:
            self.losses.note(Loss.CAPPED)
            self._capped.add(job.index)
        if promise is not None:
            time = promise.ready if boot_s is None else promise.time + boot_s
            _, last = self._promised.get(job.index, (job, math.inf))
            self._promised[job.index] = job, time
            yield Reserve(job, time, promise.placement, self._why_later(job) if time > latest(last) else FITS)
        elif job.index in self._promised:
            yield self._taken_back(job)

    def end_pass(self, plan: ProfilePlan, queue: JobQueue, is_capped: bool) -> Iterator[Decision]:
        """Tell which jobs would fit now, and wait for the sake of a promise, unless a power cap keeps all from starting.

        The next pass then makes all promises anew for the cap's sake, and not for what the machine has lost before.
        """
        self.losses.forget()
        if is_capped:
            self.losses.note(Loss.CAPPED)
            return
        view = self._view
        for _, job in queue.waiting() if (free := view.free_total) else ():
            if job.requested_cores <= free and view.is_pending(job) and not view.shortage(job, self._memory):
                yield Hold(job, NOT_MOVED) if plan.could_start(job) else plan.refusal(job)

    def first_held(self, plan: Plan, job: Job, promise: Promise | None, promises: int) -> Iterator[Decision]:
        """Tell of a job that jobs behind it may not delay; ``promises`` is how many may have one, 0 if that alone delays none.

        Without a log that is told only of a job that none may overtake, and where a promise changed.
        """
        if self._view.explains:
            yield from self.held(plan, job, promise, slowest_boot(self._view, job))
            self.others_first |= promise is not None
        elif self._view.planning.is_capped(job):
            self._blocking.add(job.index)
            yield Hold(job, FITS, blocks=True)  # who overtook it would take the watts that it waits for
        elif promises == 1:
            if promise is not None and (job, promise.time) != self._told:
                self._told = job, promise.time
                yield Reserve(job, self._ready(job, promise))
        else:
            if job.index in self._blocking:  # it no longer does
                self._blocking.clear()
                yield Hold(job, FITS)
            if promises and promise is not None:
                self._not_renewed.pop(job.index, None)
                told = job, self._ready(job, promise)
                if self._promised.get(job.index) != told:
                    self._promised[job.index] = told
                    yield Reserve(*told)

    def _ready(self, job: Job, promise: Promise) -> float:
        """Return when a promised job is to begin, s, if its nodes boot for as long as they may have to."""
        boots = self._view.machine.boot_delays is not None
        return promise.time + slowest_boot(self._view, job) if boots else promise.ready

    def started(self, start: Start) -> Iterator[Decision]:
        """Tell that a job which was promised a start now starts later than that, if it does."""
        job = start.job
        self._not_renewed.pop(job.index, None)
        _, last = self._promised.pop(job.index, (job, math.inf))
        time = self._view.now + self._view.planning.boot_time(start.placement)
        if time > latest(last):
            yield Reserve(job, time, start.placement, self._why_later(job))

    def _taken_back(self, job: Job) -> Reserve:
        _, last = self._promised.pop(job.index)
        return Reserve(job, math.inf, None, self._why_later(job, ReasonKind.TAKEN_BACK, last < math.inf))

    def _why_later(self, job: Job, kind: ReasonKind = ReasonKind.PUT_OFF, is_known: bool = True) -> Reason:
        losses = self.losses.known()
        if not losses and job.index in self._capped:
            losses = (Loss.CAPPED,)
        elif not losses and self.others_first:
            losses = (Loss.GOES_FIRST,)
        return Reason(kind, losses=losses if is_known else ())


def slowest_boot(view: View, job: Job) -> float:
    """Return the longest time that the nodes of a promised job may have to boot first, s.

    Which nodes these are is found anew in every pass, and jobs that start meanwhile take those that are on. Nodes that
    jobs of this pass have got will be on. A node that has failed may be OFF when it is repaired, and then has to boot.
    """
    platform, delays, eligible = view.platform, view.machine.boot_delays, view.machine.eligible(job)
    unused = view.free_cores == platform.node_cores
    if eligible is not None:
        unused &= eligible
    slowest = 0.0 if delays is None else float(delays[unused].max(initial=0.0))
    failed = unused & ~(view.machine.powered_on | view.machine.powered_off)
    failed[list(view.machine.transition_ends)] = False
    for kind in set(platform.type_of_node[failed].tolist()):
        slowest = max(slowest, platform.node_types[kind].transitions.switch_on_s)
    return slowest
