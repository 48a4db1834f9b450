"""Malleable jobs: running ones give up cores for those that wait, and get what is left over."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import Gt, Le, Unit
from typing_extensions import Doc

from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, Resize, Start, WakeAt
from cluster_sim.run.view import View
from schedulers.changing.malleable_rules import (
    Agreement,
    Average,
    CommonPool,
    CoreBounds,
    Least,
    ResizableJob,
    Sizes,
    Steal,
    Usual,
)
from schedulers.policy.policy import Scheduler, blocks, schedulers, start_on

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

Size = Literal["min", "pref", "average", "fixed"]
PROMISES: dict[str, type[Agreement]] = {"agreement": Agreement, "steal": Steal, "common-pool": CommonPool}


@schedulers.register("malleable")
class Malleable(Scheduler):
    """First come, first served; running jobs shrink for those that wait, and grow: malleable:size=pref,promise=agreement.

    The strategies of Posner, Hupfeld and Finnerty (PECS 2023). A job that waits is promised the cores that running jobs
    give up for it; those that are free and not promised are handed out. ``size`` says how large jobs are at their start,
    who gives up and who gets: ``min``, ``pref`` (their requests) or ``average``, see :mod:`schedulers.changing.malleable_rules`;
    with ``fixed`` all have what they requested. ``promise`` says who may use promised cores: ``agreement``, ``steal`` or
    ``common-pool``. With ``overtake`` jobs behind one that does not fit may start (first fit).

    ``slips`` reproduces three slips of the published program: it starts one job in a pass, or, with ``overtake``, passes
    over the job behind each that it starts; and *average* counts with the wrong sign. ``period`` (s) is that of its
    ticks, at which it decides where a change of cores is followed by no pass, as in the quirk ``pass-after-each-event``.

    Evolving jobs have what they requested until they ask for other cores, and are granted more if all of it is free and
    not promised. Where jobs may use certain nodes only, running jobs keep their cores; for one that is to run on a single
    node of several cores, none gives any up.
    """

    chooses_cores = True
    keeps_back = Reason(ReasonKind.OTHERS_SHRINK)
    at_boundaries = True

    @checked
    def __init__(
        self,
        size: Annotated[Size, Doc("cores of jobs at their start, and who gives up and gets")] = "pref",
        promise: Annotated[
            Literal["agreement", "steal", "common-pool"], Doc("who may use promised cores")
        ] = "agreement",
        overtake: Annotated[bool, Doc("jobs behind one that does not fit may start")] = False,
        slips: Annotated[bool, Doc("reproduce three slips of the published program")] = False,
        period: Annotated[float, Gt(0), Le(math.inf), Unit("s"), Doc("time between two ticks")] = 60.0,
    ):
        kinds: dict[str, Sizes] = {"min": Least(), "pref": Usual(), "average": Average(slips)}
        self._sizes = kinds.get(size)
        self._promise = promise
        self._overtakes, self._slips, self._period = overtake, slips, period

    def begin(self, view: View) -> None:
        """Begin a run in which nothing is promised and nothing runs."""
        self._promises = PROMISES[self._promise]()
        self._bounds: dict[int, CoreBounds] = {}  # of running malleable jobs
        self._unsettled = True  # whether the last pass decided anything, or a job will change without one
        self._version: object = None  # of the machine, after the last pass
        self._tick = view.now
        self._ticks = "pass-after-each-event" in view.planning.quirks

    def schedule(self, view: View) -> Iterator[Decision]:
        """Hold a pass, unless nothing has happened since the last: it would decide nothing."""
        has_news = (
            bool(view.submitted or view.ended or view.planning.resumed) or view.machine.version is not self._version
        )
        if (
            self._unsettled
            or has_news
            or view.machine.power_budget.is_set
            or any(one.job.evolving and view.planning.progress(one).wanted_cores for one in view.planning.at_boundary)
        ):
            self._unsettled = False
            yield from self._pass(view)
            self._version = view.machine.version
        elif any(not view.planning.progress(running).can_resize for running in view.planning.at_boundary):
            self._unsettled = True  # its cores change now, and no pass follows
        if self._unsettled and self._ticks:
            tick = (view.now // self._period + 1.0) * self._period
            if tick > self._tick:
                self._tick = tick
                yield WakeAt(tick)

    def _pass(self, view: View) -> Iterator[Decision]:
        elastic = self._elastic(view)
        yield from self._keep_promises(view)
        waiting = [job for job in view.pending if job.index not in self._promises.needs]
        yield from self._start(view, waiting)
        yield from self._grant(view)
        if self._sizes is None or not elastic:
            return
        free = self._unpromised(view)
        for job in waiting:
            # A job that is to run on a single node of several cores cannot use any cores that come free.
            takes_any = view.machine.counts_only or (
                not job.is_shaped and job.min_cores > view.machine.widest_node(job)
            )
            if takes_any and view.is_pending(job) and not view.machine.asks_for_resources(job):
                given: list[int] = []
                for giver, count in self._sizes.room(_bounds(view, job), elastic):
                    given += self._shrink(giver, count)
                if given:
                    self._promises.promise(job, given)
        if free.any():
            nodes = np.repeat(np.arange(len(free)), np.where(view.machine.is_on, free, 0)).tolist()
            for taker, count in self._sizes.hand_out(elastic, len(nodes)):
                self._grow(taker, nodes[:count])
                del nodes[:count]
        for resizable in elastic:
            if resizable.is_changed:
                self._unsettled = True
                yield Resize(resizable.running.job, Placement.on(resizable.cores))

    def _elastic(self, view: View) -> list[ResizableJob]:
        """Return the running jobs whose cores can be changed in this pass, by index."""
        if self._sizes is None or view.machine.restricts or view.machine.power_budget.is_set:
            return []
        elastic, running = [], view.running_by_index
        known = self._bounds
        for index in sorted(running):
            one = running[index]
            bounds = known.get(index)
            if bounds is None:
                # Whether units are free beside the cores that it would get is not looked at here.
                can_change = _is_resizable(one.job) and not view.machine.asks_for_resources(one.job)
                bounds = known[index] = CoreBounds.of(one.job) if can_change else CoreBounds(0, 0, 0)
            if bounds.most and view.planning.progress(one).can_resize:
                elastic.append(ResizableJob(one, bounds, one.placement.cores))
            elif bounds.most and one in view.planning.at_boundary:
                self._unsettled = True  # its cores change after this pass
        return elastic

    # ------------------------------------------------------------------ jobs that wait

    def _keep_promises(self, view: View) -> Iterator[Decision]:
        """Start the jobs whose promised cores are there."""
        promises = self._promises
        if not promises.needs:
            return
        pending = view.pending
        for index in promises.needs.keys() - {job.index for job in pending}:
            promises.withdraw(index)
        for job, nodes in promises.ready(pending, view.machine.usable_cores.tolist()):
            placement = Placement.on(Counter(nodes))
            if view.planning.allows(job, placement):
                yield self._started(job, placement)
        if not view.running_count:  # of a machine on which nothing runs, nothing comes free
            for index in list(promises.needs):
                promises.withdraw(index)

    def _start(self, view: View, waiting: list[Job]) -> Iterator[Decision]:
        """Start jobs in order of submission on cores that are not promised."""
        free, place = int(self._unpromised(view).sum()), 0
        while place < len(waiting):
            job = waiting[place]
            if self._sizes is None:
                cores = _fixed_cores(view, job)
                cores = cores if cores <= free else 0
            else:
                cores = self._sizes.start(_bounds(view, job), free)
            placement = None
            if cores:
                within = self._unpromised(view) if self._promises.promised else None
                placement = view.place(job.on_cores(cores), within=within)
                few_switches = view.machine.leaf_limit(job, view.now) > 0
                while placement is None and few_switches and cores > job.min_cores:  # as many as these have free
                    cores -= 1
                    placement = view.place(job.on_cores(cores), within=within)
            place += 1
            if placement is not None:
                yield self._started(job, placement)
                free -= cores
                if self._slips and not self._overtakes:
                    return
                place += self._slips
                continue
            least = _fixed_cores(view, job) if self._sizes is None else job.min_cores
            if not self._overtakes:
                yield blocks(view, job, self.keeps_back, cores=least)
                return
            if view.explains:
                yield Hold(job, view.shortage(job.on_cores(least)) or self.keeps_back)

    def _started(self, job: Job, placement: Placement) -> Start:
        self._unsettled = True
        return start_on(job, placement)

    def _unpromised(self, view: View) -> npt.NDArray[np.int64]:
        """Free cores of each node that nobody is promised."""
        free = view.machine.usable_cores.astype(np.int64)
        for node, cores in self._promises.cores().items():
            free[node] = max(free[node] - cores, 0)
        return free

    # ------------------------------------------------------------------ jobs that run

    def _grant(self, view: View) -> Iterator[Resize]:
        """Give evolving jobs at the end of a part what they ask for, if all of it is free and not promised.

        The law of ``schedulers.changing.elastic`` too. There the cores are on the job's own nodes first; here they are the
        lowest, as for all to whom this scheduler hands cores out.
        """
        if view.machine.restricts or view.machine.power_budget.is_set:
            return
        for running in tuple(view.planning.at_boundary):
            more = view.planning.progress(running).wanted_cores - running.placement.cores
            if more > 0 and not view.machine.asks_for_resources(running.job):
                free = np.where(view.machine.is_on, self._unpromised(view), 0)
                nodes = np.repeat(np.arange(len(free)), free).tolist()[:more]
                if len(nodes) == more:
                    self._unsettled = True
                    yield Resize(running.job, Placement.on(Counter(running.placement.cores_by_node()) + Counter(nodes)))

    # The study of the published figures counts these decisions: it overrides both methods.

    def _shrink(self, job: ResizableJob, count: int) -> list[int]:
        """Take cores from a running job; return the node of each."""
        return job.give(count)

    def _grow(self, job: ResizableJob, nodes: list[int]) -> None:
        """Give a running job a core on each of these nodes."""
        job.take(nodes)


def _fixed_cores(view: View, job: Job) -> int:
    """Return what a job requests, but no more than the machine has if it can run on so few."""
    return max(job.min_cores, min(job.requested_cores, view.platform.core_count))


def _is_resizable(job: Job) -> bool:
    """Return whether the scheduler says on how many cores the job runs; one that evolves says it itself."""
    return job.malleable and not job.evolving


def _bounds(view: View, job: Job) -> CoreBounds:
    """Return on how many cores a job can start: only one number if it cannot be resized."""
    return CoreBounds.of(job) if _is_resizable(job) else CoreBounds(*(_fixed_cores(view, job),) * 3)
