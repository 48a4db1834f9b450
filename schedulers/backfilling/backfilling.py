"""Backfilling: jobs behind the head of the queue start early where they do not delay those that were promised a start."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Decision, Hold, Reserve, Start
from cluster_sim.run.view import View
from schedulers.backfilling.job_queue import JobQueue
from schedulers.backfilling.node_choice import NodeChoice
from schedulers.backfilling.plans import Plan, Promise
from schedulers.backfilling.profile_plan import ProfilePlan
from schedulers.backfilling.promise_losses import CAPPED, GOES_FIRST, Losses
from schedulers.backfilling.releases import Releases
from schedulers.policy.policy import Scheduler
from schedulers.queue.orders import (
    Aging,
    AnyJobOrder,
    AnyNodeOrder,
    Memory,
    first,
    job_orders,
    node_orders,
    order_in,
    platform_order,
)

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

DELAYS = "would delay a job that was promised a start"
"""Reason for which a job waits though enough cores are free; ``behind`` is the promised job."""
NO_EARLIER = "would begin no earlier on them than on those that it was promised"
"""Reason where no other job was promised a start: its nodes would have to boot first, for example."""


Reservation = Annotated[Literal["counted", "pinned"], Doc("a promise is of so many cores, or of certain ones")]


class Backfilling(Scheduler):
    """Base of EASY and conservative backfilling: the queue, the running jobs by expected end, and starting a job.

    ``jobs`` and ``nodes`` are orders, by name or as functions, see :mod:`schedulers.queue.orders`. ``reservation`` says
    what a promise is of: ``counted``, so many cores (the textbook's, Mu'alem and Feitelson 2001), or ``pinned``,
    certain cores of certain nodes (as Batsim's). With ``memory``, nodes must have room for the jobs' memory.
    Conservative backfilling, and EASY with a depth of 2 or more, pin their promises in any case where nodes have
    several cores, or jobs ask for nodes, tags or memory.

    A job is expected to end at its start plus its requested time; one that outlives that is put off step by step, see
    :class:`~schedulers.backfilling.releases.Releases`. All that happens in an instant is one pass.
    """

    def __init__(
        self,
        jobs: AnyJobOrder = first,
        nodes: AnyNodeOrder = platform_order,
        reservation: Reservation = "counted",
        memory: Memory = False,
        aging: Aging = math.inf,
    ):
        self._job_order = job_orders.make(jobs) if isinstance(jobs, str) else jobs
        self._aging = aging
        self._node_order = node_orders.make(nodes) if isinstance(nodes, str) else nodes
        self._pinned = reservation == "pinned"
        self.memory = memory

    def begin(self, view: View) -> None:
        """Start with an empty queue and an empty machine."""
        self._queue = JobQueue(order_in(view, self._job_order, self._aging))
        self._releases = Releases()
        for running in view.running:
            self._releases.add(running)
        self._where = NodeChoice(view, self._node_order, self.memory)
        self._counted = view.counts_only and not self._pinned and not view.counts_memory
        self._losses = Losses()
        self._told: dict[int, tuple[Job, float]] = {}  # the jobs that the log says are promised a start, and when
        self._capped: set[int] = set()  # those of them that a power cap alone has kept from starting

    def _reasons(
        self,
        view: View,
        plan: Plan,
        job: Job,
        promise: Promise | None,
        boot_s: float | None = None,
        others_first: bool = False,
    ) -> Iterator[Decision]:
        """Tell the decision log why a job is held, and what it is promised, or that it has no promise any more.

        Its nodes may boot for ``boot_s``, by default as long as the promise says. With ``others_first`` jobs go before
        it in the queue, and may have what it was promised.
        """
        missing = view.shortage(job, self.memory)
        yield Hold(job, missing, blocks=view.is_capped(job)) if missing else self._delays(plan, job)
        if view.is_capped(job):
            self._losses.note(CAPPED)
            self._capped.add(job.index)
        if promise is not None:
            time = promise.ready if boot_s is None else promise.time + boot_s
            _, last = self._told.get(job.index, (job, math.inf))
            self._told[job.index] = job, time
            why_later = self._why(job, others_first) if time > latest(last) else ""
            yield Reserve(job, time, promise.placement, why_later)
        elif job.index in self._told:
            yield self._taken_back(job, others_first)

    @staticmethod
    def _delays(plan: Plan, job: Job) -> Hold:
        """Tell the decision log that a job which would fit waits for the sake of a promise."""
        other = plan.delayed_by(job)
        return Hold(job, NO_EARLIER) if other is None else Hold(job, DELAYS, other)

    def _taken_back(self, job: Job, others_first: bool) -> Reserve:
        """Tell the log that a job has no promise any more."""
        _, last = self._told.pop(job.index)
        return Reserve(job, math.inf, None, self._why(job, others_first) if last < math.inf else "")

    def _why(self, job: Job, others_first: bool) -> str:
        known = str(self._losses) or (CAPPED if job.index in self._capped else "")
        return known or (GOES_FIRST if others_first else "")

    def _kept_its_promise(self, view: View, start: Start, others_first: bool = False) -> Iterator[Decision]:
        """Log the start of a job to which a start was promised; if it is late, the log says so first."""
        _, last = self._told.pop(start.job.index, (None, math.inf))
        time = view.now + view.boot_time(start.placement)
        if time > latest(last):
            yield Reserve(start.job, time, start.placement, self._why(start.job, others_first))

    def _because(self, job: Job, why: str = "") -> str:
        """Return for the decision log why a job starts now, with what the order says of its place."""
        return "; ".join(filter(None, (why, self._queue.tell(job))))

    def _profile(self, view: View) -> ProfilePlan:
        """Return a plan for many promises. While nodes would have to boot, promises are of certain nodes."""
        return ProfilePlan(self._where, self._releases, self._counted and view.boot_delays is None)

    def _started(self, view: View, place: int, job: Job) -> Running:
        """Note that the job at this place of the queue has been started."""
        self._queue.leave(place)
        running = view.running_by_index[job.index]
        self._releases.add(running)
        return running
