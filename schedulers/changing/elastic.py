"""Elastic jobs, first come, first served: they shrink for the first that waits and grow when none does, or share equally."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Annotated

from typing_extensions import Doc

from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.machine.running import Running
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Resize, Start
from cluster_sim.run.view import View
from schedulers.policy.policy import Scheduler, blocks, schedulers, start_on

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


class Elastic(Scheduler):
    """Base of schedulers that resize running jobs. Derive from it and write ``schedule``.

    Malleable jobs are resized whose cores can be changed now; evolving ones decide themselves, and are granted what they
    ask for if all of it is free. Where jobs may use certain nodes only, or power is capped, no job grows.
    """

    chooses_cores = True
    keeps_back = Reason(ReasonKind.OTHERS_SHRINK)

    def begin(self, view: View) -> None:
        """Begin a run in which no job is about to give up cores."""
        self._giving: dict[int, tuple[Running, int]] = {}  # of jobs that give up cores at the end of a part

    def _resizable(self, view: View) -> list[Running]:
        """Return the running jobs whose cores the scheduler can change now, in order of allocation."""
        running = (one for one in view.running if one.job.malleable and not one.job.evolving)
        return [one for one in running if view.planning.progress(one).can_resize]

    def _start(self, view: View, job: Job, most: int) -> Start | None:
        """Start a job on as many cores as it can have now, up to ``most``; None if it does not fit."""
        for cores in range(min(view.free_total, most), job.min_cores - 1, -1):
            placement = view.place(job.on_cores(cores))
            if placement is not None:
                return start_on(job, placement)
        return None

    def _shrink(self, view: View, running: Running, cores: int, because: str) -> Resize:
        """Let a running job keep that many cores."""
        self._giving[running.job.index] = running, running.placement.cores - cores
        return Resize(running.job, view.planning.shrunk(running, cores), because)

    def _coming(self, view: View) -> int:
        """Return the cores that jobs are to give up at the end of the part that runs."""
        running = view.running_by_index
        self._giving = {i: (one, n) for i, (one, n) in self._giving.items() if running.get(i) is one}
        return sum(cores for _, cores in self._giving.values())

    def _grow(self, view: View, running: Running, cores: int) -> Iterator[Resize]:
        """Give a running job that many cores, or as many more than now as are free."""
        if view.machine.restricts or view.machine.power_budget.is_set:
            return
        placement = view.planning.grown(
            running, min(cores, running.placement.cores + int(view.free_cores[view.machine.is_on].sum()))
        )
        if placement is not None and placement.cores > running.placement.cores:
            yield Resize(running.job, placement)

    def _grant(self, view: View) -> Iterator[Resize]:
        """Give evolving jobs at the end of a part what they ask for, if all of it is free on nodes that are on.

        The law of ``schedulers.changing.malleable`` too, which finds the cores its own way, around those that are promised.
        """
        for running in tuple(view.planning.at_boundary):
            more = view.planning.progress(running).wanted_cores - running.placement.cores
            if 0 < more <= view.free_cores[view.machine.is_on].sum():
                yield from self._grow(view, running, running.placement.cores + more)


def _usual_most(job: Job) -> int:
    """Return the most cores on which a job starts. One that evolves asks itself for more than it requested."""
    return job.requested_cores if job.evolving else job.max_cores


@schedulers.register("shrink-expand")
class ShrinkExpand(Elastic):
    """Jobs start on all they can have, shrink just enough for the first that waits, and grow when no job waits.

    First come, first served; a job starts on as many cores as are free, up to its ``max_cores``. If the first that waits
    does not fit, running malleable jobs give up their last nodes, in order of allocation, each down to its ``min_cores``;
    none of them where that is not enough. Evolving jobs get more if all they ask for is free. ``shrink=no`` and
    ``grow=no`` leave running jobs as they are.
    """

    @checked
    def __init__(
        self,
        shrink: Annotated[bool, Doc("running jobs give up cores for the first that waits")] = True,
        grow: Annotated[bool, Doc("running jobs get cores that nobody waits for")] = True,
    ):
        self._shrinks, self._grows = shrink, grow

    def schedule(self, view: View) -> Iterator[Decision]:
        """Start jobs, making room for the first that waits; grant requests; hand out what is left."""
        while view.pending_count:
            job = view.pending[0]
            start = self._start(view, job, _usual_most(job))
            if start is None and self._shrinks:
                need = job.min_cores - view.free_total - self._coming(view)
                shares = []
                for running in self._resizable(view):
                    share = min(need, running.placement.cores - running.job.min_cores)
                    if share > 0:
                        shares.append((running, running.placement.cores - share))
                        need -= share
                if need <= 0:
                    for running, cores in shares:
                        yield self._shrink(view, running, cores, f"gives cores up for job {job.job_id}")
                start = self._start(view, job, _usual_most(job))
            if start is None:
                yield blocks(view, job, Reason(ReasonKind.ANY_NODE), cores=job.min_cores)
                break
            yield start
        yield from self._grant(view)
        if self._grows and not view.pending_count:
            for running in self._resizable(view):
                if view.free_total:
                    yield from self._grow(view, running, running.job.max_cores)


@schedulers.register("equipartition")
class Equipartition(Elastic):
    """Running malleable jobs have equal shares of the cores, within their bounds (McCann, Vaswani and Zahorjan 1993).

    First come, first served: a job is let in if all that run can be brought down to their ``min_cores`` for it. Rigid jobs
    have what they request; what is left is shared equally by the malleable ones, anew whenever a job comes or ends.
    """

    def schedule(self, view: View) -> Iterator[Decision]:
        """Let jobs in, bring those above their share down, start the new ones, bring the others up."""
        elastic = self._resizable(view)
        total = view.free_total + self._coming(view) + sum(one.placement.cores for one in elastic)
        need = sum(one.job.min_cores for one in elastic)
        admitted = []
        for job in view.pending:
            if need + job.min_cores > total:
                break
            need += job.min_cores
            admitted.append(job)
        bounds = [(one.job.min_cores, one.job.max_cores) for one in elastic]
        bounds += [(job.min_cores, _usual_most(job)) for job in admitted]
        shares = equal_shares(bounds, total)
        for running, share in zip(elastic, shares, strict=False):
            if share < running.placement.cores:
                yield self._shrink(view, running, share, "its share of the cores is smaller now")
        for job, share in zip(admitted, shares[len(elastic) :], strict=True):
            start = self._start(view, job, share)
            if start is None:
                break
            yield start
        if view.pending_count:
            head = view.pending[0]
            yield blocks(view, head, self.keeps_back, cores=head.min_cores)
        yield from self._grant(view)
        if view.pending_count and len(admitted) > 0 and view.is_pending(admitted[-1]):
            return  # what is free is for the jobs that are let in
        for running, share in zip(elastic, shares, strict=False):
            if share > running.placement.cores and view.free_total:
                yield from self._grow(view, running, share)


def equal_shares(bounds: Sequence[tuple[int, int]], total: int) -> list[int]:
    """Return equal shares of ``total`` cores, each within its bounds (least, most); a remainder goes to the first."""
    shares = [least for least, _ in bounds]
    left = total - sum(shares)
    open_ones = [(share, place) for place, share in enumerate(shares) if share < bounds[place][1]]
    heapify(open_ones)
    while left > 0 and open_ones:
        share, place = heappop(open_ones)
        shares[place] += 1
        left -= 1
        if share + 1 < bounds[place][1]:
            heappush(open_ones, (share + 1, place))
    return shares
