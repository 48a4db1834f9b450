"""Time sharing: those first in some order run, and the others are suspended until it is their turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from typing_extensions import Doc

from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import Placement
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Preempt, Resume, Start
from cluster_sim.run.view import View
from cluster_sim.workload.resource_request import gpu_count
from schedulers.backfilling.timeline import planned_time
from schedulers.policy.policy import Scheduler, schedulers
from schedulers.queue.orders import AnyNodeOrder, node_orders, platform_order

if TYPE_CHECKING:
    from cluster_sim.machine.running import Running
    from cluster_sim.workload.jobs import Job

TAKEN = "jobs that go before it have what it had"

Order = Literal["gpus", "cores", "time", "gpu-time", "core-time"]
ORDERS = get_args(Order)


class Service:
    """How long each job has run so far, s, by its index: it waits in between. A job that begins anew begins with 0 s."""

    def __init__(self) -> None:
        self._before: dict[int, float] = {}
        self._running: dict[int, Running] = {}

    def follow(self, view: View) -> None:
        """Note who runs now, and how long those ran that no longer do. To be called at the end of each pass, too."""
        running = view.running_by_index
        for index, known in list(self._running.items()):
            if running.get(index) is not known:
                del self._running[index]
                self._before[index] = self.before(index) + max(view.now - known.start_time, 0.0)
        for job in view.submitted:
            self._before.pop(job.index, None)
        for index, one in running.items():
            self._running.setdefault(index, one)

    def before(self, index: int) -> float:
        """Return how long a job ran before it got the cores that it has."""
        return self._before.get(index, 0.0)

    def time(self, index: int, now: float) -> float:
        """Return how long a job has run."""
        running = self._running.get(index)
        return self.before(index) + (max(now - running.start_time, 0.0) if running is not None else 0.0)


class TimeSharing(Scheduler):
    """Base of schedulers that let the first of all jobs run, and suspend the others. Derive from it and write :meth:`ranked`.

    In every pass all jobs, those that run, wait or are suspended, take what they ask for in their order; who does not fit
    is skipped. A job that runs and is left nothing is suspended. It goes on where it was, or elsewhere. A job that
    begins takes nothing from others as long as it fits beside them. As long as power is capped, nobody is suspended.
    """

    def __init__(self, nodes: AnyNodeOrder = platform_order):
        self._node_order = node_orders.make(nodes) if isinstance(nodes, str) else nodes

    def begin(self, view: View) -> None:
        """Begin a run in which no job has run."""
        self.service = Service()
        self._refused: tuple[float, set[int]] = 0.0, set()  # jobs that could not start in this instant after all

    def ranked(self, view: View) -> Iterable[Job]:
        """Return all jobs that run, wait or are suspended, in the order in which they take what they ask for."""
        raise NotImplementedError

    def schedule(self, view: View) -> Iterator[Decision]:
        """Hold a pass: suspend the jobs that are left nothing, and start those, or let them go on, that are not."""
        self.service.follow(view)
        yield from self._share(view, [*self.ranked(view)])
        self.service.follow(view)

    def job_of(self, view: View, index: int) -> Job | None:
        """Return the job with an index if it waits, runs or is suspended."""
        job = view.pending_by_index.get(index)
        if job is not None:
            return job
        held = view.running_by_index.get(index) or view.planning.suspended_by_index.get(index)
        return None if held is None else held.job

    def _share(self, view: View, jobs: list[Job]) -> Iterator[Decision]:
        if self._refused[0] != view.now:
            self._refused = view.now, set()
        refused = self._refused[1]
        begins, leaves = self._shared_out(view, [job for job in jobs if job.index not in refused])
        for job in leaves:
            yield Preempt(job, "suspend", because=TAKEN)
        for job, planned in begins:
            placement = planned if view.planning.fits(job, planned) else view.place(job, self._node_order(view, job))
            if placement is None:
                refused.add(job.index)
            elif job.index in view.planning.suspended_by_index:
                yield Resume(job, placement)
            else:
                yield Start(job, placement)

    def _shared_out(self, view: View, jobs: list[Job]) -> tuple[list[tuple[Job, Placement]], list[Job]]:
        """Return which jobs are to begin, or go on, and where, and which running ones are to leave."""
        running = view.running_by_index
        capped = view.machine.power_budget.is_set
        stays = {
            i for i, one in running.items() if capped or one.placement.offered(view.machine.withheld) != one.placement
        }
        may_leave = [one for index, one in running.items() if index not in stays]
        taken = view.planning.outlook(without=may_leave)
        beside = view.planning.outlook()  # those that run still have what they have
        begins: list[tuple[Job, Placement]] = []
        leaves: list[Job] = []
        for job in jobs:
            one = running.get(job.index)
            if one is None:
                asked, own = self._asked(view, job)
                if asked.requested_cores <= taken.free_total:
                    placement = self._place(view, asked, own, beside) or self._place(view, asked, own, taken)
                    if placement is not None:
                        begins.append((asked, placement))
                        taken.take(asked, placement)
                        beside.take(asked, placement)
            elif job.index not in stays:
                if taken.has_free(job, one.placement):
                    taken.take(job, one.placement)
                else:
                    leaves.append(job)
                    beside.release(one)
        return begins, leaves

    def _asked(self, view: View, job: Job) -> tuple[Job, Placement | None]:
        """Return a job as it asks for cores now, and the cores that it had, if it is suspended."""
        suspended = view.planning.suspended_by_index.get(job.index)
        if suspended is None:
            return job, None
        return job.on_cores(suspended.placement.cores), suspended.placement

    def _place(self, view: View, job: Job, own: Placement | None, free: Free) -> Placement | None:
        if own is not None and free.fits(job, own, view.now):
            return own
        return free.place(job, self._node_order(view, job), time=view.now)


@schedulers.register("preemptive-list")
class PreemptiveList(TimeSharing):
    """The first by order=gpus, cores, time, gpu-time or core-time run, those that do not fit are skipped, others suspended.

    First is who asks for the fewest GPUs or cores, has the least time left of the time that it requested, or the least of
    both multiplied (Gu et al. 2019: shortest remaining time, shortest remaining service). Ties stay as they were in the
    last pass; new jobs come last. A job without GPUs counts as one with one GPU.
    """

    @checked
    def __init__(
        self,
        order: Annotated[
            Order, Doc("what is least of the jobs that run: GPUs, cores, time left, time times either")
        ] = "time",
        nodes: AnyNodeOrder = platform_order,
    ):
        super().__init__(nodes)
        self._what = order

    def begin(self, view: View) -> None:
        super().begin(view)
        self._order: list[int] = []

    def ranked(self, view: View) -> Iterable[Job]:
        known = set(self._order)
        self._order += [job.index for job in view.submitted if job.index not in known]
        jobs = {index: job for index in self._order if (job := self.job_of(view, index)) is not None}
        self._order = sorted(jobs, key=lambda index: self._key(jobs[index], view.now))
        return [jobs[index] for index in self._order]

    def _key(self, job: Job, now: float) -> float:
        left = max(planned_time(job) - self.service.time(job.index, now), 0.0) if self._what.endswith("time") else 1.0
        return width(job, self._what) * left


def width(job: Job, what: str) -> int:
    """Return a job's GPUs, at least 1, where a text begins with ``gpu``, its cores where with ``core``, else 1."""
    if what.startswith("gpu"):
        return max(gpu_count(job), 1)
    return job.requested_cores if what.startswith("core") else 1
