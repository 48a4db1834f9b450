"""Preemptive priority scheduling: an urgent job that finds no room takes the cores of less urgent ones that run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np
from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.errors import ModelWarning, SpecError, few, warn_user
from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.machine.running import Running
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, Preempt, Resume, Start
from cluster_sim.run.view import View
from cluster_sim.workload.fields import whole_number
from schedulers.backfilling.timeline import indispensable
from schedulers.policy.policy import Scheduler, blocks, schedulers
from schedulers.queue.orders import AnyNodeOrder, node_orders, platform_order

if TYPE_CHECKING:
    from simpy import Event

    from cluster_sim.run.jobs.live_jobs import Suspended
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.workload.jobs import Job

TAKEN = "a more urgent job needs its cores"
MOST_NAMED = 8
"""Most queues of the workload that a warning names."""
LEAVING = Reason(ReasonKind.OTHERS_LEAVE)
RESUMES_FIRST = Reason(ReasonKind.RESUMES_FIRST)


Mode = Literal["requeue", "suspend", "cancel"]
MODES = get_args(Mode)
"""Ways to lose cores to a more urgent job; ``timeout`` is for jobs that have outlived their limit."""


@schedulers.register("preemptive")
class Preemptive(Scheduler):
    """Urgent jobs take the cores of running ones: mode=requeue, suspend or cancel, grace=S, queues=3/1 (most urgent first).

    Jobs that wait, suspended ones too, go in order of urgency, then of submission, and nobody passes the first of them
    that does not fit. That one takes cores from running jobs that are strictly less urgent: of the least urgent first, of
    these from the one that started last, then the one submitted last; from no more than needed, and from none where all
    would not be enough, or where only a power cap keeps it from starting. Urgent is a high ``priority``, or, with
    ``queues``, the queue of a job: their numbers, most urgent first; other queues come last.

    A suspended job goes on on the cores that it had. With ``grace`` jobs leave so many seconds later, if they have not
    ended by then; who waits for them takes cores of others only if theirs are not enough.

    To write a scheduler that preempts in another order, derive from this class and write :meth:`urgency`, and
    :meth:`turn` for those that are equally urgent.
    """

    @checked
    def __init__(
        self,
        mode: Annotated[Mode, Doc("what becomes of a job that loses its cores")] = "requeue",
        grace: Annotated[float, Ge(0), Unit("s"), Doc("time that it has to end")] = 0.0,
        queues: Annotated[str, Doc("numbers of queues, most urgent first, such as 3/1; else priorities count")] = "",
        nodes: AnyNodeOrder = platform_order,
    ):
        numbers = [whole_number(text) for text in queues.split("/")] if queues else []
        if None in numbers or len(set(numbers)) < len(numbers):
            where = "scheduler 'preemptive', option queues"
            raise SpecError(where, "numbers of queues, each once, such as 3/1/2, most urgent first", queues)
        self._not_begun: Simulation | None = None  # a run that has not had its first pass
        self._mode = mode
        self._grace_s = grace
        self._rank = {number: len(numbers) - place for place, number in enumerate(numbers)}
        self._node_order = node_orders.make(nodes) if isinstance(nodes, str) else nodes

    def begin(self, view: View) -> None:
        """Start with an empty queue."""
        self._queue: list[tuple[float, float, int, Job]] = []
        self._suspended: dict[int, Suspended] = {}  # those that have joined the queue
        self._leaving: dict[int, float] = {}  # jobs in their grace: since when they have their cores

    def attend(self, simulation: Any) -> Generator[Event, Any, None]:
        self._not_begun = simulation
        return super().attend(simulation)

    def urgency(self, job: Job) -> float:
        """Return how urgent a job is, when it begins to wait, or now if it runs; more goes first."""
        return self._rank.get(job.queue, 0) if self._rank else job.priority

    def turn(self, job: Job) -> float:
        """Return the key by which equally urgent jobs go, the least first, when they begin to wait: the earliest submission."""
        return job.submit_time

    def schedule(self, view: View) -> Iterator[Decision]:
        """Hold a pass: start the first of the waiting jobs as long as it fits or can make room for itself."""
        if self._not_begun is not None:
            self._warn_of_empty_queues(self._not_begun)
            self._not_begun = None
        running = view.running_by_index
        self._leaving = {
            index: since
            for index, since in self._leaving.items()
            if index in running and running[index].allocation_time == since
        }
        seen = 0
        while True:
            for newcomer in view.submitted[seen:]:
                self._wait(newcomer)
            if view.planning.suspended_by_index or self._suspended:
                for index, suspended in view.planning.suspended_by_index.items():
                    if self._suspended.get(index) is not suspended:
                        self._wait(suspended.job)
                self._suspended = dict(view.planning.suspended_by_index)
            seen = len(view.submitted)
            job = self._first(view)
            if job is None:
                return
            placement = self._placement(view, job)
            if placement is None:
                taken = self._to_be_taken(view, job)
                for other in taken:
                    yield Preempt(other.job, self._mode, self._grace_s, TAKEN, behind=job)
                    self._leaving[other.job.index] = other.allocation_time
                if taken and self._grace_s == 0.0:
                    self._leaving.clear()
                    placement = self._placement(view, job)
            if placement is None:
                yield from self._reasons(view, job)
                return
            heappop(self._queue)
            yield Resume(job, placement) if job.index in view.planning.suspended_by_index else Start(job, placement)

    def _warn_of_empty_queues(self, simulation: Simulation) -> None:
        """Warn (ModelWarning) of ``queues`` that no job is in, unless other jobs may come while the run is held open."""
        there = np.unique(simulation.jobs.columns["queue"]).tolist()
        absent = [str(queue) for queue in self._rank if queue not in there]
        if absent and there and not simulation.closing.is_held_open:
            named = [queue for queue in there if queue >= 0]
            those = f"the queues of the jobs are {few(named, MOST_NAMED)}" if named else "the jobs name no queue"
            text = f"no job is in queue {', '.join(absent)}; {those}"
            warn_user(ModelWarning(f"scheduler 'preemptive', option queues: {text}"))

    # ------------------------------------------------------------------ who waits

    def _wait(self, job: Job) -> None:
        heappush(self._queue, (-self.urgency(job), self.turn(job), job.index, job))

    def _first(self, view: View) -> Job | None:
        """Return the job that goes before all others; None if nobody waits."""
        while self._queue:
            job = self._queue[0][-1]
            if view.is_pending(job) or job.index in view.planning.suspended_by_index:
                return job
            heappop(self._queue)
        return None

    # ------------------------------------------------------------------ where they go

    def _placement(self, view: View, job: Job) -> Placement | None:
        """Place a job on cores that are free now: any, or, if it is suspended, its own."""
        suspended = view.planning.suspended_by_index.get(job.index)
        if suspended is not None:
            return suspended.placement if view.planning.fits(job, suspended.placement) else None
        if job.requested_cores > view.free_total:
            return None
        return view.place(job, self._node_order(view, job))

    def _to_be_taken(self, view: View, job: Job) -> list[Running]:
        """Return the running jobs that have to leave for this one, beside those that are leaving; none if too few."""
        urgency, leaving = self.urgency(job), self._leaving
        lower = [one for one in view.running if one.job.index not in leaving and self.urgency(one.job) < urgency]
        if not lower:
            return []
        outlook = self._outlook(view)
        if outlook.free_total + sum(map(outlook.held_by, lower)) < job.requested_cores:
            return []
        fits = self._fitting(view, job)
        if fits(outlook):
            return []
        lower.sort(key=lambda one: (self.urgency(one.job), -one.start_time, -one.job.index))
        taken: list[Running] = []
        for one in lower:
            outlook.release(one)
            taken.append(one)
            if fits(outlook):
                return indispensable(taken, lambda others: fits(self._outlook(view, others)))
        return []

    def _outlook(self, view: View, taken: Iterable[Running] = ()) -> Free:
        """Return what is free when these jobs and those that are leaving have left."""
        return view.planning.outlook(without=[*map(view.running_by_index.__getitem__, self._leaving), *taken])

    def _fitting(self, view: View, job: Job) -> Callable[[Free], bool]:
        """Return a test of whether a job fits on what an outlook has free."""
        suspended = view.planning.suspended_by_index.get(job.index)
        if suspended is not None:
            own = suspended.placement
            return lambda outlook: outlook.fits(job, own, view.now)
        return lambda outlook: (
            job.requested_cores <= outlook.free_total and outlook.place(job, time=view.now) is not None
        )

    # ------------------------------------------------------------------ why they wait

    def _reasons(self, view: View, job: Job) -> Iterator[Hold]:
        """Tell why the first job waits, and with it all that are behind it."""
        if job.index in view.planning.suspended_by_index:
            waiting = [entry for entry in self._queue if view.is_pending(entry[-1])]
            if waiting:
                yield Hold(min(waiting)[-1], RESUMES_FIRST, behind=job, blocks=True)
        elif view.explains and self._leaving and self._fitting(view, job)(self._outlook(view)):
            yield Hold(job, LEAVING, blocks=True)
        else:
            yield blocks(view, job)
